"""`progress`: how far everybody is."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import click

from fire_toolkit.campaign.progress import QueueProgress, measure_progress, total_progress
from fire_toolkit.cli.campaigns import begun_here
from fire_toolkit.cli.common import drawn, json_option, named_files, say
from fire_toolkit.cli.fetching import fetch_all
from fire_toolkit.cli.locking import workspace_lock
from fire_toolkit.cli.meter import workspace_root
from fire_toolkit.cli.server_options import connection_options
from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.workspace.locks import Busy


@click.command()
@click.option("--watch", is_flag=True, help="Pull and show again every --every seconds, until Ctrl-C.")
@click.option("--every", type=click.FloatRange(min=1), default=30.0, help="Seconds between looks.")
@click.option("--pull", "pulls", is_flag=True, help="Pull before showing.")
@connection_options
@json_option
def progress(
    watch: bool, every: float, pulls: bool, url: str | None, token_file: Path | None, as_json: bool
) -> None:
    """Show each annotator's progress: tasks done and left, pace, hours left, controls and escalations.

    Counts what the ledger holds: `pull` first, or use --pull.
    """
    root = workspace_root()
    while True:
        if pulls or watch:
            try:
                with workspace_lock():
                    fetch_all(root, url, token_file, named_files("import", "exports"))
            except (ServerError, Busy) as error:
                if not watch:
                    raise
                say(f"note: {error}")
        if watch and not as_json:
            click.clear()
        _show(as_json=as_json)
        if not watch:
            return
        time.sleep(every)


def _show(*, as_json: bool) -> None:
    campaign = begun_here()
    if campaign is None:
        raise UsageError(
            "nothing was pushed from this workspace; push first, or hand out files (tasks --annotators A,B)"
        )
    queues = measure_progress(campaign.rounds, campaign.ledger, guideline=campaign.guideline)
    both = [*queues, total_progress(queues)]
    if as_json:
        click.echo(json.dumps([_plain(queue) for queue in both]))
        return
    click.echo(drawn([_cells(queue) for queue in both], _HEADER, "table"), nl=False)


_HEADER = (
    "annotator",
    "round",
    "tasks",
    "done",
    "left",
    "training left",
    "skipped",
    "escalated",
    "s/judgment",
    "judgments/h",
    "hours left",
    "controls right",
)


def _cells(queue: QueueProgress) -> list[str]:
    numbers = (queue.n_tasks, queue.n_done, queue.n_left, queue.n_training_left, queue.n_skipped)
    controls = f"{queue.n_right} of {queue.n_controls}" if queue.n_controls else ""
    return [
        queue.annotator_id,
        str(queue.round or ""),
        *(f"{n:,}" for n in (*numbers, queue.n_escalated)),
        _number(queue.seconds),
        _number(3600 / queue.seconds if queue.seconds else math.nan),
        _number(queue.hours_left),
        controls,
    ]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.1f}"


def _plain(queue: QueueProgress) -> dict[str, object]:
    values = {**asdict(queue), "control_accuracy": queue.control_accuracy}
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in values.items()
    }
