"""`difference`: whether one run is better than another, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, get_args

import click
import pandas as pd

from fire_toolkit.cli.common import format_option, say_notes, setting_or_default
from fire_toolkit.cli.correction import (
    augmented_by_design,
    correction_by_design,
    is_corrected,
    with_corrected_differences,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.noise import join_with_votes
from fire_toolkit.cli.options import (
    accept_unpooled_option,
    choice_option,
    cluster_options,
    measure_option,
    out_option,
    reads,
)
from fire_toolkit.cli.printing import drawn_cells, print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.sampled_qrels import check_settled
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.cli.unusable import beside_usable, drawn_beside, usable_join
from fire_toolkit.inference import score_differences
from fire_toolkit.inference.differences import Family
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.measures import parse_measure


@click.command()
@reads("runs", "qrels", "augmented", "labels", "pool_sources", "own_item")
@measure_option
@choice_option(
    "--family",
    get_args(Family),
    "What Holm corrects together: the pairs of runs under one measure and qrels, or every row.",
)
@cluster_options
@format_option
@out_option
@accept_unpooled_option
def difference(
    given: Given, measures: tuple[str, ...], family: Literal["measure", "all"], accept_unpooled: bool
) -> None:
    """Test the differences of every two runs: interval, p-value, effect size.

    Interval and p come from one method, so that 0 lies outside the interval where p is below .05: the
    score method for C@k (Tango; McNemar) and where few queries differ, else Student's t over queries (or
    --cluster). Holm corrects p for the pairs tested together. A note says where a measure reads the runs to
    different depths.

    Where a sample of queries was judged deep (pool --deep-queries), the difference of AP, nDCG and R@k is
    also estimated from it, with an interval (est. a - b); where pairs were drawn in strata, that of P@k.

    Where labels say by which design votes were doubled, C@k and P@k are also compared as corrected for errors
    of votes, with an interval and a test that agree (qrels corrected). They come first once fourth votes show
    that votes err independently.
    """
    names = tuple(setting_or_default(measures, "score", "measures"))
    check_settled(given, names, accept=accept_unpooled)
    design = None if given.augmented_if_any is None else design_if_any(given)
    qrels = [each for each in (given.original, given.augmented_if_any) if each is not None]
    options: dict[str, Any] = {"sources": given.sources_if_any, "family": family}
    options["clusters"] = given.clusters
    with Progress() as tell:
        has_design = augmented_by_design(given)
        joined = join_with_votes(given, names, *qrels) if has_design else join_runs(given.stored_runs, *qrels)
        table, notes = score_differences(
            joined,
            given.original,
            names,
            augmented=given.augmented_if_any,
            design=None if design is None or design.sample is not None else design,  # a judge's says none
            **options,
            tell=tell,
        )
        correction = correction_by_design(given, names, joined) if has_design else None
        table = with_corrected_differences(table, correction) if correction else table
        alone = usable_join(given.unusable, joined)
        if given.unusable is not None and alone is not None:
            original, *rest = map(given.unusable.usable, qrels)
            augmented = rest[0] if rest else None
            found = score_differences(alone, original, names, augmented=augmented, **options, tell=tell)
            table = beside_usable(table, found.table)
    say_notes([*notes, *correction.notes] if correction else notes)
    corrected = "every row" if family == "all" else "the pairs of runs under one measure and qrels"
    draw = partial(drawn_beside, draw=_drawn)
    under = notes if given.form in ("latex", "markdown") and "estimate" in table else ()
    print_table(table, given.form, draw, basis=given.basis(f"Holm over {corrected}"), notes=under)
    parameters = {"measures": list(names), "family": family}
    given.keep(table, "difference", parameters | {"clusters": given.values["clusters"]})


def _drawn(table: pd.DataFrame, output_format: str) -> str:
    corrected = set(table.loc[table["qrels"].map(is_corrected), "measure"])
    return drawn_cells([_cells(row, corrected) for row in table.to_dict("records")], output_format)


def _cells(row: Mapping[Any, Any], corrected: set[str]) -> dict[str, str]:
    """Return a difference's cells: shares times 100. corrected: the measures with corrected scores beside."""
    is_labelled = row["measure"] in corrected and row["qrels"] == "augmented"
    labelling = "as labelled" if is_labelled else str(row["qrels"]).replace("_", " ")
    scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
    shown = [f"{scale * row[name]:+.1f}" for name in ("difference", "low", "high") if row[name] == row[name]]
    return {
        "qrels": labelling,
        "measure": row["measure"],
        "runs": f"{row['run_a']} & {row['run_b']}",
        "a": f"{scale * row['value_a']:.1f}",
        "b": f"{scale * row['value_b']:.1f}",
        "a - b": shown[0],
        "95%": " to ".join(shown[1:]) or "not known",
        "test": row["test"],
        "p": _p(row["p"]),
        "Holm": _p(row["p_holm"]),
        "effect": "" if row["effect"] != row["effect"] else f"{row['effect']:+.2f}",
        "wins": "" if is_corrected(row["qrels"]) else f"{row['n_better']} : {row['n_worse']}",
    } | ({"est. a - b": _estimate(row, scale)} if "estimate" in row else {})


def _estimate(row: Mapping[Any, Any], scale: int) -> str:
    value, low, high = (scale * row[name] for name in ("estimate", "estimate_low", "estimate_high"))
    if value == value:
        return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    return (
        str(row["estimate_method"]).split(":")[0] if row["estimate_method"] == row["estimate_method"] else ""
    )


def _p(value: float) -> str:
    return "" if value != value else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
