"""xinfAP: average precision inferred from strata of the pool, each judged in whole or by a random sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fire_toolkit.arrays import Floats, running_count, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.inferred_counts import LONGEST
from fire_toolkit.measures.sampled_pool import EPSILON, estimated_positives, sampled_pool


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
    is_in = ranking.rank <= LONGEST
    strata = ranking.strata and ranking.strata.at(is_in)
    top = replace(
        ranking, query=ranking.query[is_in], rank=ranking.rank[is_in], relevance=ranking.relevance[is_in],
        strata=strata,
    )  # fmt: skip
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


XINFAP = Definition(
    name="xinfAP",
    summary="Average precision, estimated from a pool in strata of which each was judged in whole or by a "
    "random sample.",
    source="Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl for TRECVID.",
    convention="Strata come from qrels of five columns; a negative relevance marks a doc of the stratum that "
    "was not drawn for judging; docs that the qrels lack count as not relevant. Qrels without strata are one "
    "stratum. A stratum without a judged doc adds nothing.",
    per_query=extended_inferred_average_precision,
    no_bounds="is an estimate from a sample, which allows for unjudged docs already",
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

MEASURES = (XINFAP, XINFAP_NIST)
