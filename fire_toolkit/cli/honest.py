"""`score --honest`: the scores with all that a reader must know to believe them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.cli.benchmark import Given, print_text
from fire_toolkit.cli.common import DRAWN, drawn, formatted, say, say_notes, write_table
from fire_toolkit.cli.server_options import Progress
from fire_toolkit.inference import scores_with_uncertainty
from fire_toolkit.measures import parse_measure
from fire_toolkit.scoring.drawn import augmented_cell


def show_honest(
    given: Given,
    measures: tuple[str, ...],
    *,
    policies: tuple[str, ...],
    output_format: str,
    out: Path | None,
) -> None:
    """Print the honest rows and, if asked for, write them as CSV."""
    with Progress() as tell:
        scores, notes = scores_with_uncertainty(
            given.stored_runs,
            given.original,
            given.labels,
            measures,
            sources=given.sources_if_any,
            policies=policies,
            **given.draws,
            tell=tell,
        )
    say_notes(notes)
    if given.sources_if_any is None:
        say("note: no pool sources given, so nothing is said about each run's own contributions")
    text = (drawn_honest if output_format in DRAWN else formatted)(scores, output_format)
    is_on_paper = output_format in ("latex", "markdown")
    print_text(text, output_format, basis=given.basis(*(counted(scores) if is_on_paper else ())))
    for line in counted(scores) if output_format == "table" else ():
        say(line)
    if out:
        parameters = {
            "measures": list(measures),
            "policies": list(policies),
            **given.draw_parameters,
            **given.own.parameters,
        }
        write_table(out, scores, stage="score", parameters=parameters, inputs=given.inputs)


def counted(scores: pd.DataFrame) -> list[str]:
    """Return for each policy what became of the original positives, as a sentence."""
    return [
        f"policy {row.policy}: of the original positives {row.confirmed:,} confirmed, "
        f"{row.rejected:,} rejected, {row.never_judged:,} never judged; {row.new:,} new positives"
        for row in scores.drop_duplicates("policy").itertuples()
    ]


def drawn_honest(scores: pd.DataFrame, output_format: str) -> str:
    """Return the rows as a table: shares times 100, one decimal."""
    header = [
        "measure",
        "run",
        "score",
        "95%",
        "95% of gain",
        "condensed",
        "if unjudged",
        "judged",
        "w/o own",
    ]
    several = scores["policy"].nunique() > 1
    rows = []
    for row in scores.to_dict("records"):
        scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
        value = {name: scale * row[name] for name in _SCALED}
        cells = [
            row["measure"],
            row["run_id"] + (" (not pooled)" if row["pooled"] == "no" else ""),
            augmented_cell(value["augmented"], value["original"], value["delta"]),
            _range(value["low"], value["high"]),
            _range(value["delta_low"], value["delta_high"]),
            f"{value['condensed']:.1f}",
            _range(value["lower"], value["upper"]) or "no bound",
            f"{100 * row['judged']:.0f}%" if output_format == "table" else f"{100 * row['judged']:.0f}",
            _with_change(value["without_own"], value["own_change"]),
        ]
        rows.append([row["policy"], *cells] if several else cells)
    return drawn(rows, ["policy", *header] if several else header, output_format)


_SCALED = ("original", "augmented", "delta", "low", "high", "delta_low", "delta_high", "condensed", "lower",
           "upper", "without_own", "own_change")  # fmt: skip


def _with_change(value: float, change: float) -> str:
    return "" if value != value else f"{value:.1f} ({round(change, 1) + 0.0:+.1f})"


def _range(low: float, high: float) -> str:
    return "" if low != low else f"{low:.1f} to {high:.1f}"
