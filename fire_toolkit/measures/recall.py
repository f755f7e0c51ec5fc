"""R@k: the share of a query's positives that stand in the top k."""

from __future__ import annotations

from fire_toolkit.arrays import Floats, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_found


def recall_at_k(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return |positives in the top k| / |G| for each query; 0 where |G| is 0."""
    return share(count_by_query(ranking.found.to(k).query, ranking.n_queries), ranking.n_positives)


def expected_recall(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    return share(expected_found(tied, k=k), tied.ranking.n_positives)


R = Definition(
    name="R",
    summary="The share of all positives of the query that stand in the top k.",
    source="Manning et al. 2008; FIRE eq. 1; trec_eval recall_k.",
    convention="Divided by |G|, also where |G| > k; 0 for a query without a positive. Papers on video and "
    "image retrieval call C@k by this name; the two are equal where each query has one positive.",
    per_query=recall_at_k,
    expected=expected_recall,
    cutoff="required",
    bounds="monotone",
    also_called=("Recall",),
)

MEASURES = (R,)
