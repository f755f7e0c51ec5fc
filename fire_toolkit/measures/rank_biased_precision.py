"""RBP(p): the gain of a reader who goes on to the next doc with probability p."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition, Parameter
from fire_toolkit.measures.expected import expected_sum

PERSISTENCE = Parameter("p", example=0.8, low=0.0, high=1.0)


def rank_biased_precision(ranking: JudgedRanking, *, p: float) -> Floats:
    """Return (1 − p) Σ p^(rank − 1) over the positives found, for each query."""
    found = ranking.found
    return (1 - p) * sum_by_query(found.query, np.power(p, found.rank - 1), ranking.n_queries)


def expected_rank_biased_precision(tied: TiedRanking, *, p: float) -> Floats:
    """Return its mean over all orders of tied docs."""
    return (1 - p) * expected_sum(tied, lambda rank: np.power(p, rank - 1), tied.ranking.is_positive)


RBP = Definition(
    name="RBP",
    summary="(1 − p) Σ p^(rank − 1) over the positives found.",
    source="Moffat and Zobel, ACM TOIS 2008.",
    convention="Positives count 1 whatever their grade. A lower bound: RBP_residual says how much unjudged "
    "docs, and those past the end of the list, could add.",
    per_query=rank_biased_precision,
    expected=expected_rank_biased_precision,
    parameters=(PERSISTENCE,),
    bounds="monotone",
)

MEASURES = (RBP,)
