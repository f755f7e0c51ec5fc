"""xinfAP: average precision inferred from strata of the pool, each judged in whole or by a random sample."""

from __future__ import annotations

import numpy as np

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.judged_ranking import JudgedRanking
from fire_toolkit.measures.segments import Floats, count_by_query, running_count, share, sum_by_query

_EPSILON = 0.00001


def extended_inferred_average_precision(ranking: JudgedRanking) -> Floats:
    """Return Σ_s (R̂_s / Σ R̂) (1 / r_s) Σ over the positives of s found of their expected precision.

    Of N_s pooled docs of a stratum n_s were judged, r_s of them positive; R̂_s = r_s N_s / n_s.
    """
    found = ranking.found
    expected = (1 + _expected_above(ranking)) / found.rank
    if ranking.strata is None:
        return share(sum_by_query(found.query, expected, ranking.n_queries), ranking.n_positives)
    strata = ranking.strata
    n_strata = int(strata.of_pair.max(initial=0)) + 1
    key = strata.query * n_strata + strata.of_pair
    n_pooled, n_judged, n_positive = (
        count_by_query(key[strata.relevance >= least], ranking.n_queries * n_strata)
        for least in (strata.relevance.min(initial=0), 0, 1)
    )
    of_one = share(n_pooled, n_judged)  # N_s / n_s, which is R̂_s / r_s
    estimated = (of_one * n_positive).reshape(ranking.n_queries, n_strata).sum(axis=1)
    weight = of_one[found.query * n_strata + strata.of_entry[ranking.is_positive]]
    return share(sum_by_query(found.query, weight * expected, ranking.n_queries), estimated)


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
        above += pooled * (positive + _EPSILON) / (judged + 3 * _EPSILON)
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

MEASURES = (XINFAP,)
