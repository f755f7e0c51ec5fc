"""Estimates from a pool of which parts were judged by a random sample: xinfAP, infNDCG, iP and counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fire_toolkit.arrays import (
    Bools,
    Floats,
    Ints,
    count_by_query,
    number_groups,
    running_count,
    share,
    starts_of_groups,
    sum_by_query,
)
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.cumulated_gain import log_of_next
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.reading import Seen

EPSILON = 0.00001
LONGEST = 1000  # docs of a query that NIST's program reads
_SLIP = 1e-9  # so that a half, or a whole, is one in whatever order its parts are added
_HALF = 0.5 + _SLIP
_SOURCE = "Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl"
_NO_BOUNDS = "is an estimate from a sample, which allows for unjudged docs already"


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


def estimated_positives(seen: Seen) -> Floats:
    """Return Σ_s r_s N_s / n_s: how many positives the pool of each query is estimated to hold."""
    pool = sampled_pool(seen.ranking)
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


def extended_inferred_average_precision(ranking: JudgedRanking) -> Floats:
    """Return Σ_s (R̂_s / Σ R̂) (1 / r_s) Σ over the positives of s found of their expected precision.

    Of N_s pooled docs of a stratum n_s were judged, r_s of them positive; R̂_s = r_s N_s / n_s.
    """
    found = ranking.found
    expected = (1 + _expected_above(ranking)) / found.rank
    if ranking.strata is None:
        return share(sum_by_query(found.query, expected, ranking.n_queries), ranking.n_positives)
    pool = sampled_pool(ranking)
    weight = pool.weight[found.query * pool.n_strata + pool.of_entry[ranking.is_positive]]
    summed = sum_by_query(found.query, weight * expected, ranking.n_queries)
    return share(summed, estimated_positives(ranking))


def rescaled_by_nist(ranking: JudgedRanking) -> Floats:
    """Return xinfAP of the first 1,000 docs, times R̂ / 1000 where more than 1,000 positives are inferred."""
    top = ranking.take(ranking.rank <= LONGEST)
    scale = np.maximum(estimated_positives(ranking) / LONGEST, 1.0)
    return np.asarray(extended_inferred_average_precision(top) * scale)


def _expected_above(ranking: JudgedRanking) -> Floats:
    """Return how many positives are expected above each one found: Σ_s d_s (r_s + ε) / (n_s + 3ε).

    Above it stand d_s pooled docs of the stratum s, n_s of them judged and r_s positive.
    """
    stratum = np.zeros_like(ranking.query) if ranking.strata is None else ranking.strata.of_entry
    is_found = ranking.is_positive
    above = np.zeros(np.count_nonzero(is_found))
    for code in np.unique(stratum):
        is_own = stratum == code
        pooled, judged, positive = (
            running_count(ranking.query, is_counted)[is_found] - is_own[is_found]
            for is_counted in (is_own, is_own & ranking.is_judged, is_own & is_found)
        )
        above += pooled * (positive + EPSILON) / (judged + 3 * EPSILON)
    return above


def inferred_ndcg(ranking: JudgedRanking) -> Floats:
    """Return the estimated DCG of the first 1,000 docs over that of the estimated ideal ranking."""
    pool = sampled_pool(ranking)
    query, grade, number = _estimated_grades(pool)
    number = np.floor(number + _HALF)
    end = np.cumsum(number)
    start = end - number
    before = start[np.searchsorted(query, query)] if query.size else start
    ends = (np.minimum(each - before, LONGEST).astype(np.int64) for each in (end, start))
    discounted = np.cumsum(np.append(0.0, 1 / log_of_next(np.arange(1, LONGEST + 1))))
    within = discounted[next(ends)] - discounted[next(ends)]
    return share(_estimated_gain(ranking, pool), sum_by_query(query, grade * within, ranking.n_queries))


def inferred_ndcg_by_nist(ranking: JudgedRanking) -> Floats:
    """Return it over the ideal ranking of TRECVID's program, which rounds no number of positives.

    The docs of a grade stand at start + 1, start + 2, ..., start being the sum of the numbers above, down to
    the first rank that is 1,000 or more.
    """
    pool = sampled_pool(ranking)
    ideal, start = np.zeros(ranking.n_queries), np.zeros(ranking.n_queries)
    for query, grade, number in zip(*_estimated_grades(pool), strict=True):
        n_left = max(np.ceil(LONGEST - start[query]), 1)
        ranks = start[query] + np.arange(1, 1 + min(np.floor(number + _SLIP), n_left))
        ideal[query] += np.sum(grade / log_of_next(ranks))
        start[query] += number
    return share(_estimated_gain(ranking, pool), ideal)


def _estimated_gain(ranking: JudgedRanking, pool: SampledPool) -> Floats:
    """Return Σ_s d_s / n_s times the gain found in s; d_s docs of s were retrieved, n_s of them judged."""
    shape = (ranking.n_queries, pool.n_strata)
    is_in = ranking.is_positive & ranking.is_in_top & (ranking.rank <= LONGEST)
    key = ranking.query[is_in] * pool.n_strata + pool.of_entry[is_in]
    gains = ranking.relevance[is_in] / log_of_next(ranking.rank[is_in])
    gain = sum_by_query(key, gains, shape[0] * shape[1]).reshape(shape)
    pooled = counted_to(ranking, pool, np.ones(ranking.query.size, dtype=bool), k=LONGEST)
    judged = counted_to(ranking, pool, ranking.is_judged, k=LONGEST)
    return sum_of_strata(pool, share(pooled, judged) * gain)


def _estimated_grades(pool: SampledPool) -> tuple[Ints, Ints, Floats]:
    """Return query, grade and estimated number of the positives of each grade, the highest first."""
    query = pool.pair // pool.n_strata
    order = np.lexsort((-pool.grade, query))
    query, grade, weight = query[order], pool.grade[order], pool.weight[pool.pair[order]]
    level, starts = number_groups(query, grade), starts_of_groups(query, grade)
    return query[starts], grade[starts], sum_by_query(level, weight, starts.size)


def inferred_precision(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the number of positives that the top k is expected to hold, over k."""
    return expected_positives(ranking, k=k) / k


