"""`compare`: runs against one another; and the table in which scores of aspects are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fire_toolkit.cli.benchmark import Given, compared, print_text, reads
from fire_toolkit.cli.common import (
    DRAWN,
    drawn,
    format_option,
    formatted,
    say_notes,
    setting_or_default,
    workspace_path,
    write_table,
)
from fire_toolkit.inference.compare import BROKEN, compare_runs
from fire_toolkit.inference.tied_lists import VARIANTS
from fire_toolkit.scoring.breakdown import AspectScores
from fire_toolkit.scoring.drawn import score_cells
from fire_toolkit.tables import Comparisons


def drawn_aspects(scores: AspectScores, column: str, output_format: str) -> str:
    """Return a breakdown, aspects and measures × runs."""
    run_ids = list(dict.fromkeys(scores["run_id"]))
    rows = []
    for (aspect, n_queries, measure), own in scores.groupby(["aspect", "n_queries", "measure"], sort=False):
        of_runs = [own[own["run_id"] == run_id].set_index("qrels")["value"] for run_id in run_ids]
        cells = score_cells([values.to_dict() for values in of_runs], str(measure))
        rows.append([str(aspect) or "(none)", f"{n_queries:,}", str(measure), *cells])
    return drawn(rows, [column, "queries", "measure", *run_ids], output_format)


@click.command()
@reads("runs")
@click.option(
    "--depth",
    "depths",
    type=click.IntRange(min=1),
    multiple=True,
    help="Compare the top docs down to here (may be repeated). [default: 10]",
)
@click.option(
    "--rbo-p",
    "persistences",
    type=float,
    multiple=True,
    help="RBO's persistence, between 0 and 1 (may be repeated). [default: 0.9]",
)
@click.option(
    "--ties",
    type=click.Choice([BROKEN, *VARIANTS]),
    default=BROKEN,
    show_default=True,
    help="Docs of equal score: in rank order, or tied (variants of Corsi and Urbano 2024).",
)
@click.option("--per-query", is_flag=True, help="Also the value of each query.")
@click.option("--queries", metavar="FILE", help="queries.tsv: the queries' own items.")
@format_option
@click.option("--out", metavar="FILE", help="Also write the long table as CSV.")
def compare(
    given: Given,
    depths: tuple[int, ...],
    persistences: tuple[float, ...],
    ties: str,
    per_query: bool,
    output_format: str,
    out: str | None,
) -> None:
    """Compare the rankings of two runs or more, pair by pair: overlap and rank-biased overlap.

    Values are means over the queries that both runs have, from 0 (disjoint) to 1 (the same).
    """
    depths = depths or (int(setting_or_default(None, "compare", "depth")),)
    persistences = persistences or (float(setting_or_default(None, "compare", "rbo_p")),)
    tables = given.runs_to(max(depths))
    result = compare_runs(tables, depth=depths, rbo_p=persistences, ties=ties, per_query=per_query)
    say_notes(result.notes)
    if output_format in DRAWN and per_query:
        output_format = "csv"
    text = (_drawn_comparisons if output_format in DRAWN else formatted)(result.comparisons, output_format)
    basis = compared(tables, depth=", ".join(map(str, depths)), ties=ties)
    print_text(text, output_format, basis="; ".join([basis, *given.own.in_words()]))
    is_usual = not (per_query or given.values["runs"] or given.values["own_item"])
    place = Path(out) if out else workspace_path("comparison/comparison.csv") if is_usual else None
    if place:
        parameters = {"depth": _one(depths), "rbo_p": _one(persistences), "ties": ties}
        parameters |= given.own.parameters
        write_table(place, result.comparisons, stage="compare", parameters=parameters, inputs=given.inputs)


def _one(values: tuple[Any, ...]) -> Any:
    """A single value as itself, as it stands in fire.toml."""
    return values[0] if len(values) == 1 else list(values)


def _drawn_comparisons(comparisons: Comparisons, output_format: str) -> str:
    keys = zip(*(comparisons[name] for name in ("run_a", "run_b", "measure")), strict=True)
    values = dict(zip(keys, comparisons["value"], strict=True))
    measures = list(dict.fromkeys(comparisons["measure"]))
    pairs = dict.fromkeys(zip(comparisons["run_a"], comparisons["run_b"], strict=True))
    rows = [[f"{a} & {b}", *(f"{values[a, b, measure]:.4f}" for measure in measures)] for a, b in pairs]
    header = [name.replace("(", "\n(") for name in measures] if output_format == "table" else measures
    return drawn(rows, ["runs", *header], output_format)
