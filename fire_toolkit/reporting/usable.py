"""Scores and rows over the usable queries alone, beside those over all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.inference.background import FLAG, Unusable
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.scoring.score import score_runs
from fire_toolkit.tables import Qrels, Scores

USABLE = "usable"  # the query_id of a mean over the usable queries


def with_usable_scores(scores: Scores, *found: Any, **ordered: Any) -> Scores:
    """Return scores and, where queries are flagged as unusable, those of `usable_scores` below them."""
    usable = usable_scores(*found, **ordered)
    return scores if usable is None else Scores(pd.concat([scores, usable]))


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


def drawn_beside(table: pd.DataFrame, form: str, draw: Callable[[Any, str], str]) -> str:
    """Return what `beside_usable` made as text: the rows over all queries, below them the others."""
    if "queries" not in table:
        return draw(table, form)
    is_usable = table["queries"] == USABLE
    parts = [table[~is_usable].drop(columns="queries"), table[is_usable].drop(columns="queries")]
    estimated = [name for name in table if str(name).startswith(("estimate", "missing"))]
    parts[1] = parts[1].drop(columns=estimated)  # estimates are of all queries
    over_all, usable = (draw(part, form) for part in parts)
    return over_all + heading_of_usable(form) + usable


def heading_of_usable(form: str) -> str:
    """Return what stands above a table over the usable queries."""
    return "% usable queries alone\n" if form == "latex" else "\nusable queries alone:\n\n"
