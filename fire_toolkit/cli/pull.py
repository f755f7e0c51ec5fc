"""`pull`: answers from a server, our own page or a plug-in's carrier to the ledger, and to judgments."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import needed_workspace, workspace_lock
from fire_toolkit.cli.fetching import derive_judgments, pull_once
from fire_toolkit.cli.following import say_following


def pull(*, full: bool = False, accept_loss: bool = False, as_json: bool) -> None:
    """Fetch new and changed answers into the ledger, then write judgments.csv and dropped.csv from it.

    The ledger (in campaign.sqlite) keeps every version of every answer. An ordinary pull reads what changed
    since the last one, and every project in which the server counts other answers than the ledger; an edit
    that the server does not date shows only in --full. Where one carrier cannot be read, the others are.

    Args:
        full: Read everything again: at the end of a round, before `resolve`.
        accept_loss: With --full: answers of deleted projects no longer count. They stay in the ledger.
    """
    root = needed_workspace().root
    if accept_loss and not full:
        raise click.UsageError("--accept-loss goes with --full")
    with workspace_lock():
        pulled, failed = pull_once(root, is_full=full, accepts_loss=accept_loss)
        derive_judgments(root, pulled, as_json=as_json)
    if failed:
        raise failed
    say_following()