XINFAP = Definition(
    name="xinfAP",
    summary="Average precision, estimated from a pool in strata of which each was judged in whole or by a "
    "random sample.",
    source="Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl for TRECVID.",
    convention="Strata come from qrels of five columns; a negative relevance marks a doc of the stratum that "
    "was not drawn for judging; docs that the qrels lack count as not relevant. Qrels without strata are one "
    "stratum. A stratum without a judged doc adds nothing.",
    per_query=extended_inferred_average_precision,
    no_bounds=_NO_BOUNDS,
)
XINFAP_NIST = replace(
    XINFAP,
    variant="nist",
    summary="xinfAP of the first 1,000 docs, multiplied by R̂ / 1000 where the inferred number of positives R̂ "
    "exceeds 1,000.",
    source="NIST's sample_eval.pl for TRECVID (from 2012), infAP: the figures of its tracks.",
    convention="The factor makes up for positives that a list of 1,000 cannot hold; without it no run could "
    "reach 1. R̂ is inum_rel. Otherwise as xinfAP.",
    per_query=rescaled_by_nist,
    reads=LONGEST,
)
INFNDCG = Definition(
    name="infNDCG",
    summary="nDCG of the first 1,000 docs, estimated from a pool in strata of which each was judged in whole "
    "or by a random sample.",
    source="Yilmaz, Kanoulas and Aslam, SIGIR 2008; NIST's sample_eval.pl of TREC (2011), infNDCG.",
    convention="Gain and discount as in nDCG. The gain found in a stratum is raised by pooled over judged "
    "docs retrieved; each grade's number of positives is estimated as for inum_rel and rounded, and the "
    "ideal ranking cut at 1,000. 0 for a query without a positive. infNDCG/nist does not round.",
    per_query=inferred_ndcg,
    of_top=True,
    reads=LONGEST,
    is_graded=True,
    no_bounds=_NO_BOUNDS,
)
INFNDCG_NIST = replace(
    INFNDCG,
    variant="nist",
    source="NIST's sample_eval.pl for TRECVID (2012), infNDCG: the figures of its tracks.",
    convention="As infNDCG, but a grade's estimated number of positives is not rounded: its docs stand in "
    "the ideal ranking one rank apart, the first one rank below the sum of the numbers of higher grades.",
    per_query=inferred_ndcg_by_nist,
)
IP = Definition(
    name="iP",
    summary="The number of positives in the top k, estimated from a pool in strata, divided by k.",
    source=f"{_SOURCE}, iP10 and others.",
    convention="Of a stratum's d pooled docs in the top k, n of them judged and r positive, d (r + ε) / "
    "(n + 3ε) are taken as positives. Divided by k, also where fewer docs were retrieved.",
    per_query=inferred_precision,
    of_top=True,
    cutoff="required",
    no_bounds=_NO_BOUNDS,
    also_called=("infP",),
)
INUM_REL = Definition(
    name="inum_rel",
    summary="The number of positives in the pool, estimated from its judged part.",
    source=f"{_SOURCE}, inum_rel.",
    convention="Of a stratum's N pooled docs, n of them judged and r positive, r N / n are taken as "
    "positives. Summed over the queries of the qrels; the run does not matter.",
    per_query=estimated_positives,
    of_top=True,
    is_linear=True,
    unit="count",
    aggregate="sum",
    no_bounds=_NO_BOUNDS,
)
INUM_REL_RET = Definition(
    name="inum_rel_ret",
    summary="The number of positives among the first 1,000 docs, estimated from the judged part of the pool.",
    source=f"{_SOURCE}, inum_rel_ret.",
    convention="Estimated as for iP@1000. Summed over queries.",
    per_query=partial(expected_positives, k=LONGEST),
    of_top=True,
    reads=LONGEST,
    unit="count",
    aggregate="sum",
    no_bounds=_NO_BOUNDS,
)

MEASURES = (XINFAP, XINFAP_NIST, INFNDCG, INFNDCG_NIST, IP, INUM_REL, INUM_REL_RET)
