"""`next-round` and `progress`: who decides what is in dispute, and how far all are."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.common import Inputs, chosen, drawn, json_option, n_of, say, say_next, shown, summarise
from fire_toolkit.cli.meter import workspace_root
from fire_toolkit.cli.server_options import connection_options

if TYPE_CHECKING:
    import pandas as pd

    from fire_toolkit.labelstudio.progress import QueueProgress


@click.command(name="next-round")
@click.option(
    "--labels",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="What `resolve` wrote. [default: labels]",
)
@click.option(
    "--unverified-positives",
    "with_positives",
    is_flag=True,
    help="Also ask again what one judgment alone calls positive.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Ask what `plan-round` wrote, in place of the disputes of --labels.",
)
@click.option(
    "--annotator",
    "annotators",
    multiple=True,
    metavar="NAME",
    help="Who can be asked. [default: everybody active in `annotators list`]",
)
@click.option("--seed", type=int, help="Seed of the queues. [default: 0]")
@click.option("--dry-run", is_flag=True, help="Say who would judge how much, and write nothing.")
@json_option
def next_round(
    folder: Path | None,
    with_positives: bool,
    plan: Path | None,
    annotators: tuple[str, ...],
    seed: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Give another round out: pairs in dispute go to an annotator who has not seen them.

    The answers are marked (columns round and kind), so that agreement can be computed on the first,
    blind round alone.
    """
    from fire_toolkit.cli.push import active_annotators
    from fire_toolkit.errors import UsageError
    from fire_toolkit.formats.table_files import read_pool
    from fire_toolkit.labelstudio.campaign import LEDGER_FOLDER, read_rounds, write_round
    from fire_toolkit.labelstudio.progress import load_of
    from fire_toolkit.labelstudio.rounds import plan_round
    from fire_toolkit.ledger import read_ledger

    root = workspace_root()
    rounds = read_rounds(root)
    if not rounds:
        raise UsageError("no round has begun here; push tasks first")
    if plan and (folder or with_positives):
        raise click.UsageError("--plan says which pairs are asked: without --labels, --unverified-positives")
    if plan:
        pairs: pd.DataFrame = read_pool(Inputs().use(plan / "pool.csv" if plan.is_dir() else plan))
    else:
        pairs = _pairs_to_ask(folder or shown(root / "labels"), with_positives=with_positives)
    names = list(annotators or active_annotators())
    ledger = read_ledger(root / LEDGER_FOLDER)
    entry, n_waiting = plan_round(pairs, rounds, ledger, names, seed=int(chosen(seed, "tasks", "seed")))
    loads = {name: sum(kinds.values()) for name, kinds in load_of(entry).items()} if entry else {}
    if entry and not dry_run:
        write_round(root, entry)
    counts = {"round": entry.number if entry else 0, "pairs": sum(loads.values()), "waiting": n_waiting}
    words = f"{n_of(counts['pairs'], 'pair')} to ask again"
    if loads:
        words += f" in round {counts['round']}: " + ", ".join(f"{name} {n:,}" for name, n in loads.items())
    if n_waiting:
        words += f"; {n_of(n_waiting, 'pair')} wait for an answer in a round that has begun"
    summarise({**counts, "annotators": loads}, words, as_json=as_json)
    if dry_run:
        say("nothing was written")
    elif entry:
        say_next("push")


def _pairs_to_ask(folder: Path, *, with_positives: bool) -> pd.DataFrame:
    import pandas as pd

    from fire_toolkit.formats.delimited import read_delimited
    from fire_toolkit.formats.table_files import read_labels
    from fire_toolkit.labelstudio.rounds import disputed_pairs, unverified_positives
    from fire_toolkit.tables import check_disputes

    inputs = Inputs()
    file = inputs.use(folder / "disputes.csv")
    pairs = disputed_pairs(check_disputes(read_delimited(file), where=str(file)))
    if not with_positives:
        return pairs
    return pd.concat([pairs, unverified_positives(read_labels(inputs.use(folder / "labels.csv")))])


@click.command()
@click.option("--watch", is_flag=True, help="Pull and show again every --every seconds, until Ctrl-C.")
@click.option("--every", type=click.FloatRange(min=1), default=30.0, help="Seconds between looks.")
@click.option("--pull", "pulls", is_flag=True, help="Pull before showing.")
@connection_options
@json_option
def progress(
    watch: bool, every: float, pulls: bool, url: str | None, token_file: Path | None, as_json: bool
) -> None:
    """Show for each annotator what is done and left, the pace, hours to the end, controls, escalations.

    Counts what the ledger holds: `pull` first, or use --pull.
    """
    from fire_toolkit.cli.pull import pull_once
    from fire_toolkit.errors import ServerError

    root = workspace_root()
    while True:
        if pulls or watch:
            try:
                pull_once(root, url, token_file)
            except ServerError as error:
                if not watch:
                    raise
                say(f"note: {error}")
        if watch and not as_json:
            click.clear()
        _show(root, as_json=as_json)
        if not watch:
            return
        time.sleep(every)


def _show(root: Path, *, as_json: bool) -> None:
    from fire_toolkit.errors import UsageError
    from fire_toolkit.formats.guideline_files import read_guideline
    from fire_toolkit.labelstudio.campaign import LEDGER_FOLDER, read_campaign, read_rounds
    from fire_toolkit.labelstudio.progress import measure_progress, total_progress
    from fire_toolkit.ledger import read_ledger

    campaign, rounds = read_campaign(root), read_rounds(root)
    if campaign is None or not rounds:
        raise UsageError("nothing was pushed from this workspace; push first")
    rules = read_guideline(campaign.guideline)
    queues = measure_progress(rounds, read_ledger(root / LEDGER_FOLDER), guideline=rules)
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
