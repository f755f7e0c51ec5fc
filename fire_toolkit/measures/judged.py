"""Judged@k and unjudged@k: the shares of the top k that were judged, and were not."""

import numpy as np

from fire_toolkit.arrays import Floats, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure


@measure("Judged@k", "linear, of top, no score", no_bounds="measures how much is judged and is not a score")
def judged(ranking: JudgedRanking, *, k: int) -> Floats:
    """The share of the docs in the top k that have a judgment.

    Source: FIRE's p_annotated_preds (top 10); ir_measures Judged@k.
    Convention: Divided by min(k, docs ranked); positives kept below the top do not count. A negative
    relevance is pooled but not judged, and does not count (ir_measures counts it). 0 where nothing was
    retrieved.
    """
    is_counted = ranking.is_judged & ranking.is_in_top & (ranking.tied_ranks[0] <= k)
    docs = ranking.places(is_counted).to(k)
    n_judged = sum_by_query(docs.query, docs.weight, ranking.n_queries)
    return share(n_judged, np.minimum(ranking.n_retrieved, k))


@measure(
    "unjudged@k",
    "linear, smaller is better, of top, no score",
    no_bounds="measures how much is judged and is not a score",
    also_called=("hole",),
)
def unjudged(ranking: JudgedRanking, *, k: int) -> Floats:
    """The share of the docs in the top k that have no judgment.

    Source: One minus Judged@k.
    Convention: Divided by min(k, docs ranked); pooled but not judged (a negative relevance) is unjudged. 0
    where nothing was retrieved.
    """
    return np.where(ranking.n_retrieved > 0, 1 - judged.per_query(ranking, k=k), 0.0)
