"""Judged@k and unjudged@k: the shares of the top k that were judged, and were not."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_sum


def judged_at_k(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return |judged docs in the top k| / min(k, retrieved) for each query; 0 where nothing was retrieved."""
    is_counted = ranking.is_judged & (ranking.rank <= k) & ranking.is_in_top
    n_judged = count_by_query(ranking.query[is_counted], ranking.n_queries)
    return share(n_judged, np.minimum(ranking.n_retrieved, k))


def expected_judged(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    ranking = tied.ranking
    n_judged = expected_sum(tied, lambda rank: np.ones(rank.size), ranking.is_judged, k=k)
    return share(n_judged, np.minimum(ranking.n_retrieved, k))


def unjudged_at_k(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return 1 − Judged@k for each query; 0 where nothing was retrieved."""
    return np.where(ranking.n_retrieved > 0, 1 - judged_at_k(ranking, k=k), 0.0)


def expected_unjudged(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    return np.where(tied.ranking.n_retrieved > 0, 1 - expected_judged(tied, k=k), 0.0)


JUDGED = Definition(
    name="Judged",
    summary="The share of the docs in the top k that have a judgment.",
    source="FIRE's p_annotated_preds (top 10); ir_measures Judged@k.",
    convention="Divided by min(k, docs ranked); positives kept below the top do not count. A negative "
    "relevance is pooled but not judged, and does not count (ir_measures counts it). 0 where nothing was "
    "retrieved.",
    per_query=judged_at_k,
    of_top=True,
    expected=expected_judged,
    cutoff="required",
    no_bounds="measures how much is judged and is not a score",
    is_score=False,
)
UNJUDGED = Definition(
    name="unjudged",
    summary="The share of the docs in the top k that have no judgment.",
    source="One minus Judged@k.",
    convention="Divided by min(k, docs ranked); pooled but not judged (a negative relevance) is unjudged. 0 "
    "where nothing was retrieved.",
    per_query=unjudged_at_k,
    of_top=True,
    expected=expected_unjudged,
    cutoff="required",
    larger_is_better=False,
    no_bounds="measures how much is judged and is not a score",
    is_score=False,
    also_called=("hole",),
)

MEASURES = (JUDGED, UNJUDGED)
