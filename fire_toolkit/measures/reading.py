"""What measures read of a ranking: how many positives, their gains and precisions, the rank of the first.

Each is a function of a JudgedRanking, whose docs stand in one order; or, of one with ties, the mean over all
orders of docs of equal score, in closed form. So a measure that is linear in one of these is written once,
and has its mean over all orders without more.

A group of tied docs has the ranks first to last; every order of its docs is as likely as any other.

Source: McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently in the
Presence of Tied Scores, ECIR 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Bools, Floats, Ints, count_by_query, starts_of_groups, sum_by_query
from fire_toolkit.matching.coded import Discount, at_ranks
from fire_toolkit.matching.judged_ranking import JudgedRanking

Cut = int | Ints | None  # one for all queries, one for each, or none


class PositiveGroups(NamedTuple):
    """The groups of tied docs that hold a positive, in rank order; a doc without ties is its own group.

    query, first, last: of each; n_positive: how many positives it holds; n_before: how many its query has
    above it.
    """

    query: Ints
    first: Ints
    last: Ints
    n_positive: Ints
    n_before: Ints

    @property
    def size(self) -> Ints:
        """Return the number of docs of each group."""
        return self.last - self.first + 1


def count_found(ranking: JudgedRanking, k: Cut) -> Ints | Floats:
    """Return how many positives the top k of each query holds."""
    if ranking.ties is not None:
        return _expected_sum(ranking, np.ones_like, ranking.is_positive, k)
    return count_by_query(ranking.found.to(k).query, ranking.n_queries)


def sum_positives(ranking: JudgedRanking, weight: Callable[[npt.NDArray[Any]], Floats]) -> Floats:
    """Return Σ weight(rank) over the positives of each query."""
    if ranking.ties is not None:
        return _expected_sum(ranking, weight, ranking.is_positive, None)
    return sum_by_query(ranking.found.query, weight(ranking.found.rank), ranking.n_queries)


def sum_judged(
    ranking: JudgedRanking,
    weight: Callable[[npt.NDArray[Any]], Floats],
    *,
    k: Cut = None,
    in_top: bool = False,
) -> Floats:
    """Return Σ weight(rank) over the judged docs of the top k; `in_top`: none kept below the top counts."""
    is_counted = ranking.is_judged & ranking.is_in_top if in_top else ranking.is_judged
    if ranking.ties is not None:
        return _expected_sum(ranking, weight, is_counted, k)
    is_counted = is_counted & (ranking.rank <= _cut(k, ranking.query))
    return sum_by_query(ranking.query[is_counted], weight(ranking.rank[is_counted]), ranking.n_queries)


def sum_gains(ranking: JudgedRanking, discount: Discount, k: Cut = None) -> Floats:
    """Return Σ grade / discount(rank) over the positives of the top k of each query."""
    if ranking.ties is None:
        found = ranking.found.to(k)
        return sum_by_query(found.query, found.grade / at_ranks(found.rank, discount), ranking.n_queries)
    total = np.zeros(ranking.n_queries)
    for grade in np.unique(ranking.relevance[ranking.is_positive]):
        total += grade * _expected_sum(
            ranking, lambda rank: 1 / discount(rank), ranking.relevance == grade, k
        )
    return total


def sum_precisions(ranking: JudgedRanking, k: Cut = None) -> Floats:
    """Return Σ precision at the rank of each positive of the top k of each query.

    Place i of a group is a positive with probability r / n, and then has (i − 1)(r − 1) / (n − 1) positives
    of the group above it.
    """
    if ranking.ties is None:
        found = ranking.found.to(k)
        return sum_by_query(found.query, found.place / found.rank, ranking.n_queries)
    groups = _positive_groups(ranking)
    n, r, above = groups.size, groups.n_positive, groups.first - 1
    m = np.clip(_cut(k, groups.query) - above, 0, n)
    harmonic = np.cumsum(np.append(0.0, 1 / np.arange(1, int(groups.last.max(initial=0)) + 1)))
    inverse = harmonic[above + m] - harmonic[above]  # Σ 1 / rank over the places
    each = (r - 1) / np.maximum(n - 1, 1)
    value = r / n * ((groups.n_before + 1) * inverse + each * (m - (above + 1) * inverse))
    return sum_by_query(groups.query, value, ranking.n_queries)


def has_found(ranking: JudgedRanking, k: int) -> Floats:
    """Return 1 for each query with a positive in its top k, else 0; in ties the probability of one."""
    if ranking.ties is None:
        return (ranking.first_positive <= k).astype(np.float64)
    groups = _positive_groups(ranking)
    n, r = groups.size, groups.n_positive
    m = np.clip(k - groups.first + 1, 0, n)  # places of the group in the top k
    fewer, more = np.minimum(r, m), np.maximum(r, m)
    none = np.ones(n.size)
    for step in range(int(fewer.max(initial=0))):
        is_on = step < fewer
        none[is_on] *= np.maximum(n - more - step, 0)[is_on] / (n - step)[is_on]
    missed = np.ones(ranking.n_queries)
    np.multiply.at(missed, groups.query, none)
    return 1 - missed


def reciprocal_of_first(ranking: JudgedRanking, k: int | None) -> Floats:
    """Return 1 / rank of the first positive of each query; 0 where none stands in the top k."""
    last = np.inf if k is None else k
    if ranking.ties is None:
        return np.where(ranking.first_positive <= last, 1 / ranking.first_positive, 0.0)
    groups = _first_groups(ranking)
    value = np.zeros(ranking.n_queries)
    n, r, place = groups.size, groups.n_positive, np.arange(groups.query.size)
    chance = r / n
    for step in range(int((n - r).max(initial=-1)) + 1):
        rank = groups.first[place] + step
        is_on = (step <= (n - r)[place]) & (rank <= last)
        place, chance, rank = place[is_on], chance[is_on], rank[is_on]
        value[groups.query[place]] += chance / rank
        left = np.maximum((n - step - 1)[place], 1)
        chance = chance * (n - r - step)[place] / left
    return value


def rank_of_first(ranking: JudgedRanking) -> Floats:
    """Return the rank of each query's first positive; the worst rank where none was retrieved."""
    if ranking.ties is None:
        return np.minimum(ranking.first_positive, ranking.worst_rank)
    groups = _first_groups(ranking)
    rank = np.full(ranking.n_queries, float(ranking.worst_rank))
    rank[groups.query] = groups.first - 1 + (groups.size + 1) / (groups.n_positive + 1)
    return rank


