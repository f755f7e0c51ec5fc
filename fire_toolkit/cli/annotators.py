"""Make annotators' accounts, retire somebody, and give tasks to others; `progress` lists everybody.

Who is who is written in .fire/private/annotators.csv, which only you can read; elsewhere only
pseudonyms appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from typing import Annotated

import pandas as pd

from fire_toolkit.campaign.records import BY_HAND, BY_SERVER, add_moves, write_retired
from fire_toolkit.campaign.rounds import moved_rounds
from fire_toolkit.campaign.views import free_tasks, seen_pairs
from fire_toolkit.cli.campaigns import (
    Begun,
    begun_campaign,
    begun_here,
    deliver_files,
    knows_server,
    private_folder,
    refuse_retired,
    used_connection,
)
from fire_toolkit.cli.common import draw_rows, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import named_files, say_next, setting_or_default, workspace_lock
from fire_toolkit.cli.pull import carrier_of, not_read_yet, pull_once
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.labelstudio.accounts import ACTIVE, OWNER, Accounts, Annotator, read_register


def add(
    names: Annotated[tuple[str, ...], Option(is_argument=True, metavar="[PSEUDONYM[=EMAIL]]...")] = (),
) -> None:
    """Make accounts and print how to log in; existing ones stay as they are.

    Without an EMAIL the account gets an address that no mail can reach, so that the server knows no
    names. Accounts made on the server get the next free pseudonym; without names all are printed, with their
    states.
    """
    folder, connection = private_folder(), used_connection()
    accounts = Accounts(connection, folder)
    if not names:
        _print(accounts.refresh(), ("pseudonym", "state"))
        return
    wanted = [(name, email) for name, _, email in (text.partition("=") for text in names)]
    _print(accounts.add(wanted), ("pseudonym", "email", "password"))
    say(f"people log in at {connection.page_url}/user/login/")
    say("send each person their e-mail and password safely; they stay in .fire/private/annotators.csv")
    say_next("push")


@workspace_lock()
def retire(names: Annotated[tuple[str, ...], Option(is_argument=True, metavar="PSEUDONYM...")]) -> None:
    """Stop asking annotators and deactivate their accounts; their answers are kept.

    The account is deactivated, not deleted, since deleting it in Label Studio removes the author from its
    answers. `annotators reassign` gives to others what they have not answered.
    """
    campaign = begun_here()
    accounts = read_register(private_folder())
    carriers = campaign.carriers if campaign else set()
    if accounts or BY_SERVER in carriers or (campaign is None and knows_server()):
        own = {row.pseudonym for row in accounts}
        with_accounts = [name for name in names if not campaign or name not in campaign.people - own]
        rows = Accounts(used_connection(), private_folder()).retire(with_accounts)
        _print(rows, ("pseudonym", "state"))
    else:
        _refuse_strangers(campaign or begun_campaign(), names)
    left: dict[str, int] = {}
    if campaign:
        gone = set(names) & campaign.people
        write_retired(campaign.root, gone)
        for carrier in sorted(carriers - {BY_HAND, BY_SERVER}):
            carrier_of(carrier, campaign.root).retire(gone)
        if carriers != {BY_HAND}:  # what was answered by now
            pull_once(campaign.root)
        left = free_tasks(campaign.store)
    if campaign and (n_left := sum(left.get(name, 0) for name in names)):
        say(f"{n_of(n_left, 'task')} of {', '.join(names)} without an answer; what still comes back counts")
        giving = " ".join(name for name in names if left.get(name))
        others, first = ",".join(sorted(there.askable)) if (there := begun_here()) else "", ""
        if not others:  # somebody new, who needs an account on a server
            taken = {name.upper() for name in (*campaign.people, *(row.pseudonym for row in accounts))}
            others = next(name for name in map("A{:02d}".format, count(1)) if name not in taken)
            first = f"annotators add {others} && fire-toolkit " if BY_SERVER in carriers else ""
        say_next(f"{first}annotators reassign {giving} --to {others}")
    else:
        say_following("pull")


@workspace_lock()
def reassign(
    names: Annotated[tuple[str, ...], Option(is_argument=True, metavar="[PSEUDONYM]...")] = (),
    *,
    to: Annotated[str, Option(metavar="NAME,NAME")],
    dry_run: bool = False,
) -> None:
    """Give what annotators have not answered to others, who may be new to a running round.

    With names, all that these have left is given away; without, everybody gives as much as leaves all with
    equally many. Nobody gets a pair twice. Who is new to a round also gets its training and controls. On a
    server answers are pulled first, and `push` then carries the move out; by hand the tasks are in further
    files.

    Args:
        to: Who gets the tasks.
        dry_run: Show what would move, and write nothing.
    """
    campaign = begun_campaign()
    wanted = [name for name in to.split(",") if name]
    if campaign.carriers != {BY_HAND}:  # a server or a plug-in carries some
        if (failed := pull_once(campaign.root)[1]) is not None:
            raise failed
        campaign = begun_campaign()
    _refuse_strangers(campaign, names)
    if not wanted or len(set(wanted)) < len(wanted):
        raise UsageError("--to: expected names, each once, as in --to A02,A03")
    if both := sorted({*names} & {*wanted}):
        raise UsageError(f"{both[0]} cannot both give tasks away and get them")
    refuse_retired(wanted)
    if BY_HAND in campaign.carriers:
        refuse_file_names(wanted, campaign.people)
        if unread := not_read_yet(campaign.root, named_files("import", "exports")):
            raise UsageError(f"{unread[0]}: not read yet; `fire-toolkit import`, and what is answered stays")
    register = {row.pseudonym for row in read_register(private_folder()) if row.state in (ACTIVE, OWNER)}
    if BY_SERVER in campaign.carriers and (others := [name for name in wanted if name not in register]):
        raise UsageError(f"{others[0]} has no active account; fire-toolkit annotators add {others[0]}")
    seed, gone = int(setting_or_default(None, "tasks", "seed")), campaign.retired
    seen = pd.concat([seen_pairs(campaign.store), Given().judged_twins])
    moved = moved_rounds(campaign.rounds, campaign.store, names, wanted, retired=gone, seen=seen, seed=seed)
    free = free_tasks(campaign.store)
    n_free = sum(free.get(name, 0) for name in names)
    hands = (moves[["annotator_id", "to_annotator_id"]].itertuples(index=False) for _, moves in moved)
    got = [name for own, name in chain(*hands) if own and name]
    words = f"{n_of(len(got), 'task')} moved: {', '.join(f'{name} {got.count(name):,}' for name in wanted)}"
    if names and (n_left := n_free - len(got)):
        words += f"; {n_left:,} stay where they are, as {', '.join(wanted)} saw these pairs"
    if dry_run:
        say(f"{words}\nnothing was written")
        return
    add_moves(campaign.root, moved)
    say(words)
    deliver_files()
    say_following()


def _refuse_strangers(campaign: Begun, names: Sequence[str]) -> None:
    """Raise `UsageError` for a name that is not one of the campaign's annotators."""
    for name in names:
        if name not in campaign.people:
            active = ", ".join(sorted(campaign.askable)) or "none"
            raise UsageError(f"no annotator is called {name!r}; active: {active}")


def _print(rows: Sequence[Annotator], keys: tuple[str, ...]) -> None:
    draw_rows([[getattr(row, key) for key in keys] for row in rows], keys, align="left")


COMMANDS = (add, retire, reassign)
