"""Estimates from a pool of which parts were judged by a random sample: xinfAP, infNDCG, iP and counts."""

from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import (
    Bools,
    Floats,
    Ints,
    number_groups,
    running_count,
    share,
    starts_of_groups,
    sum_by_query,
)
from fire_toolkit.matching.coded import ABSENT
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.cumulated_gain import log_of_next
from fire_toolkit.measures.definition import measure

EPSILON = 0.00001
LONGEST = 1000  # docs of a query that NIST's program reads
_SLIP = 1e-9  # so that a half, or a whole, is one in whatever order its parts are added
_NO_BOUNDS = "is an estimate from a sample, which allows for unjudged docs already"


@dataclass(frozen=True, eq=False)
class SampledPool:
    """Of each query and stratum, `query * n_strata + stratum`: how many docs were pooled and judged.

    of_entry: the stratum of each entry of the ranking; pair, grade: the stratum (as above) and the grade of
    every positive of the qrels; weight: how many pooled docs each judged one stands for, 0 in a stratum
    without one. Qrels without strata are one stratum.
    """

    n_strata: int
    of_entry: Ints
    pair: Ints
    grade: Ints
    weight: Floats

    def sum(self, values: Floats) -> Floats:
        """Return the sum over strata of values of queries × strata, for each query."""
        return np.asarray(values.reshape(-1, self.n_strata).sum(axis=1), dtype=np.float64)


def sampled_pool(ranking: JudgedRanking) -> SampledPool:
    """Return the strata of the qrels of a ranking."""
    qrels, relevance = ranking.qrels, ranking.qrels.relevance
    of_entry = np.zeros_like(ranking.query) if ranking.stratum is None else ranking.stratum
    of_pair = np.zeros_like(qrels.query) if qrels.stratum is None else qrels.stratum
    n_strata = int(of_pair.max(initial=0)) + 1
    pair, n_all = qrels.query * n_strata + of_pair, ranking.n_queries * n_strata
    n_pooled, n_judged = (
        np.bincount(pair[of], minlength=n_all) for of in (relevance != ABSENT, relevance >= 0)
    )
    positive, weight = relevance >= 1, share(n_pooled, n_judged)
    return SampledPool(n_strata, of_entry, pair[positive], relevance[positive], weight)


def _estimated_positives(ranking: JudgedRanking) -> Floats:
    """Return Σ_s r_s N_s / n_s: how many positives the pool of each query is estimated to hold."""
    pool = sampled_pool(ranking)
    return pool.sum(pool.weight * np.bincount(pool.pair, minlength=pool.weight.size))


def _counted_to(ranking: JudgedRanking, pool: SampledPool, is_counted: Bools, k: int) -> Ints:
    """Return queries × strata: how many entries of the top k (within what was ranked) are of a kind."""
    is_in = is_counted & ranking.is_in_top & (ranking.rank <= k)
    key = ranking.query[is_in] * pool.n_strata + pool.of_entry[is_in]
    return np.bincount(key, minlength=pool.weight.size)


def _expected_positives(ranking: JudgedRanking, k: int) -> Floats:
    """Return Σ_s d_s (r_s + ε) / (n_s + 3ε): how many positives the top k is expected to hold.

    It holds d_s pooled docs of the stratum s, n_s of them judged and r_s positive.
    """
    pool = sampled_pool(ranking)
    kinds = (np.ones(ranking.query.size, dtype=bool), ranking.is_judged, ranking.is_positive)
    pooled, judged, positive = (_counted_to(ranking, pool, is_counted, k) for is_counted in kinds)
    return pool.sum(pooled * (positive + EPSILON) / (judged + 3 * EPSILON))


def _estimated_gain(ranking: JudgedRanking, pool: SampledPool) -> Floats:
    """Return Σ_s d_s / n_s times the gain found in s; d_s docs of s were retrieved, n_s of them judged."""
    is_in = ranking.is_positive & ranking.is_in_top & (ranking.rank <= LONGEST)
    key = ranking.query[is_in] * pool.n_strata + pool.of_entry[is_in]
    gains = ranking.relevance[is_in] / log_of_next(ranking.rank[is_in])
    pooled = _counted_to(ranking, pool, np.ones(ranking.query.size, dtype=bool), LONGEST)
    judged = _counted_to(ranking, pool, ranking.is_judged, LONGEST)
    return pool.sum(share(pooled, judged) * sum_by_query(key, gains, pool.weight.size))


def _estimated_grades(pool: SampledPool) -> tuple[Ints, Ints, Floats]:
    """Return query, grade and estimated number of the positives of each grade, the highest first."""
    query = pool.pair // pool.n_strata
    order = np.lexsort((-pool.grade, query))
    query, grade, weight = query[order], pool.grade[order], pool.weight[pool.pair[order]]
    level, starts = number_groups(query, grade), starts_of_groups(query, grade)
    return query[starts], grade[starts], sum_by_query(level, weight, starts.size)


