"""What measures see of a run joined with qrels, each by its own level, condensed or not, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import SETTLING_RULES, TiedRanking
from fire_toolkit.measures.definition import Measure


def values_of(
    tied: TiedRanking, measures: Sequence[Measure], rule: str | None = None, *, queries: Ints | None = None
) -> Floats:
    """Return the value of each measure for each query: measures × queries.

    Args:
        tied: the ranking with its ties.
        measures: one or more.
        rule: one of `TIE_RULES`; `expected` is the mean of each measure over all orders of tied docs; None
            leaves the order of the run.
        queries: only these (ascending) are wanted, and become 0, 1, ...; None: all.
    """
    views: dict[tuple[int, bool], JudgedRanking] = {}
    rows = []
    for measure in measures:
        key = measure.level, measure.condensed
        if key not in views:
            views[key] = settled_view(measure, tied, rule, queries=queries)
        values = measure.per_query(views[key])
        if rule == "expected":  # queries without tied docs have the value of their one order
            values = values.copy()
            values[tied.tied_queries] = measure.per_query(tied_view(tied.of(tied.tied_queries), measure))
        rows.append(values)
    return np.stack(rows)


def settled_view(
    measure: Measure, tied: TiedRanking, rule: str | None, *, queries: Ints | None = None
) -> JudgedRanking:
    """Return the ranking as the measure's modifiers have it, ties settled after them; see `values_of`.

    Rules that are not among `SETTLING_RULES` leave the order of the run.
    """
    seen = tied_view(tied, measure) if rule in SETTLING_RULES and tied.has_ties else None
    if seen is not None:
        return (seen if queries is None else seen.of(queries)).settled(str(rule))
    ranking = measure.view(tied.ranking)
    return ranking if queries is None else ranking.of(queries)


def tied_view(tied: TiedRanking, measure: Measure) -> TiedRanking:
    """Return the ranking as the measure's modifiers have it, with its ties."""
    ranking = measure.view(tied.ranking)
    return tied.condensed(ranking) if measure.condensed else replace(tied, ranking=ranking)
