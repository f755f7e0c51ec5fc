"""P@k: the share of the top k that is positive."""

from __future__ import annotations

from fire_toolkit.arrays import Floats, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_found


def precision_at_k(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return |positives in the top k| / k for each query."""
    return share(count_by_query(ranking.found.to(k).query, ranking.n_queries), k)


def expected_precision(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    return expected_found(tied, k=k) / k


P = Definition(
    name="P",
    summary="The number of positives in the top k, divided by k.",
    source="trec_eval P_k.",
    convention="Divided by k, also where fewer than k docs were retrieved.",
    per_query=precision_at_k,
    expected=expected_precision,
    cutoff="required",
    bounds="monotone",
    also_called=("Precision", "Prec"),
)

MEASURES = (P,)
