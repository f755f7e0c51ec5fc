"""`pull`: answers from a server, or from its exports, to the ledger and to judgments."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import json_option, say, say_next
from fire_toolkit.cli.fetching import derive_judgments, pull_once, read_files
from fire_toolkit.cli.locking import workspace_lock
from fire_toolkit.cli.meter import workspace_root
from fire_toolkit.cli.server_options import connection_options


@click.command()
@click.option(
    "--full", "is_full", is_flag=True, help="Read everything again: at the end of a round, before `resolve`."
)
@click.option(
    "--accept-loss",
    "accepts_loss",
    is_flag=True,
    help="With --full: answers of deleted projects no longer count. They stay in the ledger.",
)
@click.option(
    "--from-export",
    "exports",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take answers from a JSON export instead of the server (may be repeated).",
)
@connection_options
@json_option
def pull(
    is_full: bool,
    accepts_loss: bool,
    exports: tuple[Path, ...],
    url: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Fetch new and changed answers into the ledger, then write judgments.csv and dropped.csv from it.

    The ledger (ledger/) keeps every version of every answer; what was edited or deleted on the server
    is recorded as such. Judgments say in which round they were given, and what for (column kind).

    Read is what changed since the last pull, and any project in which the server counts more or fewer answers
    than the ledger has. An edit that the server does not date shows only in --full.
    """
    root = workspace_root()
    if accepts_loss and not is_full:
        raise click.UsageError("--accept-loss goes with --full")
    with workspace_lock():
        if exports:
            pulled = read_files(root, exports)
        else:
            pulled = pull_once(root, url, token_file, is_full=is_full, accepts_loss=accepts_loss)
        derive_judgments(root, pulled, as_json=as_json)
    say_next("progress")
    say("when all is judged: fire-toolkit agree")