@measure("xinfAP", no_bounds=_NO_BOUNDS)
def xinfap(ranking: JudgedRanking) -> Floats:
    """Average precision, estimated from a pool in strata of which each was judged in whole or by a random
    sample.

    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl for TRECVID.
    Convention: Strata come from qrels of five columns; a negative relevance marks a doc of the stratum that
    was not drawn for judging; docs that the qrels lack count as not relevant. Qrels without strata are one
    stratum. A stratum without a judged doc adds nothing.
    """
    # Σ_s (R̂_s / Σ R̂) (1 / r_s) Σ over the positives of s found of their expected precision. Of N_s pooled
    # docs n_s were judged, r_s of them positive; R̂_s = r_s N_s / n_s. Above a positive others are expected,
    # Σ_s d_s (r_s + ε) / (n_s + 3ε), of d_s pooled docs n_s of them judged.
    pool, found, is_found = sampled_pool(ranking), ranking.found, ranking.is_positive
    above = np.zeros(found.query.size)
    for stratum in np.unique(pool.of_entry):
        is_own = pool.of_entry == stratum
        pooled, judged, positive = (
            running_count(ranking.query, is_counted)[is_found] - is_own[is_found]
            for is_counted in (is_own, is_own & ranking.is_judged, is_own & is_found)
        )
        above += pooled * (positive + EPSILON) / (judged + 3 * EPSILON)
    expected = (1 + above) / found.rank
    if ranking.stratum is None:
        return share(found.total(expected), ranking.n_positives)
    weight = pool.weight[found.query * pool.n_strata + pool.of_entry[is_found]]
    return share(found.total(weight * expected), _estimated_positives(ranking))


@measure("xinfAP/nist", reads=LONGEST, no_bounds=_NO_BOUNDS)
def xinfap_nist(ranking: JudgedRanking) -> Floats:
    """xinfAP of the first 1,000 docs, multiplied by R̂ / 1000 where the inferred number of positives R̂
    exceeds 1,000.

    Source: NIST's sample_eval.pl for TRECVID (from 2012), infAP: the figures of its tracks.
    Convention: The factor makes up for positives that a list of 1,000 cannot hold; without it no run could
    reach 1. R̂ is inum_rel. Otherwise as xinfAP.
    """
    top = ranking.take(ranking.rank <= LONGEST)
    scale = np.maximum(_estimated_positives(ranking) / LONGEST, 1.0)
    return np.asarray(xinfap.per_query(top) * scale)


@measure("infNDCG", "of top, graded", reads=LONGEST, no_bounds=_NO_BOUNDS)
def infndcg(ranking: JudgedRanking) -> Floats:
    """nDCG of the first 1,000 docs, estimated from a pool in strata of which each was judged in whole or by a
    random sample.

    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008; NIST's sample_eval.pl of TREC (2011), infNDCG.
    Convention: Gain and discount as in nDCG. The gain found in a stratum is raised by pooled over judged docs
    retrieved; each grade's number of positives is estimated as for inum_rel and rounded, and the ideal
    ranking cut at 1,000. 0 for a query without a positive. An estimate may exceed 1: one positive of two
    pooled docs, found first with the other unjudged, gives 1.23. infNDCG/nist does not round.
    """
    pool = sampled_pool(ranking)
    query, grade, number = _estimated_grades(pool)
    number = np.floor(number + 0.5 + _SLIP)
    end = np.cumsum(number)
    start = end - number
    before = start[np.searchsorted(query, query)] if query.size else start
    ends, starts = (np.minimum(each - before, LONGEST).astype(np.int64) for each in (end, start))
    discounted = np.cumsum(np.append(0.0, 1 / log_of_next(np.arange(1, LONGEST + 1))))
    ideal = sum_by_query(query, grade * (discounted[ends] - discounted[starts]), ranking.n_queries)
    return share(_estimated_gain(ranking, pool), ideal)


@measure("infNDCG/nist", "of top, graded", reads=LONGEST, no_bounds=_NO_BOUNDS)
def infndcg_nist(ranking: JudgedRanking) -> Floats:
    """nDCG of the first 1,000 docs, estimated from a pool in strata of which each was judged in whole or by a
    random sample.

    Source: NIST's sample_eval.pl for TRECVID (2012), infNDCG: the figures of its tracks.
    Convention: As infNDCG, but a grade's estimated number of positives is not rounded: its docs stand in the
    ideal ranking one rank apart, the first one rank below the sum of the numbers of higher grades.
    """
    pool = sampled_pool(ranking)
    ideal, start = np.zeros(ranking.n_queries), np.zeros(ranking.n_queries)
    for query, grade, number in zip(*_estimated_grades(pool), strict=True):
        n_left = max(np.ceil(LONGEST - start[query]), 1)
        ranks = start[query] + np.arange(1, 1 + min(np.floor(number + _SLIP), n_left))
        ideal[query] += np.sum(grade / log_of_next(ranks))
        start[query] += number
    return share(_estimated_gain(ranking, pool), ideal)


@measure("iP@k", "of top", no_bounds=_NO_BOUNDS, also_called=("infP",))
def inferred_precision(ranking: JudgedRanking, *, k: int) -> Floats:
    """The number of positives in the top k, estimated from a pool in strata, divided by k.

    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl, iP10 and others.
    Convention: Of a stratum's d pooled docs in the top k, n of them judged and r positive, d (r + ε) / (n +
    3ε) are taken as positives. Divided by k, also where fewer docs were retrieved.
    """
    return _expected_positives(ranking, k) / k


@measure("inum_rel", "linear, of top", unit="count", aggregate="sum", no_bounds=_NO_BOUNDS)
def inferred_number(ranking: JudgedRanking) -> Floats:
    """The number of positives in the pool, estimated from its judged part.

    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl, inum_rel.
    Convention: Of a stratum's N pooled docs, n of them judged and r positive, r N / n are taken as positives.
    Summed over the queries of the qrels; the run does not matter.
    """
    return _estimated_positives(ranking)


@measure("inum_rel_ret", "of top", unit="count", aggregate="sum", reads=LONGEST, no_bounds=_NO_BOUNDS)
def inferred_number_retrieved(ranking: JudgedRanking) -> Floats:
    """The number of positives among the first 1,000 docs, estimated from the judged part of the pool.

    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl, inum_rel_ret.
    Convention: Estimated as for iP@1000. Summed over queries.
    """
    return _expected_positives(ranking, LONGEST)
