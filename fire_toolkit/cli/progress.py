"""`progress`: how far everybody is, and how well it goes."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from fire_toolkit.agreement.live import LEAST_AGREEMENT
from fire_toolkit.campaign.progress import QueueProgress, total_progress
from fire_toolkit.cli.common import Range, drawn, json_option, n_of, named_files, say
from fire_toolkit.cli.fetching import fetch_all
from fire_toolkit.cli.hands import begun_campaign
from fire_toolkit.cli.locking import workspace_lock
from fire_toolkit.cli.meter import workspace_root
from fire_toolkit.cli.quality import Look, plain
from fire_toolkit.cli.server_options import connection_options
from fire_toolkit.errors import ServerError
from fire_toolkit.workspace.locks import Busy


@click.command()
@click.option("--watch", is_flag=True, help="Pull and show again every --every seconds, until Ctrl-C.")
@click.option("--every", type=Range(min=1), default=30.0, help="Seconds between looks.")
@click.option("--pull", "pulls", is_flag=True, help="Pull before showing.")
@click.option(
    "--least-agreement",
    type=Range(0, 1),
    default=LEAST_AGREEMENT,
    show_default=True,
    help="Less agreement with others, on 10 shared pairs or more, is an alarm.",
)
@connection_options
@json_option
def progress(
    watch: bool,
    every: float,
    pulls: bool,
    least_agreement: float,
    url: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Show a campaign's progress and quality: tasks, pace, agreement, controls, what to look into.

    Counts what the ledger holds: `pull` first, or use --pull. Below the queues stands alpha of the first
    answers so far, and each annotator beside the others on the pairs that they share. Alarms are reasons to
    look: answers faster than the item lasts (where `items` say start_s and end_s, or duration_s), one
    answer to everything, little agreement with others.
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
        look = Look(begun_campaign(), least_agreement)
        _show(look, as_json=as_json)
        if not watch:
            return
        time.sleep(every)


def _show(look: Look, *, as_json: bool) -> None:
    both = [*look.queues, total_progress(look.queues)]
    if as_json:
        records = [asdict(queue) | {"control_accuracy": queue.control_accuracy} for queue in both]
        click.echo(json.dumps([plain(own) | look.record(q) for own, q in zip(records, both, strict=True)]))
        return
    click.echo(drawn([_cells(queue) for queue in both], _HEADER, "table"), nl=False)
    quality = look.quality
    people = quality.people[quality.people["n_votes"] > 0]
    if len(people):
        rows = [_beside(row) for row in people.to_dict("records")]
        click.echo("\n" + drawn(rows, _BESIDE, "table"), nl=False)
    alpha = quality.alpha
    if math.isnan(alpha.value):
        say(f"no alpha yet: {alpha.note}")
    else:
        interval = "" if math.isnan(alpha.low) else f" (95%: {alpha.low:.3f} to {alpha.high:.3f})"
        say(f"alpha so far {alpha.value:.3f}{interval}, of {n_of(quality.n_pairable, 'pair')} judged twice")
        if alpha.note:
            say(f"note: {alpha.note}")
    for name, words in zip(quality.alarms["annotator_id"], quality.alarms["words"], strict=True):
        say(f"look into {name}: {words}")


_BESIDE = (
    "annotator",
    "votes",
    "shared pairs",
    "agreement",
    "positive",
    "others' positive",
    "s",
    "others' s",
)


def _beside(row: dict[Any, Any]) -> list[str]:
    shares = (row[name] for name in ("peer_agreement", "shared_positive_rate", "peer_positive_rate"))
    return [
        str(row["annotator_id"]),
        f"{row['n_votes']:,}",
        f"{row['n_shared']:,}",
        *("" if math.isnan(share) else f"{share:.2f}" for share in shares),
        _number(row["shared_duration_s"]),
        _number(row["peer_duration_s"]),
    ]


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
