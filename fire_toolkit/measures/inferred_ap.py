"""infAP: average precision inferred from a pool of which a random sample was judged."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, Ints, running_count, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.filling import Ends, Filling

_EPSILON = 0.00001
_Numbers = Ints | Floats


def inferred_average_precision(ranking: JudgedRanking) -> Floats:
    """Return 1/R Σ over the positives found of 1/k + (d/k) (r + ε) / (r + n + 2ε).

    k is the rank; above it stand d pooled docs, r of them judged positive and n judged not relevant.
    """
    is_positive, found = ranking.is_positive, ranking.found
    n_pooled = running_count(ranking.query)[is_positive] - 1
    n_nonrelevant = running_count(ranking.query, ranking.relevance == 0)[is_positive]
    n_relevant = found.place - 1
    precision = (n_relevant + _EPSILON) / (n_relevant + n_nonrelevant + 2 * _EPSILON)
    expected = 1 / found.rank + n_pooled / found.rank * precision
    return share(sum_by_query(found.query, expected, ranking.n_queries), ranking.n_positives)


def filled_inferred_average_precision(filling: Filling) -> Ends:
    """Return its values as unjudged docs become positives, and the other docs of the top are not."""
    ranking, found = filling.ranking, filling.ranking.found
    n_ranked = ranking.n_retrieved[found.query]
    n_pooled, n_judged = (
        np.where(found.rank <= n_ranked, found.rank - 1, n_ranked + n_below)
        for n_below in (
            running_count(ranking.query, ~ranking.is_in_top & is_counted)[ranking.is_positive] - 1
            for is_counted in (True, ranking.is_judged)
        )
    )
    rank = np.arange(1, filling.is_open.shape[1] + 1).astype(np.float64)
    weights = _weights(found.rank, n_pooled, n_judged)
    return filling.shares(filling.sums_of_places(found, weights, _weights(rank, rank - 1, rank - 1)))


def _weights(rank: Floats, n_pooled: _Numbers, n_judged: _Numbers) -> tuple[Floats, Floats]:
    """Return what a positive adds by itself, and for each positive above it."""
    each = n_pooled / rank / (n_judged + 2 * _EPSILON)
    return 1 / rank + _EPSILON * each, each


INFAP = Definition(
    name="infAP",
    summary="Average precision, the precision above each positive estimated from the judged part of the "
    "pool.",
    source="Yilmaz and Aslam, CIKM 2006; trec_eval infAP (ε = 1e-5).",
    convention="A negative relevance marks a doc that was pooled but not drawn for judging; docs that the "
    "qrels lack count as not relevant. Without negative relevances it is AP but for ε.",
    per_query=inferred_average_precision,
    bounds="ends",
    over_positives=True,
    filled=filled_inferred_average_precision,
    skips_unjudged=True,
)

MEASURES = (INFAP,)
