"""`annotators`: accounts on the server, and the pseudonyms that stand for them everywhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_SERVER,
    add_moves,
    read_retired,
    write_retired,
)
from fire_toolkit.cli.campaigns import begun_here, deliver_files
from fire_toolkit.cli.common import (
    FireGroup,
    drawn,
    json_option,
    n_of,
    say,
    say_next,
    setting_or_default,
    summarise,
)
from fire_toolkit.cli.fetching import carrier_of, pull_once
from fire_toolkit.cli.hands import (
    begun_campaign,
    check_hands,
    count_moved,
    free_tasks,
    is_on_server,
    moved_rounds,
    refuse_strangers,
)
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.server_options import connection_from, connection_options, private_folder
from fire_toolkit.labelstudio.accounts import Accounts
from fire_toolkit.labelstudio.annotators import Annotator, read_register


@click.group(cls=FireGroup, context_settings={"help_option_names": ["-h", "--help"]})
def annotators() -> None:
    """Make and list annotators' accounts, or deactivate one.

    Who is who is written in .labelstudio/annotators.csv, which only you can read; elsewhere only
    pseudonyms appear.
    """


def _accounts(url: str | None, token_file: Path | None) -> Accounts:
    folder = private_folder()
    return Accounts(connection_from(url, token_file), folder)


@annotators.command()
@click.argument("names", nargs=-1, required=True, metavar="PSEUDONYM[=EMAIL]...")
@connection_options
@json_option
def add(names: tuple[str, ...], url: str | None, token_file: Path | None, as_json: bool) -> None:
    """Make accounts and print how to log in; existing ones stay as they are.

    Without an EMAIL the account gets an address that no mail can reach, so that the server knows no
    names.
    """
    accounts = _accounts(url, token_file)
    wanted = [(name, email) for name, _, email in (text.partition("=") for text in names)]
    rows = accounts.add(wanted)
    keys = ("pseudonym", "email", "password")
    _print(rows, keys, as_json=as_json)
    say(f"people log in at {accounts.login_url}")
    say("send each person their e-mail and password safely; they stay in .labelstudio/annotators.csv")
    say_next("push")


@annotators.command(name="list")
@click.option("--emails", is_flag=True, help="Show e-mail addresses too.")
@connection_options
@json_option
def list_(emails: bool, url: str | None, token_file: Path | None, as_json: bool) -> None:
    """List everybody who ever had an account, with state: active, pending, retired, deleted, owner.

    Accounts made elsewhere get the next free pseudonym.
    """
    rows = _accounts(url, token_file).refresh()
    _print(rows, ("pseudonym", "state", "user_id", *(("email",) if emails else ())), as_json=as_json)
    if not any(row.state == "active" for row in rows):
        say_next("annotators add A01 A02")


@annotators.command()
@click.argument("names", nargs=-1, required=True, metavar="PSEUDONYM...")
@connection_options
@json_option
@writes_workspace
def retire(names: tuple[str, ...], url: str | None, token_file: Path | None, as_json: bool) -> None:
    """Stop asking annotators and deactivate their accounts; their answers are kept.

    The account is deactivated, not deleted: deleting it in Label Studio removes the author from its
    answers. What they have not answered is free: `annotators reassign` gives it to others, and `next-round`
    no longer waits for it.
    """
    campaign = begun_here()
    accounts = read_register(private_folder())
    carriers = {entry.carrier for entry in campaign.rounds} if campaign else {BY_SERVER}
    if accounts or campaign is None or BY_SERVER in carriers:
        own = {row.pseudonym for row in accounts}
        by_hand = [name for name in names if campaign and name in campaign.people - own]
        rows = _accounts(url, token_file).retire([name for name in names if name not in by_hand])
        _print(rows, ("pseudonym", "state"), as_json=as_json)
    else:
        refuse_strangers(campaign, names)
    if campaign:
        gone = set(names) & campaign.people
        write_retired(campaign.root, read_retired(campaign.root) | gone)
        for carrier in sorted(carriers - {BY_HAND, BY_SERVER}):
            carrier_of(carrier, campaign.root, url, token_file).retire(gone)
    _say_free(names)


def _say_free(names: Sequence[str]) -> None:
    """Say what annotators who were retired have not answered."""
    campaign = begun_here()
    left = free_tasks(campaign) if campaign else {}
    n_left = sum(left.get(name, 0) for name in names)
    if n_left:
        say(f"{n_of(n_left, 'task')} of {', '.join(names)} without an answer; what still comes back counts")
        say_next(f"annotators reassign {' '.join(name for name in names if left.get(name))} --to NAME")
    else:
        say_next("next-round" if campaign and campaign.is_by_hand else "pull")


@annotators.command()
@click.argument("names", nargs=-1, metavar="[PSEUDONYM]...")
@click.option("--to", "targets", required=True, metavar="NAME,NAME", help="Who gets the tasks.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the order. [default: 0]")
@click.option("--dry-run", is_flag=True, help="Show what would move, and write nothing.")
@connection_options
@json_option
@writes_workspace
def reassign(
    names: tuple[str, ...],
    targets: str,
    seed: int | None,
    dry_run: bool,
    url: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Give what annotators have not answered to others, who may be new to a running round.

    With names: all that these have left. Without: from everybody as much as leaves all with equally many.
    Nobody gets a pair twice; one that all the others have seen stays where it is. Who is new to a round gets
    its training and its controls too. On a server the answers are pulled first, and `push` then carries
    the move out; by hand the tasks are in further files, and what still comes back of the old ones counts.
    """
    campaign = begun_campaign()
    wanted = [name for name in targets.split(",") if name]
    if is_on_server(campaign):
        pull_once(campaign.root, url, token_file)
        campaign = begun_campaign()
    check_hands(campaign, names, wanted)
    moved = moved_rounds(campaign, names, wanted, seed=int(setting_or_default(seed, "tasks", "seed")))
    counts = count_moved(moved, wanted)
    n_left = sum(n for name, n in free_tasks(campaign, names).items()) - counts["moved"] if names else 0
    words = f"{n_of(counts['moved'], 'task')} moved: " + ", ".join(
        f"{k} {v:,}" for k, v in counts["to"].items()
    )
    if n_left:
        words += f"; {n_left:,} stay where they are: {', '.join(wanted)} have seen these pairs"
    if not dry_run:
        for entry, moves in moved:
            add_moves(campaign.root, entry, moves)
    summarise(counts | {"kept": n_left}, words, as_json=as_json)
    if dry_run:
        say("nothing was written")
        return
    deliver_files()
    say_next("push" if any(entry.carrier != BY_HAND for entry, _ in moved) else "import")


def _print(rows: Sequence[Annotator], keys: tuple[str, ...], *, as_json: bool) -> None:
    records = [{key: getattr(row, key) for key in keys} for row in rows]
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))
    else:
        click.echo(
            drawn([list(record.values()) for record in records], keys, "table", align="left"), nl=False
        )
