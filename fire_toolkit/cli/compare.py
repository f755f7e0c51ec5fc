"""`compare`: runs against one another."""

from __future__ import annotations

from typing import Any

import click

from fire_toolkit.cli.common import DRAWN, drawn, format_option, say_notes, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import choice_option, out_option, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.inference.compare import BROKEN, compare_runs
from fire_toolkit.inference.tied_lists import VARIANTS
from fire_toolkit.tables import Comparisons


@click.command()
@reads("runs", "own_item", queries="The queries, with their own items.")
@click.option(
    "--depth",
    "depths",
    type=click.IntRange(min=1),
    multiple=True,
    help="Compare the docs down to this rank (may be repeated). [default: 10]",
)
@click.option(
    "--rbo-p",
    "persistences",
    type=float,
    multiple=True,
    help="RBO's persistence, between 0 and 1 (may be repeated). [default: 0.9]",
)
@choice_option(
    "--ties",
    [BROKEN, *VARIANTS],
    "Docs of equal score: in rank order, or tied (variants of Corsi and Urbano 2024).",
)
@click.option("--per-query", is_flag=True, help="Also give the value of each query.")
@format_option
@out_option
def compare(
    given: Given, depths: tuple[int, ...], persistences: tuple[float, ...], ties: str, per_query: bool
) -> None:
    """Compare the rankings of two runs or more, pair by pair: overlap and rank-biased overlap.

    Values are means over the queries that both runs have, from 0 (disjoint) to 1 (the same). The measures
    are fixed: overlap and average overlap at each --depth, and RBO (truncated, extrapolated, least and
    residual) for each --rbo-p. No qrels are needed; `difference -m` compares the scores of runs.
    """
    depths = depths or (int(setting_or_default(None, "compare", "depth")),)
    persistences = persistences or (float(setting_or_default(None, "compare", "rbo_p")),)
    tables = given.runs_to(max(depths))
    result = compare_runs(tables, depth=depths, rbo_p=persistences, ties=ties, per_query=per_query)
    say_notes(result.notes)
    form = "csv" if given.form in DRAWN and per_query else given.form
    basis = given.basis_of_lists(tables, depth=", ".join(map(str, depths)), ties=ties)
    print_table(result.comparisons, form, _drawn, basis=basis)
    is_usual = not (per_query or given.values["runs"] or given.values["own_item"])
    parameters = {"depth": _one(depths), "rbo_p": _one(persistences), "ties": ties}
    place = "comparison/comparison.csv" if is_usual else None
    given.keep(result.comparisons, "compare", parameters, place=place)


def _one(values: tuple[Any, ...]) -> Any:
    """A single value as itself, as it stands in fire.toml."""
    return values[0] if len(values) == 1 else list(values)


def _drawn(comparisons: Comparisons, output_format: str) -> str:
    keys = zip(*(comparisons[name] for name in ("run_a", "run_b", "measure")), strict=True)
    values = dict(zip(keys, comparisons["value"], strict=True))
    measures = list(dict.fromkeys(comparisons["measure"]))
    pairs = dict.fromkeys(zip(comparisons["run_a"], comparisons["run_b"], strict=True))
    rows = [[f"{a} & {b}", *(f"{values[a, b, measure]:.4f}" for measure in measures)] for a, b in pairs]
    header = [name.replace("(", "\n(") for name in measures] if output_format == "table" else measures
    return drawn(rows, ["runs", *header], output_format)
