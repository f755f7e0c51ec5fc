"""bpref: how rarely judged non-relevant docs stand above positives."""

import numpy as np

from fire_toolkit.arrays import Floats, running_count, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure


@measure(
    "bpref",
    "of top, skips unjudged, over positives",
    no_bounds="passes over unjudged docs, and has another value once they are judged",
)
def bpref(ranking: JudgedRanking) -> Floats:
    """For each positive found, the share of the first R judged non-relevant docs that stand below it, summed,
    over R positives.

    Source: Buckley and Voorhees, SIGIR 2004, in the form of trec_eval bpref.
    Convention: Unjudged docs are passed over. 1 − min(n, R) / min(N, R) for a positive with n of the query's
    N non-relevant docs above it; positives that are not retrieved, or stand below the run's top, add 0.
    """
    ranking = ranking.top
    n_above = running_count(ranking.query, ranking.relevance == 0)[ranking.is_positive]
    query = ranking.found.query
    n_positives, n_nonrelevant = ranking.n_positives[query], ranking.n_nonrelevant[query]
    lost = share(np.minimum(n_above, n_positives), np.minimum(n_nonrelevant, n_positives))
    return share(sum_by_query(query, 1 - lost, ranking.n_queries), ranking.n_positives)
