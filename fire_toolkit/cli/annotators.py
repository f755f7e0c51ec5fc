"""`annotators`: accounts on the server, and the pseudonyms that stand for them everywhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
import pandas as pd

from fire_toolkit.campaign.pay import pay_of
from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_SERVER,
    PAUSED,
    RETIRED,
    add_moves,
    away,
    read_pass_mark,
    set_away,
    write_pass_mark,
)
from fire_toolkit.cli.campaigns import begun_here, deliver_files
from fire_toolkit.cli.common import (
    DRAWN,
    FireGroup,
    Range,
    drawn,
    format_option,
    formatted,
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
    training_of,
)
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.server_options import connection_from, connection_options, private_folder
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.labelstudio.accounts import Accounts
from fire_toolkit.labelstudio.annotators import Annotator, read_register
from fire_toolkit.labelstudio.completion import (
    check_codes,
    check_submitted,
    completion_code,
    make_completion_key,
)


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
@click.argument("names", nargs=-1, metavar="[PSEUDONYM[=EMAIL]]...")
@click.option("--invite", is_flag=True, help="Print the address at which people sign up by themselves.")
@connection_options
@json_option
def add(
    names: tuple[str, ...], invite: bool, url: str | None, token_file: Path | None, as_json: bool
) -> None:
    """Make accounts and print how to log in; existing ones stay as they are.

    Without an EMAIL the account gets an address that no mail can reach, so that the server knows no
    names. With --invite people choose address and password themselves; `annotators list` then gives
    them pseudonyms.
    """
    if bool(names) == invite:
        raise click.UsageError("give pseudonyms (like A01 A02=jo@example.org), or --invite")
    accounts = _accounts(url, token_file)
    if invite:
        click.echo(accounts.invitation_url())
        say("anyone with this address can sign up; give it to annotators only")
        say_next("annotators list")
        return
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
        set_away(campaign.root, RETIRED, away(campaign.root, RETIRED) | gone)
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
@click.argument("names", nargs=-1, required=True, metavar="PSEUDONYM...")
@writes_workspace
def pause(names: tuple[str, ...]) -> None:
    """Give annotators no new tasks for now; those they have stay theirs."""
    campaign = begun_campaign()
    refuse_strangers(campaign, names)
    set_away(campaign.root, PAUSED, away(campaign.root, PAUSED) | set(names))
    say(f"{', '.join(names)}: nothing new until `fire-toolkit annotators resume {' '.join(names)}`")


@annotators.command()
@click.argument("names", nargs=-1, required=True, metavar="PSEUDONYM...")
@writes_workspace
def resume(names: tuple[str, ...]) -> None:
    """Ask annotators again who were paused."""
    campaign = begun_campaign()
    paused = away(campaign.root, PAUSED)
    if strange := [name for name in names if name not in paused]:
        raise UsageError(f"{strange[0]} is not paused; paused: {', '.join(sorted(paused)) or 'nobody'}")
    set_away(campaign.root, PAUSED, paused - set(names))
    say(f"{', '.join(names)} can be asked again")


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


@annotators.command()
@click.option(
    "--pass-mark", type=Range(0, 1), metavar="SHARE", help="How much of the training must be right."
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    help="How often answers can be changed below the mark. [default: 0]",
)
@json_option
@writes_workspace
def qualify(pass_mark: float | None, retries: int | None, as_json: bool) -> None:
    """Set the mark that the training must reach, and show who has passed.

    The training is what `push --training` sent; the answers to it are known where --controls has its pairs.
    `push` sends the rest of a queue once its training is passed. Below the mark annotators can change their
    answers, as often as --retries says; then they have failed, and their queue stays held back:
    `annotators reassign` gives it to others. Files are handed out as a whole, so by hand there is no gate.
    """
    campaign = begun_campaign()
    if pass_mark is None and retries is not None:
        raise click.UsageError("--retries needs --pass-mark")
    if pass_mark is not None:
        write_pass_mark(campaign.root, pass_mark, retries or 0)
    mark = read_pass_mark(campaign.root)
    if mark is None:
        raise UsageError("no mark was set; set one with --pass-mark")
    found = training_of(campaign, mark)
    if as_json:
        click.echo(json.dumps([asdict(each) | {"queue": str(each.queue)} for each in found]))
        return
    header = ["annotator", "round", "right", "of", "tries", "training"]
    rows = [
        [
            each.queue.annotator_id,
            *map(str, (each.queue.round, each.n_right, each.n_known, each.n_tries)),
            each.state,
        ]
        for each in found
    ]
    click.echo(drawn(rows, header, "table"), nl=False)
    if not found:
        say("note: no round has training tasks; `push --training` sends them")
    say(f"the mark is {mark[0]:g}, with {n_of(mark[1], 'further try')}")
    if any(each.n_known < each.n_tasks for each in found):
        say("note: not every answer to the training is known; give them all with `push --controls`")
    say_next("push")


@annotators.command()
@click.option("--hourly", type=Range(min=0), required=True, metavar="AMOUNT", help="For an hour.")
@click.option(
    "--longest",
    "longest_s",
    type=Range(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Longer answers count as this long: the page was left open.",
)
@click.option(
    "--codes",
    metavar="FILE",
    help="Codes that people submitted: a CSV with annotator_id and code. Adds the column code_check.",
)
@format_option
def pay(hourly: float, longest_s: float, codes: str | None, output_format: str) -> None:
    """Show what annotators have earned, by measured seconds, and the codes of those who are done.

    Training, controls and skips are work too. Answers without a time count as the annotator's median. Whoever
    has answered everything in a round has a completion code, as crowd platforms ask for: give it to the
    person, and check with --codes what the platform reports: right, wrong, missing, or not done (the code is
    theirs, and something is left to answer). It is made with the workspace's own secret.
    """
    campaign = begun_campaign()
    earned = pay_of(campaign.rounds, campaign.ledger, hourly=hourly, longest_s=longest_s)
    key = make_completion_key(private_folder())
    made = [
        completion_code(key, name, int(number)) if is_done else ""
        for name, number, is_done in zip(
            earned["annotator_id"], earned["round"], earned["is_done"], strict=True
        )
    ]
    checked = {}
    if codes:
        submitted = check_submitted(read_delimited(codes), where=codes)
        states, strays = check_codes(earned, submitted, key)
        checked = {"code_check": pd.array(states, dtype="str")}
        for words in strays:
            say(f"warning: {codes}, {words}")
    earned = earned.drop(columns="is_done").assign(completion_code=pd.array(made, dtype="str"), **checked)
    if output_format not in DRAWN:
        click.echo(formatted(earned, output_format), nl=False)
        return
    rows = [
        [name, str(number), *(f"{n:,}" for n in counts), f"{seconds:,.0f}", f"{amount:,.2f}", *words]
        for name, number, *counts, seconds, amount, words in (
            (*row[:7], row[7:]) for row in earned.itertuples(index=False, name=None)
        )
    ]
    click.echo(drawn(rows, list(earned.columns), output_format), nl=False)
    total = earned["pay"].sum()
    say(f"{total:,.2f} in all, at {hourly:,.2f} an hour; longer answers count as {longest_s:g} s")


def _print(rows: Sequence[Annotator], keys: tuple[str, ...], *, as_json: bool) -> None:
    records = [{key: getattr(row, key) for key in keys} for row in rows]
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))
    else:
        click.echo(
            drawn([list(record.values()) for record in records], keys, "table", align="left"), nl=False
        )