def _positive_groups(tied: JudgedRanking) -> PositiveGroups:
    is_positive = tied.is_positive
    query, first, last = (a[is_positive] for a in (tied.query, *tied.tied_ranks))
    starts = starts_of_groups(query, first)
    count = np.diff(starts, append=query.size)
    n_before = starts - np.searchsorted(query, query[starts])
    return PositiveGroups(query[starts], first[starts], last[starts], count, n_before)


def _first_groups(tied: JudgedRanking) -> PositiveGroups:
    """Return the first group of each query that holds a positive."""
    groups = _positive_groups(tied)
    return PositiveGroups(*(each[groups.n_before == 0] for each in groups))


def _expected_sum(
    tied: JudgedRanking, weight: Callable[[npt.NDArray[Any]], Floats], entries: Bools, k: Cut
) -> Floats:
    """Return for each query the expected sum of the weights of the ranks of some entries, in the top k."""
    query, first, last = (a[entries] for a in (tied.query, *tied.tied_ranks))
    summed = np.cumsum(np.append(0.0, weight(np.arange(1.0, int(last.max(initial=0)) + 1))))
    cut = _cut(k, query)
    mean = (summed[np.minimum(last, cut)] - summed[np.minimum(first - 1, cut)]) / (last - first + 1)
    return sum_by_query(query, mean, tied.n_queries)


def _cut(k: Cut, query: Ints) -> Ints:
    """Return the cutoff of each entry or group of these queries."""
    if k is None:
        return np.full(query.size, np.iinfo(np.int64).max)
    return k[query] if isinstance(k, np.ndarray) else np.full(query.size, k, dtype=np.int64)
