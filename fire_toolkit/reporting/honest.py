"""The honest rows: scores with all that a reader must know to believe them, corrected where that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from fire_toolkit.inference.background import FLAG, Unusable
from fire_toolkit.inference.correction import IF_INDEPENDENT, first_of
from fire_toolkit.inference.honest import HonestRows
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.reporting.plots import points
from fire_toolkit.reporting.templates import limits
from fire_toolkit.results import Found, drawn_text
from fire_toolkit.scoring.drawn import augmented_cell, bounds_cell
from fire_toolkit.scoring.score import score_runs
from fire_toolkit.tables import Qrels, Scores

USABLE = "usable"  # the query_id of a mean over the usable queries
_VALUES = ["original", "augmented", "delta", "low", "high", "delta_low", "delta_high", "condensed", "lower",
           "upper", "without_own", "own_change", "labelled", "estimate", "estimate_low",
           "estimate_high"]  # fmt: skip


def show_honest(rows: HonestRows, *, place: str = "") -> Found:
    """Return the honest rows as a command shows them, with all that is said of them; place: see `Found`."""
    counted = [
        f"policy {row['policy']}: of the original positives {row['confirmed']:,} confirmed, "
        f"{row['rejected']:,} rejected, {row['disputed']:,} in dispute, "
        f"{row['never_judged']:,} never judged; {row['new']:,} new positives".replace(" 0 in dispute,", "")
        for row in rows.scores.drop_duplicates("policy").to_dict("records")
    ]
    notes = [*rows.notes, *rows.trusted, *counted, *rows.correction.notes]
    if (rows.scores["pooled"] == "").all():
        notes.insert(0, "no pool sources given, so nothing is said about each run's own contributions")
    table = beside_usable(rows.scores, rows.usable)
    return Found({"honest": table}, notes, draw=partial(drawn_beside, draw=_drawn), place=place)


def _drawn(scores: pd.DataFrame, form: str) -> str:
    cells = honest_cells(first_of(scores), unit="%" if form == "table" else "")
    return drawn_text([list(row.values()) for row in cells], list(cells[0]), form)


def in_points(scores: pd.DataFrame) -> pd.DataFrame:
    """Return rows with their values as they are shown: shares times 100."""
    names = [name for name in _VALUES if name in scores]
    scale = scores["measure"].map(points)
    return scores.assign(**{name: scores[name] * scale for name in names})


def honest_cells(scores: pd.DataFrame, *, unit: str) -> list[dict[str, str]]:
    """Return the cells of each row as text, by their headings; the policy is named where there are several.

    Corrected scores that come first are the score and have the 95%; those as labelled stand beside them.
    Where it is not known that votes err independently, those as labelled come first, under that name.

    Args:
        scores: as `first_of` returns them.
        unit: after shares that are not times 100.
    """
    several = scores["policy"].nunique() > 1
    method = scores.get("estimate_method", pd.Series(dtype="str"))
    heads = {"score": "as labelled", "95%": "95% as labelled"} if (method == IF_INDEPENDENT).any() else {}
    has_estimates = "estimate" in scores and bool((scores["estimate"].notna() | (method != "")).any())
    rows = []
    for row in in_points(scores).to_dict("records"):
        cells = ({"policy": row["policy"]} if several else {}) | _cells(row, unit)
        if not has_estimates:
            cells.pop("est.", None)
        rows.append({heads.get(name, name): cell for name, cell in cells.items()})
    return rows


def _cells(row: Mapping[Any, Any], unit: str) -> dict[str, str]:
    cells = {
        "measure": row["measure"],
        "run": row["run_id"] + (" (not pooled)" if row["pooled"] == "no" else ""),
        "score": augmented_cell(row["augmented"], row["original"], row["delta"]),
        "95%": limits(row["low"], row["high"]) or "not known",
    }
    if "labelled" in row:
        cells["as labelled"] = f"{row['labelled']:.1f}" if row["labelled"] == row["labelled"] else "same"
    own = row["without_own"]
    cells |= {
        "95% of gain": limits(row["delta_low"], row["delta_high"]) or "not known",
        "condensed": f"{row['condensed']:.1f}",
        "if unjudged": bounds_cell(row["lower"], row["upper"]),
        "judged": f"{100 * row['judged']:.0f}{unit}",
        "w/o own": f"{own:.1f} ({round(row['own_change'], 1) + 0.0:+.1f})" if own == own else "",
    }
    if "estimate" in row:
        value, method = row["estimate"], row["estimate_method"]
        interval = limits(row["estimate_low"], row["estimate_high"])
        cells["est."] = f"{value:.1f} ({interval})" if value == value else method.split(":")[0]
        cells["est."] += f", {method}" if method == IF_INDEPENDENT else ""
    if "missing" in row:
        share = row["missing"]
        cells["never judged"] = f"{100 * share:.0f}{unit}" if share == share else ""
    return cells


def usable_scores(
    flagged: Unusable | None,
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels | None,
    measures: Sequence[str],
    **ordered: Any,
) -> Scores | None:
    """Return the scores over the usable queries, under the query id `usable`; None where none is flagged.

    ordered: how docs of equal score stand, as `score_runs` takes it.
    """
    if flagged is None or flagged.policy != FLAG or augmented is None or not len(flagged.queries):
        return None
    left = flagged.usable(original)
    if not len(left):
        return None
    found = score_runs(runs, left, measures, augmented=flagged.usable(augmented), **ordered)
    return Scores(found.scores.assign(query_id=USABLE))


def beside_usable(table: pd.DataFrame, usable: pd.DataFrame | None) -> pd.DataFrame:
    """Return rows over all queries and over the usable ones, told apart by the column `queries`.

    The table alone, without that column, where there are none over usable queries.
    """
    if usable is None:
        return table
    parts = [table.assign(queries="all"), usable.assign(queries=USABLE)]
    return pd.concat([part.set_index("queries").reset_index() for part in parts], ignore_index=True)


def drawn_beside(table: Any, form: str, draw: Callable[[Any, str], str], column: str = "queries") -> str:
    """Return a table as text, below it the rows that `column` says are over the usable queries alone."""
    if column not in table or not (is_usable := table[column] == USABLE).any():
        return draw(table, form)
    estimated = [name for name in table if str(name).startswith(("estimate", "missing"))]  # of all queries
    usable = table[is_usable].drop(columns=estimated).assign(**{column: "all"})
    over_all, usable = (part.drop(columns="queries", errors="ignore") for part in (table[~is_usable], usable))
    words = "usable queries alone, as labelled"
    heading = f"% {words}\n" if form == "latex" else f"\n{words}:\n\n"
    return draw(over_all, form) + heading + draw(usable, form)
