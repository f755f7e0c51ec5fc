"""What measures see of a run joined with qrels, each by its own level, condensed or not, and their values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import SETTLING_RULES, settled
from fire_toolkit.measures.definition import Measure


def values_of(
    ranking: JudgedRanking,
    measures: Sequence[Measure],
    rule: str | None = None,
    *,
    queries: Ints | None = None,
) -> Floats:
    """Return the value of each measure for each query: measures × queries.

    Args:
        ranking: with its ties, where there is a rule for them.
        measures: one or more.
        rule: one of `TIE_RULES`; those of `SETTLING_RULES` are applied to what a measure's modifiers leave;
            `expected` is the mean of each measure over all orders of tied docs; others, and None, leave the
            order of the run.
        queries: only these (ascending) are wanted, and become 0, 1, ...; None: all.
    """
    views: dict[tuple[int, bool], JudgedRanking] = {}
    rows = []
    for measure in measures:
        key = measure.level, measure.condensed
        if key not in views:
            view = measure.view(ranking)
            view = view if queries is None else view.of(queries)
            is_settled = rule in SETTLING_RULES and ranking.tied_queries.size > 0
            views[key] = settled(view, str(rule)) if is_settled else view.in_order
        values = measure.per_query(views[key])
        if rule == "expected":  # queries without tied docs have the value of their one order
            values = values.copy()
            values[ranking.tied_queries] = measure.per_query(measure.view(ranking.of(ranking.tied_queries)))
        rows.append(values)
    return np.stack(rows)
