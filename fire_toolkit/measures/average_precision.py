"""AP and AP@k: average precision, divided by the number of positives."""

from __future__ import annotations

from fire_toolkit.arrays import Floats, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_precisions
from fire_toolkit.measures.filling import Ends, Filling


def average_precision(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """Return the sum of the precisions at the positives of the top k (of all, without k), over |G|."""
    return share(precision_sum(ranking, k=k), ranking.n_positives)


def precision_sum(ranking: JudgedRanking, *, k: int | None) -> Floats:
    """Return for each query the sum of the precision at the rank of each positive in the top k."""
    found = ranking.found.to(k)
    return sum_by_query(found.query, found.place / found.rank, ranking.n_queries)


def expected_average_precision(tied: TiedRanking, *, k: int | None = None) -> Floats:
    """Return its mean over all orders of tied docs."""
    return share(expected_precisions(tied, k=k), tied.ranking.n_positives)


def filled_average_precision(filling: Filling, *, k: int | None = None) -> Ends:
    """Return its values as unjudged docs become positives."""
    return filling.shares(filling.precision_sums(k))


AP = Definition(
    name="AP",
    summary="The precision at the rank of each positive found, summed, over all positives |G|.",
    source="trec_eval map, and map_cut_k with a cutoff.",
    convention="Divided by |G|, with a cutoff too (AP@k/min and AP_fire@k divide otherwise); 0 for a query "
    "without a positive. Without a cutoff it depends on how deep the run is; positives kept below the top "
    "count at their exact ranks.",
    per_query=average_precision,
    expected=expected_average_precision,
    cutoff="optional",
    bounds="ends",
    filled=filled_average_precision,
    also_called=("mAP", "map_cut", "average_precision"),
)

MEASURES = (AP,)
