"""`labelstudio`: the local server of a workspace."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.common import FireGroup, Range, current_workspace, json_option, say, say_next
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.labelstudio.connection import SERVER_FOLDER
from fire_toolkit.labelstudio.install import cache_folder, install
from fire_toolkit.labelstudio.local_state import read_log, read_state
from fire_toolkit.labelstudio.server import server_status, start_server, stop_server

if TYPE_CHECKING:
    from fire_toolkit.labelstudio.server import ServerStatus

POSTGRES_VARIABLE = "FIRE_LABEL_STUDIO_POSTGRES"


_folder_option = click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the server in DIR/.labelstudio. [default: the workspace]",
    metavar="DIR",
)


def _server_folder(given: Path | None) -> Path:
    workspace = current_workspace()
    if given is None and workspace is None:
        raise click.UsageError("--folder is needed outside a workspace (see `fire-toolkit init`)")
    root = given if given is not None else workspace.root if workspace else Path()
    return (root / SERVER_FOLDER).absolute()


@click.group(cls=FireGroup, context_settings={"help_option_names": ["-h", "--help"]})
def labelstudio() -> None:
    """Run Label Studio on this machine, for this workspace, reachable from here only."""


@labelstudio.command()
@_folder_option
@click.option(
    "--port", type=click.IntRange(1, 65535), help="[default: the last one, else the first free from 8080]"
)
@click.option(
    "--media",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder below which the server may serve files. [default: media, beside .labelstudio]",
)
@click.option(
    "--postgres",
    envvar=POSTGRES_VARIABLE,
    metavar="URL",
    help=f"postgresql://user:password@host:port/name, best by {POSTGRES_VARIABLE}. [default: SQLite]",
)
@click.option(
    "--hooks/--no-hooks",
    default=None,
    help="Let it call programs at 127.0.0.1, for `pull --listen`; anyone who can import tasks by URL can "
    "then read what answers there. [default: as last time; at first not]",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="Where a proxy of yours lets annotators on other machines reach it, as https://labels.example.org; "
    "empty: nowhere. [default: as last time; at first nowhere]",
)
@click.option(
    "--program",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A label-studio program of your own. [default: installed on first use]",
)
@click.option(
    "--wait",
    "limit_s",
    type=Range(min=1),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for it to start.",
)
@json_option
def start(
    folder: Path | None,
    port: int | None,
    media: Path | None,
    postgres: str | None,
    hooks: bool | None,
    public_url: str | None,
    program: Path | None,
    limit_s: float,
    as_json: bool,
) -> None:
    """Start the server, or find the one that runs; on first use install it (about 4 minutes, 1 GB).

    It listens on 127.0.0.1 only and calls nobody; a proxy with TLS lets annotators on other machines in
    (--public-url; docs/deploy has the files for Caddy and nginx). Address, token and the administrator's
    password are in .labelstudio/connection.json, which only you can read. It runs on when the terminal
    closes.
    """
    place = _server_folder(folder)
    with Progress() as progress:
        executable = program.absolute() if program else install(cache_folder(), progress)
        status = start_server(
            place,
            executable,
            port=port,
            media=media,
            postgres=postgres,
            hooks=hooks,
            public_url=public_url,
            limit_s=limit_s,
            report=progress,
        )
    if as_json:
        click.echo(json.dumps(asdict(status)))
    else:
        say(f"Label Studio {status.version} {'runs already' if status.found else 'runs'} at {status.url}")
        _say_public(status.public_url)
        say(f"log in as {_admin(place)}; the password is in {place / 'connection.json'}")
    say_next("annotators add A01 A02")


def _say_public(url: str) -> None:
    if not url:
        return
    say(f"annotators open {url}, which your proxy must pass on to it")
    if url.startswith("http:"):
        say("note: passwords and answers travel unencrypted to it; https:// keeps them from being read")


def _admin(folder: Path) -> str:
    state = read_state(folder)
    return state.email if state else ""


@labelstudio.command()
@_folder_option
@json_option
def stop(folder: Path | None, as_json: bool) -> None:
    """Stop this workspace's server."""
    ended = stop_server(_server_folder(folder))
    if as_json:
        click.echo(json.dumps({"stopped": ended}))
    else:
        say("the server is stopped; its data stays" if ended else "no server runs here")


@labelstudio.command()
@_folder_option
@json_option
def status(folder: Path | None, as_json: bool) -> None:
    """Show address, version, pid, memory and database of this workspace's server."""
    found = server_status(_server_folder(folder))
    click.echo(json.dumps(asdict(found)) if as_json else "\n".join(_lines(found)))
    if found.state == "stopped":
        say_next("labelstudio start")


def _lines(status: ServerStatus) -> list[str]:
    words = {
        "starting": "starting, or too busy to answer",
        "refused": "up, but it does not accept this folder's token",
    }
    rows = {
        "state": words.get(status.state, status.state),
        "url": status.url,
        "public": status.public_url,
        "version": status.version,
        "pid": "" if status.pid is None else str(status.pid),
        "memory": _megabytes(status.memory_bytes),
        "database": " ".join(filter(None, (status.database, _megabytes(status.database_bytes)))),
    }
    return [f"{name:<9} {value}" for name, value in rows.items() if value]


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:,.0f} MB"


@labelstudio.command()
@_folder_option
@click.option(
    "--lines",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many of the last lines to print.",
)
def logs(folder: Path | None, lines: int) -> None:
    """Print the end of the server's log, without secrets."""
    found = read_log(_server_folder(folder), lines=lines)
    if not found:
        say("no log yet")
    for line in found:
        click.echo(line)
