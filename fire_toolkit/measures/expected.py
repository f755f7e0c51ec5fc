"""Means over all orders of docs of equal score, in closed form.

Source: McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently in the
Presence of Tied Scores, ECIR 2008.

A group of tied docs has the ranks first to last; every order of its docs is as likely as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Bools, Floats, Ints, share, starts_of_groups, sum_by_query
from fire_toolkit.matching.ideal import Discount
from fire_toolkit.matching.ties import TiedRanking

Cut = int | Ints | None  # one for all queries, one for each, or none


@dataclass(frozen=True, eq=False)
class PositiveGroups:
    """The groups of tied docs that hold a positive, in rank order; a doc without ties is its own group.

    query, first, last: of each; n_positive: how many positives it holds; n_before: how many its query has
    above it; place: 1 for the first group of a query, 2 for the second, ...
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


def positive_groups(tied: TiedRanking) -> PositiveGroups:
    """Return the groups that hold a positive."""
    is_positive = tied.ranking.is_positive
    query, first, last = (a[is_positive] for a in (tied.ranking.query, tied.first, tied.last))
    starts = starts_of_groups(query, first)
    count = np.diff(starts, append=query.size)
    n_before = starts - np.searchsorted(query, query[starts])
    return PositiveGroups(query[starts], first[starts], last[starts], count, n_before)


def expected_sum(
    tied: TiedRanking, weight: Callable[[npt.NDArray[Any]], Floats], entries: Bools, *, k: Cut = None
) -> Floats:
    """Return for each query the expected sum of the weights of the ranks of its entries in the top k.

    Args:
        tied: the ranking.
        weight: of ranks.
        entries: which of the ranking's.
        k: the cutoff.
    """
    query, first, last = (a[entries] for a in (tied.ranking.query, tied.first, tied.last))
    summed = np.cumsum(np.append(0.0, weight(np.arange(1, int(last.max(initial=0)) + 1))))
    cut = _cut(k, query)
    mean = (summed[np.minimum(last, cut)] - summed[np.minimum(first - 1, cut)]) / (last - first + 1)
    return sum_by_query(query, mean, tied.ranking.n_queries)


def expected_found(tied: TiedRanking, *, k: Cut) -> Floats:
    """Return how many positives the top k of each query is expected to hold."""
    return expected_sum(tied, lambda rank: np.ones(rank.size), tied.ranking.is_positive, k=k)


def expected_gain(tied: TiedRanking, *, discount: Discount, k: Cut = None) -> Floats:
    """Return the expected Σ grade / discount(rank) of the top k."""
    ranking = tied.ranking
    total = np.zeros(ranking.n_queries)
    for grade in np.unique(ranking.relevance[ranking.is_positive]):
        is_own = ranking.relevance == grade
        total += grade * expected_sum(tied, lambda rank: 1 / discount(rank), is_own, k=k)
    return total


def expected_normalised_gain(tied: TiedRanking, *, discount: Discount, k: int | None = None) -> Floats:
    """Return the expected share of the ideal gain; 0 for a query without a positive."""
    return share(expected_gain(tied, discount=discount, k=k), tied.ranking.ideal.gain(discount, k))


def expected_hit(tied: TiedRanking, *, k: int) -> Floats:
    """Return the probability that a positive stands in the top k."""
    groups = positive_groups(tied)
    n, r = groups.size, groups.n_positive
    m = np.clip(k - groups.first + 1, 0, n)  # places of the group in the top k
    fewer, more = np.minimum(r, m), np.maximum(r, m)
    none = np.ones(n.size)
    for step in range(int(fewer.max(initial=0))):
        is_on = step < fewer
        none[is_on] *= np.maximum(n - more - step, 0)[is_on] / (n - step)[is_on]
    missed = np.ones(tied.ranking.n_queries)
    np.multiply.at(missed, groups.query, none)
    return 1 - missed


def expected_reciprocal_rank(tied: TiedRanking, *, k: int | None = None) -> Floats:
    """Return the expected 1 / rank of the first positive, where it stands in the top k."""
    groups = _first_groups(tied)
    value = np.zeros(tied.ranking.n_queries)
    n, r, place = groups.size, groups.n_positive, np.arange(groups.query.size)
    chance = r / n
    for step in range(int((n - r).max(initial=-1)) + 1):
        rank = groups.first[place] + step
        is_on = (step <= (n - r)[place]) & (rank <= (np.inf if k is None else k))
        place, chance, rank = place[is_on], chance[is_on], rank[is_on]
        value[groups.query[place]] += chance / rank
        left = np.maximum((n - step - 1)[place], 1)
        chance = chance * (n - r - step)[place] / left
    return value


def expected_first_rank(tied: TiedRanking) -> Floats:
    """Return the expected rank of the first positive; the worst rank where none was retrieved."""
    groups = _first_groups(tied)
    rank = np.full(tied.ranking.n_queries, float(tied.ranking.worst_rank))
    rank[groups.query] = groups.first - 1 + (groups.size + 1) / (groups.n_positive + 1)
    return rank


def expected_precisions(tied: TiedRanking, *, k: Cut = None) -> Floats:
    """Return for each query the expected sum of the precision at each positive in the top k.

    Place i of a group is a positive with probability r / n, and then has (i − 1)(r − 1) / (n − 1) positives
    of the group above it.
    """
    groups = positive_groups(tied)
    n, r, above = groups.size, groups.n_positive, groups.first - 1
    m = np.clip(_cut(k, groups.query) - above, 0, n)
    harmonic = np.cumsum(np.append(0.0, 1 / np.arange(1, int(groups.last.max(initial=0)) + 1)))
    inverse = harmonic[above + m] - harmonic[above]  # Σ 1 / rank over the places
    each = (r - 1) / np.maximum(n - 1, 1)
    value = r / n * ((groups.n_before + 1) * inverse + each * (m - (above + 1) * inverse))
    return sum_by_query(groups.query, value, tied.ranking.n_queries)


def _first_groups(tied: TiedRanking) -> PositiveGroups:
    """Return the first group of each query that holds a positive."""
    groups = positive_groups(tied)
    kept = groups.n_before == 0
    return PositiveGroups(
        *(a[kept] for a in (groups.query, groups.first, groups.last, groups.n_positive, groups.n_before))
    )


def _cut(k: Cut, query: Ints) -> Ints:
    """Return the cutoff of each entry or group of these queries."""
    if k is None:
        return np.full(query.size, np.iinfo(np.int64).max)
    return k[query] if isinstance(k, np.ndarray) else np.full(query.size, k, dtype=np.int64)
