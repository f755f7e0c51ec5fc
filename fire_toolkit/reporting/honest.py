"""The honest rows: scores with all that a reader must know to believe them, corrected where that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.inference import scores_with_uncertainty
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.correction import (
    IF_INDEPENDENT,
    correct_for_errors,
    first_of,
    join_with_votes,
    with_estimates,
)
from fire_toolkit.inference.judged_pairs import Runs, Tell, silent
from fire_toolkit.inference.trust import describe_trust
from fire_toolkit.measures import parse_measure, parse_measures
from fire_toolkit.reporting.usable import beside_usable, drawn_beside
from fire_toolkit.results import Found, drawn_text
from fire_toolkit.scoring.drawn import augmented_cell, bounds_cell
from fire_toolkit.tables import Labels, PoolSources, Qrels


class HonestRows(NamedTuple):
    """The honest rows, and what is said beside them.

    usable: the rows over the usable queries alone, None where none is flagged as unusable; notes: on measures
    and bounds; corrected: on errors of votes; trusted: what a measure may be trusted for.
    """

    scores: pd.DataFrame
    usable: pd.DataFrame | None
    notes: Sequence[str]
    corrected: Sequence[str]
    trusted: Sequence[str]


def honest_rows(
    runs: Runs,
    original: Qrels,
    labels: Labels | None,
    measures: Sequence[str],
    background: Background,
    *,
    policies: Sequence[str] = ("union",),
    sources: PoolSources | None = None,
    clusters: pd.Series | None = None,
    tell: Tell = silent,
) -> HonestRows:
    """Return the honest rows of runs, see `scores_with_uncertainty`.

    Args:
        runs: the runs, or what `join_with_votes` returned.
        original: the original qrels.
        labels: of judged pairs.
        measures: names.
        background: of the labels.
        policies: on rejected originals.
        sources: which run pooled which pair.
        clusters: index query_id, values the cluster of the query, where whole clusters were drawn.
        tell: is told what is being worked on.
    """
    if labels is None:
        raise UsageError("honest rows are made of labels; expected labels")
    tell("ranks of judged docs")
    joined = join_with_votes(runs, original, labels, background, measures)
    options: dict[str, Any] = {"sources": sources, "clusters": clusters, "policies": policies}
    known: dict[str, Any] = {
        "original_grade": background.original_grade,
        "highest_grade": background.highest_grade,
        "tell": tell,
    }
    found = scores_with_uncertainty(
        joined, original, labels, measures, design=background.design, **options, **known
    )
    correction = correct_for_errors(joined, original, labels, measures, background, **options)
    scores = with_estimates(found.scores, correction)
    of_first = scores[scores["policy"] == scores["policy"].iloc[0]]
    n_queries = int(original["query_id"].nunique())
    trusted = describe_trust(of_first, parse_measures(measures), n_queries=n_queries)
    below = [note for note in found.notes if note not in trusted]
    usable = None
    if (alone := background.usable_join(joined)) is not None:
        before, counted = background.usable(original, labels)
        usable = scores_with_uncertainty(alone, before, counted, measures, **options, **known).scores
        trusted += ["estimates are of all queries"] if "estimate" in scores else []
    return HonestRows(scores, usable, below, correction.notes, trusted)


def show_honest(rows: HonestRows, *, place: str = "") -> Found:
    """Return the honest rows as a command shows them, with all that is said of them; place: see `Found`."""
    notes = [*rows.notes, *rows.trusted, *_counted(rows.scores), *rows.corrected]
    if (rows.scores["pooled"] == "").all():
        notes.insert(0, "no pool sources given, so nothing is said about each run's own contributions")
    table = beside_usable(rows.scores, rows.usable)
    return Found({"honest": table}, notes, draw=partial(drawn_beside, draw=_drawn), place=place)


def _counted(scores: pd.DataFrame) -> list[str]:
    """Return for each policy what became of the original positives, as a sentence."""
    return [
        f"policy {row.policy}: of the original positives {row.confirmed:,} confirmed, "
        f"{row.rejected:,} rejected, {row.never_judged:,} never judged; {row.new:,} new positives"
        for row in scores.drop_duplicates("policy").itertuples()
    ]


def _drawn(scores: pd.DataFrame, form: str) -> str:
    """Return the rows as a table; the policy is named where there are several.

    Corrected scores that come first are the score and have the 95%; those as labelled stand beside them.
    Where it is not known that votes err independently, those as labelled come first, under that name.
    """
    several = scores["policy"].nunique() > 1
    unit = "%" if form == "table" else ""
    shown = first_of(scores)
    drop = set() if _has_estimates(shown) else {"est."}
    is_second = "estimate_method" in shown and (shown["estimate_method"] == IF_INDEPENDENT).any()
    heads = {"score": "as labelled", "95%": "95% as labelled"} if is_second else {}
    rows = []
    for row in shown.to_dict("records"):
        cells = ({"policy": row["policy"]} if several else {}) | _cells(row, unit)
        rows.append({heads.get(name, name): cell for name, cell in cells.items() if name not in drop})
    return drawn_text([list(row.values()) for row in rows], list(rows[0]), form)


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
