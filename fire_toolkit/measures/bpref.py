"""bpref and infAP, which pass over unjudged docs: what stands above positives among the judged ones."""

import numpy as np

from fire_toolkit.arrays import Floats, running_count, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure

_EPSILON = 0.00001
_NO_BOUNDS = "passes over unjudged docs, and has another value once they are judged"


@measure("bpref", "of top, skips unjudged, over positives", no_bounds=_NO_BOUNDS)
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
    n_positives, n_nonrelevant = ranking.n_positives[query], ranking.qrels.n_nonrelevant[query]
    lost = share(np.minimum(n_above, n_positives), np.minimum(n_nonrelevant, n_positives))
    return share(ranking.found.total(1 - lost), ranking.n_positives)


@measure("infAP", "skips unjudged, over positives", no_bounds=_NO_BOUNDS)
def inferred_average_precision(ranking: JudgedRanking) -> Floats:
    """Average precision, the precision above each positive estimated from the judged part of the pool.

    Source: Yilmaz and Aslam, CIKM 2006; trec_eval infAP (ε = 1e-5).
    Convention: A negative relevance marks a doc that was pooled but not drawn for judging; docs that the
    qrels lack count as not relevant. Without negative relevances it is AP but for ε.
    """
    # Above a positive stand n_pooled docs, some of them judged; 1/R Σ 1/k + (d/k) (r + ε) / (r + n + 2ε).
    is_positive, found = ranking.is_positive, ranking.found
    n_pooled = running_count(ranking.query)[is_positive] - 1
    n_nonrelevant = running_count(ranking.query, ranking.relevance == 0)[is_positive]
    n_relevant = found.place - 1
    precision = (n_relevant + _EPSILON) / (n_relevant + n_nonrelevant + 2 * _EPSILON)
    expected = 1 / found.rank + n_pooled / found.rank * precision
    return share(found.total(expected), ranking.n_positives)
