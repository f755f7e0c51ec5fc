"""Run Label Studio on this machine, for this workspace, reachable from here only.

All that the server needs lies in one folder that only its owner can enter. It listens on the loopback only,
calls nobody, and holds a lock from its first moment to its last, since it inherits the locked handle.
"""

import shutil
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import click

from fire_toolkit.cli.campaigns import begun_here, private_folder
from fire_toolkit.cli.common import Progress, say
from fire_toolkit.cli.here import say_next
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.labelstudio.connection import CONNECTION_FILE
from fire_toolkit.labelstudio.local_server import ADMIN, DATA, LOG, VERSION, start_server, stop_server
from fire_toolkit.media.places import checked_url


def start(*, public_url: Annotated[str | None, Option(metavar="URL")] = None) -> None:
    """Start the workspace's server, or find the one that runs, and print its address.

    The program label-studio is the one on the PATH. It listens on 127.0.0.1 only, at its last port, at first
    8080, or the next that is free; docs/deploy says how to let in annotators on other machines. Address,
    token and the administrator's password are in .fire/private/connection.json. It runs on when the terminal
    closes; the first start takes one to two minutes.

    Args:
        public_url: Where a proxy of yours lets annotators on other machines reach it, as
            https://labels.example.org; empty: nowhere. [default: as last time; at first nowhere]
    """
    folder, program = private_folder().resolve(), shutil.which("label-studio")
    if program is None:
        raise FireError(
            "Label Studio is not installed (no label-studio on the PATH); give it an environment of its own: "
            f"python3 -m venv ~/label-studio && ~/label-studio/bin/pip install label-studio=={VERSION}, "
            "then PATH=~/label-studio/bin:$PATH fire-toolkit labelstudio start"
        )
    if public_url and urlsplit(public_url := checked_url(public_url).lower()).path:
        raise UsageError(f"--public-url {public_url}: has a path; expected scheme and host (and port) alone")
    first = "" if (folder / DATA).is_dir() else "; its first start takes one to two minutes"
    say(f"waiting for Label Studio{first} (log: {folder / LOG})")
    with Progress("starting Label Studio"):
        server = start_server(folder, Path(program), public_url=public_url)
    if server.public_url:
        say(f"annotators open {server.public_url}, which your proxy must pass on to it")
    if server.public_url.startswith("http:"):
        say("note: passwords and answers travel unencrypted to it; https:// keeps them from being read")
    say(f"log in as {ADMIN}; the password is in {folder / CONNECTION_FILE}")
    click.echo(server.url)
    say_following() if begun_here() else say_next("annotators add A01 A02")


def stop() -> None:
    """Stop this workspace's server."""
    ended = stop_server(private_folder().resolve())
    say("the server is stopped; its data stays" if ended else "no server runs here")


COMMANDS = (start, stop)
