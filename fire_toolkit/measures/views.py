"""What measures see of a run joined with qrels, each by its own level, condensed or not, and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import SETTLING_RULES, TiedRanking
from fire_toolkit.measures.definition import Measure


def score_views(view: Callable[[Measure], JudgedRanking], measures: Sequence[Measure]) -> Floats:
    """Return the value of each measure for each query: measures × queries.

    Args:
        view: returns what a measure is computed on; asked once for each level and form of list.
        measures: one or more.
    """
    views: dict[tuple[int, bool], JudgedRanking] = {}
    rows = []
    for measure in measures:
        key = (measure.level, measure.condensed)
        if key not in views:
            views[key] = view(measure)
        rows.append(measure.per_query(views[key]))
    return np.stack(rows)


def settled_view(
    measure: Measure, tied: TiedRanking, rule: str | None, *, queries: Ints | None = None
) -> JudgedRanking:
    """Return the ranking as the measure's modifiers have it, ties settled after them.

    Args:
        measure: its level and whether lists are condensed.
        tied: the ranking with its ties.
        rule: one of `TIE_RULES`; None, and those not in `SETTLING_RULES`, leave the order of the run.
        queries: only these (ascending) are wanted, and become 0, 1, ...; None: all.
    """
    if rule is None or rule not in SETTLING_RULES or not tied.has_ties:
        ranking = measure.view(tied.ranking)
        return ranking if queries is None else ranking.of(queries)
    seen = tied_view(tied, measure)
    return (seen if queries is None else seen.of(queries)).settled(rule)


def tied_view(tied: TiedRanking, measure: Measure) -> TiedRanking:
    """Return the ranking as the measure's modifiers have it, with its ties."""
    ranking = measure.view(tied.ranking)
    return tied.condensed(ranking) if measure.condensed else replace(tied, ranking=ranking)


def expected_values(tied: TiedRanking, measures: Sequence[Measure]) -> Floats:
    """Return the mean of each measure over all orders of tied docs: measures × queries.

    Queries without tied docs have the value of their one order.
    """
    with_ties = tied.of(tied.tied_queries)
    rows = []
    for measure in measures:
        values = measure.per_query(measure.view(tied.ranking)).copy()
        values[tied.tied_queries] = measure.per_query(tied_view(with_ties, measure))
        rows.append(values)
    return np.stack(rows)
