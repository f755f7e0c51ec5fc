"""`difference`: whether one run is better than another, and how sure that is."""

from __future__ import annotations

from typing import Literal, get_args

import click
import pandas as pd

from fire_toolkit.cli.benchmark import Given, measure_option, print_text, reads, resampling_options
from fire_toolkit.cli.common import (
    DRAWN,
    drawn,
    format_option,
    formatted,
    say_notes,
    setting_or_default,
    write_table,
)
from fire_toolkit.cli.server_options import Progress
from fire_toolkit.inference import score_differences
from fire_toolkit.inference.differences import Family
from fire_toolkit.measures import parse_measure


@click.command()
@reads("runs", "qrels", "augmented", "pool_sources")
@measure_option
@click.option(
    "--family",
    type=click.Choice(get_args(Family)),
    default="measure",
    show_default=True,
    help="What Holm corrects together: the pairs of runs under one measure and qrels, or every row.",
)
@resampling_options
@format_option
@click.option("--out", metavar="FILE", help="Also write the long table as CSV.")
def difference(
    given: Given,
    measures: tuple[str, ...],
    family: Literal["measure", "all"],
    output_format: str,
    out: str | None,
) -> None:
    """Test the differences of every two runs: interval, p-values, effect size.

    Intervals are bootstrapped over queries (or --cluster); p is exact (McNemar) for C@k, else from the
    paired randomisation test; Holm corrects p for the pairs tested together. A note says where a measure
    reads the runs to different depths.
    """
    names = tuple(setting_or_default(measures, "score", "measures"))
    with Progress() as tell:
        table, notes = score_differences(
            given.stored_runs,
            given.original,
            names,
            augmented=given.augmented_if_any,
            sources=given.sources_if_any,
            family=family,
            **given.draws,
            tell=tell,
        )
    say_notes(notes)
    text = (_drawn if output_format in DRAWN else formatted)(table, output_format)
    corrected = "every row" if family == "all" else "the pairs of runs under one measure and qrels"
    print_text(text, output_format, basis=given.basis(f"Holm over {corrected}"))
    if out:
        parameters = {
            "measures": list(names),
            "family": family,
            **given.draw_parameters,
            **given.own.parameters,
        }
        write_table(out, table, stage="difference", parameters=parameters, inputs=given.inputs)


def _drawn(table: pd.DataFrame, output_format: str) -> str:
    rows = []
    for row in table.to_dict("records"):
        scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
        shown = [
            f"{scale * row[name]:+.1f}" for name in ("difference", "low", "high") if row[name] == row[name]
        ]
        p = row["p_mcnemar"] if row["test"] == "mcnemar" else row["p_randomisation"]
        rows.append(
            [
                row["qrels"],
                row["measure"],
                f"{row['run_a']} & {row['run_b']}",
                f"{scale * row['value_a']:.1f}",
                f"{scale * row['value_b']:.1f}",
                shown[0],
                " to ".join(shown[1:]),
                row["test"],
                _p(p),
                _p(row["p_holm"]),
                "" if row["effect"] != row["effect"] else f"{row['effect']:+.2f}",
                f"{row['n_better']} : {row['n_worse']}",
            ]
        )
    header = ["qrels", "measure", "runs", "a", "b", "a - b", "95%", "test", "p", "Holm", "effect", "wins"]
    return drawn(rows, header, output_format)


def _p(value: float) -> str:
    return "" if value != value else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
