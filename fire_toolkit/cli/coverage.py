"""`coverage`: how much of a new run is judged."""

from __future__ import annotations

import click
import pandas as pd

from fire_toolkit.cli.as_augmented import guideline_grade
from fire_toolkit.cli.common import format_option, n_of, say, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import accept_unpooled_option, measure_option, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.sampled_qrels import check_settled
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.inference import coverage as cover
from fire_toolkit.measures.defaults import COVERAGE
from fire_toolkit.tables import check_pool
from fire_toolkit.tables.columns import PAIR


@click.command()
@reads(
    "runs",
    "qrels",
    "augmented",
    "own_item",
    judgments="Earlier judgments: how long one takes, and how many a pair gets.",
)
@measure_option
@accept_unpooled_option
@format_option
@click.option("--out", metavar="FILE", help="Also write the pairs to judge as a pool, for `tasks`.")
def coverage(given: Given, measures: tuple[str, ...], accept_unpooled: bool) -> None:
    """Measure how much of a new run is judged, how far its scores can move, and what the rest would cost."""
    seconds, labels = _cost(given)
    check_settled(given, measures or COVERAGE, accept=accept_unpooled)
    with Progress("ranks of judged docs"):
        found = cover(
            *given.runs_and_qrels,
            measures or COVERAGE,
            seconds=seconds,
            labels_per_pair=labels,
            highest_grade=guideline_grade(given) or 1,
        )
    for run_id, own in found.judged.groupby("run_id", sort=False):
        shares = ", ".join(f"{row.judged:.0%} at {row.k}" for row in own.itertuples())
        say(f"{run_id}: judged {shares}")
    print_table(found.summary, given.form, basis=given.basis())
    if given.values["out"]:
        _write_pool(found.pairs, given)


def _cost(given: Given) -> tuple[float, float]:
    """Return the mean seconds of a judgment and the judgments of a pair; nan and 1 where not known."""
    path = given.found("judgments")
    if path is None:
        return float("nan"), 1.0
    table, _ = read_judgments(given.use(path))
    labels = len(table) / max(1, len(table.drop_duplicates(PAIR)))
    seconds = float(table["duration_s"].mean())
    say(f"cost: {seconds:.1f} s a judgment and {labels:.2f} judgments a pair, as in {path}")
    return seconds, max(1.0, labels)


def _write_pool(pairs: pd.DataFrame, given: Given) -> None:
    out = given.out(None)
    each = pairs.drop_duplicates(["run_id", "query_id", "doc_id"])
    grouped = each.groupby(PAIR, sort=True)
    pool = check_pool(grouped.agg(best_rank=("rank", "min"), n_runs=("run_id", "nunique")).reset_index())
    counts = {"pairs": len(pool)}
    given.write(out, {out.name: delimited_text(pool)}, "coverage", {}, counts)
    say(f"{n_of(len(pool), 'pair')} to judge in {out}")
    known = f"--queries {given.hint('QUERIES')} --out {out.with_suffix('.tasks.json')}"
    say_next(f"tasks {out}", known)
