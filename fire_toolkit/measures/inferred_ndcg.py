"""infNDCG: nDCG inferred from a pool in strata, each judged in whole or by a random sample."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, number_groups, share, starts_of_groups, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.gains import log_of_next
from fire_toolkit.measures.inferred_counts import LONGEST
from fire_toolkit.measures.sampled_pool import SampledPool, counted_to, sampled_pool, sum_of_strata

_HALF = 0.5 + 1e-9  # so that a half is one in whatever order its parts are added


def inferred_ndcg(ranking: JudgedRanking) -> Floats:
    """Return the estimated DCG of the first 1,000 docs over that of the estimated ideal ranking."""
    pool = sampled_pool(ranking)
    return share(_estimated_gain(ranking, pool), _estimated_ideal(ranking, pool))


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


def _estimated_ideal(ranking: JudgedRanking, pool: SampledPool) -> Floats:
    """Return the DCG of all positives that the pool is estimated to hold, cut at 1,000 docs."""
    query = pool.pair // pool.n_strata
    order = np.lexsort((-pool.grade, query))
    query, grade, weight = query[order], pool.grade[order], pool.weight[pool.pair[order]]
    level, starts = number_groups(query, grade), starts_of_groups(query, grade)
    query, grade = query[starts], grade[starts]
    number = np.floor(sum_by_query(level, weight, query.size) + _HALF).astype(np.int64)
    end = np.cumsum(number)
    start = end - number
    before = start[np.searchsorted(query, query)] if query.size else start
    discounted = np.cumsum(np.append(0.0, 1 / log_of_next(np.arange(1, LONGEST + 1))))
    within = discounted[np.minimum(end - before, LONGEST)] - discounted[np.minimum(start - before, LONGEST)]
    return sum_by_query(query, grade * within, ranking.n_queries)


INFNDCG = Definition(
    name="infNDCG",
    summary="nDCG of the first 1,000 docs, estimated from a pool in strata of which each was judged in whole "
    "or by a random sample.",
    source="Yilmaz, Kanoulas and Aslam, SIGIR 2008; NIST's sample_eval.pl of TREC (2011), infNDCG.",
    convention="Gain and discount as in nDCG. The gain found in a stratum is raised by pooled over judged "
    "docs retrieved; each grade's number of positives is estimated as for inum_rel and rounded, and the "
    "ideal ranking cut at 1,000. (The program of TRECVID does not round.) 0 for a query without a positive.",
    per_query=inferred_ndcg,
    of_top=True,
    reads=LONGEST,
    is_graded=True,
    no_bounds="is an estimate from a sample, which allows for unjudged docs already",
)

MEASURES = (INFNDCG,)
