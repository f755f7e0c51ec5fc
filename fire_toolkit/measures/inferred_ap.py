"""infAP: average precision inferred from a pool of which a random sample was judged."""

from __future__ import annotations

from fire_toolkit.arrays import Floats, Ints, running_count, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition

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


INFAP = Definition(
    name="infAP",
    summary="Average precision, the precision above each positive estimated from the judged part of the "
    "pool.",
    source="Yilmaz and Aslam, CIKM 2006; trec_eval infAP (ε = 1e-5).",
    convention="A negative relevance marks a doc that was pooled but not drawn for judging; docs that the "
    "qrels lack count as not relevant. Without negative relevances it is AP but for ε.",
    per_query=inferred_average_precision,
    no_bounds="passes over unjudged docs, and has another value once they are judged",
    over_positives=True,
    skips_unjudged=True,
)

MEASURES = (INFAP,)
