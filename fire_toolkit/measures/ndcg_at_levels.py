"""Rndcg: nDCG averaged over the ranks at which the ideal ranking passes from one grade to the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fire_toolkit.arrays import (
    Floats,
    Ints,
    count_by_query,
    running_count,
    share,
    starts_of_groups,
    sum_by_query,
)
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_gain
from fire_toolkit.measures.gains import ideal_gain, log_of_next


def ndcg_at_levels(ranking: JudgedRanking) -> Floats:
    """Return the mean of DCG / ideal DCG at the last place of each grade, and at the end of the list."""
    found = ranking.found
    gains = found.grade / log_of_next(found.rank)

    def gain_to(last: Ints) -> Floats:
        is_in = found.rank <= last[found.query]
        return sum_by_query(found.query[is_in], gains[is_in], ranking.n_queries)

    return _mean_of_levels(ranking, gain_to)


def expected_ndcg_at_levels(tied: TiedRanking) -> Floats:
    """Return its mean over all orders of tied docs."""
    return _mean_of_levels(tied.ranking, lambda last: expected_gain(tied, discount=log_of_next, k=last))


def _mean_of_levels(ranking: JudgedRanking, gain_to: Callable[[Ints], Floats]) -> Floats:
    """Return the mean over levels of the gain down to each level's last place over its ideal."""
    query, grade = ranking.ideal.query, ranking.ideal.grade
    starts = starts_of_groups(query, grade)
    ends = ranking.ideal.place[starts + np.diff(starts, append=query.size) - 1]
    query = query[starts]
    level = running_count(query) - 1
    total = np.zeros(ranking.n_queries)
    for number in range(int(level.max(initial=-1)) + 1):
        own = level == number
        last = np.zeros(ranking.n_queries, dtype=np.int64)
        last[query[own]] = ends[own]
        is_in = ranking.ideal.place <= last[ranking.ideal.query]
        gains = ranking.ideal.grade[is_in] / log_of_next(ranking.ideal.place[is_in])
        total += share(gain_to(last), sum_by_query(ranking.ideal.query[is_in], gains, ranking.n_queries))
    n_levels = count_by_query(query, ranking.n_queries)
    goes_on = ranking.n_retrieved > ranking.n_positives + 1
    whole = share(gain_to(ranking.n_retrieved), ideal_gain(ranking, discount=log_of_next))
    return share(total + np.where(goes_on, whole, 0.0), np.where(n_levels > 0, n_levels + goes_on, 0))


RNDCG = Definition(
    name="Rndcg",
    summary="nDCG, averaged over the ranks at which the ideal ranking passes to a lower grade and over the "
    "end of the list.",
    source="trec_eval Rndcg.",
    convention="With a positives of grade 2 and b of grade 1 the ranks are a and a + b. The end of the list "
    "counts where the list is longer than a + b + 1. 0 for a query without a positive.",
    per_query=ndcg_at_levels,
    expected=expected_ndcg_at_levels,
    is_graded=True,
)

MEASURES = (RNDCG,)
