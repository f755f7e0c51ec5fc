"""What measures read of a ranking: how many positives, their gains and precisions, the rank of the first.

Each is a function of a JudgedRanking and, of one with ties, the mean over all orders of docs of equal score
(see `Places`). So a measure that is linear in one of these is written once, and has that mean without more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Ints, sum_by_query
from fire_toolkit.matching.coded import Discount, at_ranks
from fire_toolkit.matching.judged_ranking import JudgedRanking

Cut = int | Ints | None  # one for all queries, one for each, or none
_CELLS = 1 << 16


def count_found(ranking: JudgedRanking, k: Cut) -> Floats:
    """Return how many positives the top k of each query holds."""
    found = ranking.found.to(k)
    return sum_by_query(found.query, found.weight, ranking.n_queries)


def sum_gains(ranking: JudgedRanking, discount: Discount, k: Cut = None) -> Floats:
    """Return Σ grade / discount(rank) over the positives of the top k of each query."""
    found = ranking.found.to(k)
    gains = found.weight * found.grade / at_ranks(found.rank, discount)
    return sum_by_query(found.query, gains, ranking.n_queries)


def sum_precisions(ranking: JudgedRanking, k: Cut = None) -> Floats:
    """Return Σ precision at the rank of each positive of the top k of each query."""
    found = ranking.found.to(k)
    return sum_by_query(found.query, found.weight * found.place / found.rank, ranking.n_queries)


def value_of_first(ranking: JudgedRanking, value: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Floats:
    """Return value(rank) of each query's first positive, whose rank is infinite where none was retrieved.

    Of r positives among n tied docs the first has place i + 1 with probability r / (n − i), where it has none
    of the i before.
    """
    values = value(ranking.first_positive if ranking.ties is None else np.full(ranking.n_queries, np.inf))
    values = values.astype(np.float64)
    if ranking.ties is None:
        return values
    query, first, size, number, place, _ = ranking.by_score(ranking.is_positive)
    values[query], on, left = 0.0, np.flatnonzero(place == 1), np.ones((query.size, 1))
    start = 0
    while on.size:  # some places of each score at a time, until its first positive must have come
        above = np.arange(start, start := start + 1 + _CELLS // on.size)
        chance = number[on, None] / np.maximum(size[on, None] - above, number[on, None])
        is_none = left[on] * np.cumprod(1 - chance, axis=1)
        weights = np.hstack((left[on], is_none[:, :-1])) * chance
        values[query[on]] += (weights * value(first[on, None] + above)).sum(axis=1)
        left[on] = is_none[:, -1:]
        on = on[is_none[:, -1] > 0]
    return values
