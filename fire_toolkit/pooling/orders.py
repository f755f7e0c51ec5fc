"""The strategies `depth` and `rrf`, and what they stand on: the best pairs by a score, within a budget."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Ints, rows_of_lists
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.tables.design import RRF

# Why no more of a query is pooled; of one that waits more is, once there are answers.
ALL, PER_QUERY, BUDGET, WAITING = "all_docs", "per_query", "budget", "waiting"


def depth(candidates: Candidates, budget: Budget) -> Choice:
    """Pool all that is in the top of any run; with a budget, by the best rank over the runs.

    Source: Spärck Jones & van Rijsbergen 1975; FIRE §3: the union of the top K of every run.
    """
    if budget == Budget():
        return Choice(np.arange(len(candidates.starts)))
    return best_by(-candidates.best_rank, candidates, budget)


def rrf(candidates: Candidates, budget: Budget, *, k: int = RRF) -> Choice:
    """Pool the pairs of the highest sum of 1 / (k + rank) over the runs that brought them.

    Source: reciprocal rank fusion, Cormack, Clarke & Büttcher, SIGIR 2009.

    Raises:
        UsageError: k below 0.
    """
    if k < 0:
        raise UsageError(f"k is {k}, expected 0 or more")
    return best_by(fused_ranks(candidates, k), candidates, budget)


def best_by(
    score: npt.NDArray[Any], candidates: Candidates, budget: Budget, asked: Ints | None = None
) -> Choice:
    """Return the best pairs of each query by score, ties by doc id descending, within a budget.

    A budget in all is shared evenly: the largest equal number of pairs that it pays for (a query that has
    fewer takes them all), and the rest of it to the best next pairs of all queries, by score; ties by doc
    id, then query id, descending.

    Args:
        score: of each pair.
        asked: how many pairs of each query are taken whatever the budget; they must have the best scores.

    Raises:
        UsageError: there is no budget, or one that leaves queries without a pair.
    """
    if budget == Budget():
        raise UsageError(
            "puts the pairs in an order and needs a budget to stop at: --per-query N or --budget N (without "
            "one the pool would be that of depth)"
        )
    wanted, most, left = shares_of(candidates.n_pairs, budget, asked)
    backwards = np.arange(len(score))[::-1]  # of a query's equal scores the higher doc comes first
    order = backwards[np.lexsort((-score[backwards], candidates.query[backwards]))]
    place, query = rows_of_lists(0, candidates.n_pairs), candidates.query[order]
    following = order[(wanted[query] <= place) & (place < most[query])]
    keys = [-each[following].astype(np.int64) for each in (candidates.query, candidates.doc)]
    more = following[np.lexsort([*keys, -score[following]])][:left]
    pairs = np.concatenate([order[place < wanted[query]], more])
    return Choice(pairs, stops=stops_of(candidates, budget, candidates.count(pairs)))


def shares_of(n_pairs: Ints, budget: Budget, asked: Ints | None = None) -> tuple[Ints, Ints, int]:
    """Return how many pairs each query gets of a budget that is shared evenly, and how the rest is given.

    Args:
        n_pairs: that each query has.
        asked: how many of them were asked already: they count in the budget, and stay where it is smaller.

    Returns:
        How many pairs each query gets at least, and at most when it gets one of the rest; the size of the
        rest.

    Raises:
        UsageError: the budget is smaller than the number of queries that have any.

    Examples:
        >>> shares_of(np.array([5, 1, 9]), Budget(in_all=8))
        (array([3, 1, 3]), array([4, 1, 4]), 1)
    """
    asked = np.zeros_like(n_pairs) if asked is None else asked
    most = n_pairs if budget.per_query is None else np.minimum(n_pairs, budget.per_query)
    most = np.maximum(most, asked)
    if budget.in_all is None or budget.in_all >= most.sum():
        return most, most, 0
    n_queries = int((n_pairs > 0).sum())
    if not asked.any() and budget.in_all < n_queries:
        raise UsageError(
            f"a budget of {budget.in_all:,} leaves some of the {n_queries:,} queries without a pair, "
            f"expected {n_queries:,} or more (or runs and qrels of fewer queries)"
        )
    low, high = 0, int(most.max())  # low is paid for, high is not
    while high - low > 1:
        middle = (low + high) // 2
        is_paid_for = np.maximum(asked, np.minimum(most, middle)).sum() <= budget.in_all
        low, high = (middle, high) if is_paid_for else (low, middle)
    wanted, next_one = (np.maximum(asked, np.minimum(most, level)) for level in (low, low + 1))
    return wanted, next_one, max(budget.in_all - int(wanted.sum()), 0)


def stops_of(candidates: Candidates, budget: Budget, taken: Ints) -> list[str]:
    """Return why no more pairs of each query were taken."""
    is_full = np.zeros(len(taken), dtype=bool) if budget.per_query is None else taken >= budget.per_query
    is_whole = taken >= candidates.n_pairs
    return list(np.where(is_whole, ALL, np.where(is_full, PER_QUERY, BUDGET)).tolist())


def fused_ranks(candidates: Candidates, k: int = RRF) -> Floats:
    """Return the sum of 1 / (k + rank) over the runs that brought each pair.

    It is added from the best rank to the worst, so that pairs at the same ranks have the same sum, whichever
    runs ranked them.
    """
    rank = candidates.rank
    small = rank.astype(np.uint16) if rank.max(initial=0) < 1 << 16 else rank  # sorted in linear time
    order = np.argsort(small, kind="stable")
    weights = 1 / (k + rank[order])
    fused = np.bincount(candidates.pair[order], weights, minlength=len(candidates.starts))
    return np.asarray(fused, dtype=np.float64)
