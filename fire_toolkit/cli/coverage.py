"""`coverage`: how much of a new run is judged."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from fire_toolkit.cli.benchmark import Given, measure_option, print_table, reads
from fire_toolkit.cli.common import Inputs, format_option, made_file, n_of, say, say_next, write_outputs
from fire_toolkit.cli.hints import named
from fire_toolkit.cli.server_options import Progress
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.inference import coverage as cover
from fire_toolkit.measures.defaults import COVERAGE
from fire_toolkit.tables import check_pool


@click.command()
@reads("runs", "qrels", "augmented")
@click.option("--judgments", metavar="FILE", help="Earlier judgments: what one took, and how many a pair.")
@measure_option
@format_option
@click.option("--out", metavar="FILE", help="Write the pairs to judge as a pool, for `tasks`.")
def coverage(
    given: Given,
    judgments: str | None,
    measures: tuple[str, ...],
    output_format: str,
    out: str | None,
) -> None:
    """Measure how much of a new run is judged, how far its scores can move, and what the rest would cost."""
    seconds, labels = _cost(judgments, given.inputs)
    with Progress() as tell:
        tell("ranks of judged docs")
        found = cover(
            given.stored_runs,
            given.original,
            given.augmented,
            measures or COVERAGE,
            seconds=seconds,
            labels_per_pair=labels,
        )
    for run_id, own in found.judged.groupby("run_id", sort=False):
        shares = ", ".join(f"{row.judged:.0%} at {row.k}" for row in own.itertuples())
        say(f"{run_id}: judged {shares}")
    print_table(found.summary, output_format, basis=given.basis())
    if out:
        _write_pool(found.pairs, Path(out), given.inputs)


def _cost(judgments: str | None, inputs: Inputs) -> tuple[float, float]:
    """Return the mean seconds of a judgment and the judgments of a pair; nan and 1 where not known."""
    path = judgments or made_file("judgments/judgments.csv")
    if path is None:
        return float("nan"), 1.0
    table, _ = read_judgments(inputs.use(path))
    labels = len(table) / max(1, len(table.drop_duplicates(["query_id", "doc_id"])))
    seconds = float(table["duration_s"].mean())
    say(f"cost: {seconds:.1f} s a judgment and {labels:.2f} judgments a pair, as in {path}")
    return seconds, max(1.0, labels)


def _write_pool(pairs: pd.DataFrame, out: Path, inputs: Inputs) -> None:
    each = pairs.drop_duplicates(["run_id", "query_id", "doc_id"])
    grouped = each.groupby(["query_id", "doc_id"], sort=True)
    pool = check_pool(grouped.agg(best_rank=("rank", "min"), n_runs=("run_id", "nunique")).reset_index())
    text = {out.name: delimited_text(pool)}
    write_outputs(out, text, stage="coverage", parameters={}, inputs=inputs, counts={"pairs": len(pool)})
    say(f"{n_of(len(pool), 'pair')} to judge in {out}")
    known = f"--queries {named('QUERIES', beside=inputs.hashes)} --out {out.with_suffix('.tasks.json')}"
    say_next(f"tasks {out}", known)
