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
            seen: JudgedRanking | TiedRanking = measure.view(tied.ranking)
            if rule in SETTLING_RULES and tied.tied_queries.size:
                seen = tied_view(tied, measure)
            seen = seen if queries is None else seen.of(queries)
            views[key] = seen.settled(str(rule)) if isinstance(seen, TiedRanking) else seen
        values = measure.per_query(views[key])
        if rule == "expected":  # queries without tied docs have the value of their one order
            values = values.copy()
            values[tied.tied_queries] = measure.per_query(tied_view(tied.of(tied.tied_queries), measure))
        rows.append(values)
    return np.stack(rows)


def tied_view(tied: TiedRanking, measure: Measure) -> TiedRanking:
    """Return the ranking as the measure's modifiers have it, with its ties."""
    ranking = measure.view(tied.ranking)
    return tied.condensed(ranking) if measure.condensed else replace(tied, ranking=ranking)
