"""What a sample of judgments says of the pool it was drawn from, stratum by stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking

EPSILON = 0.00001


@dataclass(frozen=True, eq=False)
class SampledPool:
    """Of each query and stratum, `query * n_strata + stratum`: how many docs were pooled and judged.

    of_entry: the stratum of each entry of the ranking; pair, grade: the stratum (as above) and the grade of
    every positive of the qrels. Qrels without strata are one stratum.
    """

    n_strata: int
    of_entry: Ints
    pair: Ints
    grade: Ints
    n_pooled: Ints
    n_judged: Ints

    @property
    def weight(self) -> Floats:
        """Return how many pooled docs each judged one stands for; 0 in a stratum without one."""
        return share(self.n_pooled, self.n_judged)


def sampled_pool(ranking: JudgedRanking) -> SampledPool:
    """Return the strata of the qrels of a ranking."""
    strata = ranking.strata
    if strata is None:
        n_judged = ranking.n_positives + ranking.n_nonrelevant
        of_entry = np.zeros_like(ranking.query)
        pairs = (ranking.ideal.query, ranking.ideal.grade)
        return SampledPool(1, of_entry, *pairs, n_judged + ranking.n_undrawn, n_judged)
    n_strata = int(strata.of_pair.max(initial=0)) + 1
    pair = strata.query * n_strata + strata.of_pair
    n_pooled, n_judged = (
        count_by_query(pair[is_counted], ranking.n_queries * n_strata)
        for is_counted in (np.ones(pair.size, dtype=bool), strata.relevance >= 0)
    )
    is_positive = strata.relevance >= 1
    return SampledPool(
        n_strata, strata.of_entry, pair[is_positive], strata.relevance[is_positive], n_pooled, n_judged
    )


def sum_of_strata(pool: SampledPool, values: Floats) -> Floats:
    """Return the sum over strata of values of queries × strata, for each query."""
    return np.asarray(values.reshape(-1, pool.n_strata).sum(axis=1), dtype=np.float64)


def estimated_positives(ranking: JudgedRanking) -> Floats:
    """Return Σ_s r_s N_s / n_s: how many positives the pool of each query is estimated to hold."""
    pool = sampled_pool(ranking)
    n_positive = count_by_query(pool.pair, pool.n_judged.size)
    return sum_of_strata(pool, pool.weight * n_positive)


def counted_to(ranking: JudgedRanking, pool: SampledPool, is_counted: Bools, *, k: int | None) -> Ints:
    """Return queries × strata: how many entries of the top k (within what was ranked) are of a kind."""
    is_in = is_counted & ranking.is_in_top & (ranking.rank <= (np.inf if k is None else k))
    key = ranking.query[is_in] * pool.n_strata + pool.of_entry[is_in]
    return count_by_query(key, ranking.n_queries * pool.n_strata).reshape(ranking.n_queries, pool.n_strata)


def expected_positives(ranking: JudgedRanking, *, k: int | None) -> Floats:
    """Return Σ_s d_s (r_s + ε) / (n_s + 3ε): how many positives the top k is expected to hold.

    It holds d_s pooled docs of the stratum s, n_s of them judged and r_s positive.
    """
    pool = sampled_pool(ranking)
    pooled, judged, positive = (
        counted_to(ranking, pool, is_counted, k=k)
        for is_counted in (ranking.relevance == ranking.relevance, ranking.is_judged, ranking.is_positive)
    )
    return sum_of_strata(pool, pooled * (positive + EPSILON) / (judged + 3 * EPSILON))
