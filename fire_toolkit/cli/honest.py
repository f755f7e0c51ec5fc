"""`score --honest`: the scores with all that a reader must know to believe them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.cli.as_augmented import guideline_grade
from fire_toolkit.cli.common import say, say_notes
from fire_toolkit.cli.correction import IF_INDEPENDENT, correction_given, first_of, with_estimates
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.noise import join_with_votes
from fire_toolkit.cli.printing import drawn_cells, print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.cli.unusable import beside_usable, drawn_beside, usable_join
from fire_toolkit.inference import scores_with_uncertainty
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.trust import describe_trust
from fire_toolkit.measures import parse_measure, parse_measures
from fire_toolkit.scoring.drawn import augmented_cell, bounds_cell


class HonestRows(NamedTuple):
    """The honest rows, and what is said beside them.

    notes: on measures and bounds; corrected: on errors of votes; trusted: what a measure may be trusted for.
    """

    scores: pd.DataFrame
    notes: list[str]
    corrected: list[str]
    trusted: list[str]


def honest_rows(
    given: Given,
    measures: tuple[str, ...],
    joined: JudgedPairs,
    *,
    tell: Progress,
    policies: tuple[str, ...] = ("union",),
) -> HonestRows:
    """Return the rows of `score --honest` for what a command was given, its runs joined with the votes."""
    scores, notes = scores_with_uncertainty(
        joined,
        given.original,
        given.labels,
        measures,
        sources=given.sources_if_any,
        policies=policies,
        design=design_if_any(given),
        original_grade=given.original_grade,
        highest_grade=guideline_grade(given),
        clusters=given.clusters,
        tell=tell,
    )
    correction = correction_given(given, measures, joined, policies=policies)
    scores = with_estimates(scores, correction)
    of_first = scores[scores["policy"] == scores["policy"].iloc[0]]
    n_queries = int(given.original["query_id"].nunique())
    trusted = describe_trust(of_first, parse_measures(measures), n_queries=n_queries)
    below = [note for note in notes if note not in trusted]
    return HonestRows(scores, below, correction.notes, trusted)


def show_honest(
    given: Given, measures: tuple[str, ...], *, policies: tuple[str, ...], place: str | None
) -> None:
    """Print the honest rows and write them as CSV where `--out` says, or at `place` in the workspace."""
    with Progress() as tell:
        tell("ranks of judged docs")
        joined = join_with_votes(given, measures)
        scores, notes, corrected, trusted = honest_rows(given, measures, joined, tell=tell, policies=policies)
        usable = _over_usable(given, measures, joined, policies, tell)
    if given.sources_if_any is None:
        say("note: no pool sources given, so nothing is said about each run's own contributions")
    is_on_paper = given.form in ("latex", "markdown")
    basis = given.basis(*((*_counted(scores), *corrected) if is_on_paper else ()))
    say_notes(notes)
    table = beside_usable(scores, usable)
    trusted += ["estimates are of all queries"] if usable is not None and "estimate" in scores else []
    of_estimates = notes if is_on_paper and "estimate" in scores else []
    under = [*of_estimates, *trusted]
    print_table(table, given.form, partial(drawn_beside, draw=_drawn), basis=basis, notes=under)
    for line in (*_counted(scores), *corrected) if given.form == "table" else ():
        say(line)
    parameters = {
        "measures": list(measures),
        "policies": list(policies),
        "clusters": given.values["clusters"],
    }
    given.keep(table, "score", parameters, place=place)


def _over_usable(
    given: Given,
    measures: tuple[str, ...],
    joined: JudgedPairs,
    policies: tuple[str, ...],
    tell: Progress,
) -> pd.DataFrame | None:
    """Return the honest rows over the usable queries alone; None where none is flagged as unusable."""
    flagged = given.unusable
    alone = usable_join(flagged, joined)
    if flagged is None or alone is None:
        return None
    tables = (flagged.usable(given.original), flagged.usable(given.labels))
    grades = {"original_grade": given.original_grade, "highest_grade": guideline_grade(given)}
    options: dict[str, Any] = {"sources": given.sources_if_any, "policies": policies, **grades}
    options["clusters"] = given.clusters
    return scores_with_uncertainty(alone, *tables, measures, **options, tell=tell).scores


def _counted(scores: pd.DataFrame) -> list[str]:
    """Return for each policy what became of the original positives, as a sentence."""
    return [
        f"policy {row.policy}: of the original positives {row.confirmed:,} confirmed, "
        f"{row.rejected:,} rejected, {row.never_judged:,} never judged; {row.new:,} new positives"
        for row in scores.drop_duplicates("policy").itertuples()
    ]


def _drawn(scores: pd.DataFrame, output_format: str) -> str:
    """Return the rows as a table; the policy is named where there are several.

    Corrected scores that come first are the score and have the 95%; those as labelled stand beside them.
    Where it is not known that votes err independently, those as labelled come first, under that name.
    """
    several = scores["policy"].nunique() > 1
    unit = "%" if output_format == "table" else ""
    shown = first_of(scores)
    drop = set() if _has_estimates(shown) else {"est."}
    is_second = "estimate_method" in shown and (shown["estimate_method"] == IF_INDEPENDENT).any()
    heads = {"score": "as labelled", "95%": "95% as labelled"} if is_second else {}
    rows = []
    for row in shown.to_dict("records"):
        cells = ({"policy": row["policy"]} if several else {}) | _cells(row, unit)
        rows.append({heads.get(name, name): cell for name, cell in cells.items() if name not in drop})
    return drawn_cells(rows, output_format)


def _has_estimates(scores: pd.DataFrame) -> bool:
    """Return whether any row has an estimate, or a reason why there is none."""
    return "estimate" in scores and bool(
        (scores["estimate"].notna() | (scores["estimate_method"] != "")).any()
    )


def _cells(row: Mapping[Any, Any], unit: str) -> dict[str, str]:
    """Return the cells of an honest row: shares times 100, one decimal."""
    scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
    value = {name: scale * row[name] for name in _SCALED}
    labelled = row.get("labelled")
    beside = (
        {}
        if labelled is None
        else {"as labelled": f"{scale * labelled:.1f}" if labelled == labelled else "same"}
    )
    return {
        "measure": row["measure"],
        "run": row["run_id"] + (" (not pooled)" if row["pooled"] == "no" else ""),
        "score": augmented_cell(value["augmented"], value["original"], value["delta"]),
        "95%": _range(value["low"], value["high"]) or "not known",
        **beside,
        "95% of gain": _range(value["delta_low"], value["delta_high"]) or "not known",
        "condensed": f"{value['condensed']:.1f}",
        "if unjudged": bounds_cell(value["lower"], value["upper"]),
        "judged": f"{100 * row['judged']:.0f}{unit}",
        "w/o own": _with_change(value["without_own"], value["own_change"]),
    } | (_estimate_cells(row, scale, unit) if "estimate" in row else {})


def _estimate_cells(row: Mapping[Any, Any], scale: int, unit: str) -> dict[str, str]:
    """Return the cells of an estimate, and of the share of positives that was never judged."""
    value, low, high = (scale * row[name] for name in ("estimate", "estimate_low", "estimate_high"))
    method = row["estimate_method"]
    shown = f"{value:.1f} ({_range(low, high)})" if value == value else method.split(":")[0]
    shown += f", {method}" if method == IF_INDEPENDENT else ""
    if "missing" not in row:
        return {"est.": shown}
    missing = row["missing"]
    return {"est.": shown, "never judged": "" if missing != missing else f"{100 * missing:.0f}{unit}"}


_SCALED = ("original", "augmented", "delta", "low", "high", "delta_low", "delta_high", "condensed", "lower",
           "upper", "without_own", "own_change")  # fmt: skip


def _with_change(value: float, change: float) -> str:
    return "" if value != value else f"{value:.1f} ({round(change, 1) + 0.0:+.1f})"


def _range(low: float, high: float) -> str:
    return "" if low != low else f"{low:.1f} to {high:.1f}"
