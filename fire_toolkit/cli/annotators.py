"""`annotators`: accounts on the server, and the pseudonyms that stand for them everywhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from fire_toolkit.cli.campaigns import Begun, begun_here, handed_to
from fire_toolkit.cli.common import FireGroup, drawn, json_option, say, say_next
from fire_toolkit.cli.server_options import connection_from, connection_options, private_folder
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import Folder
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
@click.argument("names", nargs=-1, metavar="[PSEUDONYM[=EMAIL]]...")
@click.option("--invite", is_flag=True, help="Print the address at which people sign up by themselves.")
@connection_options
@json_option
def add(
    names: tuple[str, ...], invite: bool, url: str | None, token_file: Path | None, as_json: bool
) -> None:
    """Make accounts and print how to log in; what is there already stays as it is.

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
    say("send each person their address and password safely; they stay in .labelstudio/annotators.csv")
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
def retire(names: tuple[str, ...], url: str | None, token_file: Path | None, as_json: bool) -> None:
    """Deactivate annotators; their answers stay theirs.

    The account is deactivated, not deleted: deleting it in Label Studio removes the author from its
    answers. Annotators who work with files get no further ones.
    """
    campaign = begun_here()
    if campaign and not read_register(private_folder()) and campaign.by_hand:
        _retire_by_hand(campaign, names)
        return
    rows = _accounts(url, token_file).retire(names)
    _print(rows, ("pseudonym", "state"), as_json=as_json)
    say_next("pull")


def _retire_by_hand(campaign: Begun, names: Sequence[str]) -> None:
    """Give annotators no further files."""
    active = handed_to(campaign)
    for name in names:
        if name not in active:
            raise UsageError(f"no annotator is called {name!r}; active: {', '.join(active) or 'none'}")
    Folder(campaign.root, campaign.guideline).retire(names)
    say(f"{', '.join(names)}: no further files; what is answered stays, also what is still to come back")
    say_next("next-round")


def _print(rows: Sequence[Annotator], keys: tuple[str, ...], *, as_json: bool) -> None:
    records = [{key: getattr(row, key) for key in keys} for row in rows]
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))
    else:
        click.echo(
            drawn([list(record.values()) for record in records], keys, "table", align="left"), nl=False
        )
