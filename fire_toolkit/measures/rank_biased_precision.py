"""RBP(p), the gain of a reader who goes on with probability p, and RBP_residual(p), how far it may rise."""

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


def rank_biased_residual(ranking: JudgedRanking, *, p: float) -> Floats:
    """Return (1 − p) Σ p^(rank − 1) over the unjudged docs retrieved, plus p^n past the n retrieved."""
    is_judged = ranking.is_judged
    weights = np.power(p, ranking.rank[is_judged] - 1)
    return 1 - (1 - p) * sum_by_query(ranking.query[is_judged], weights, ranking.n_queries)


def expected_rank_biased_residual(tied: TiedRanking, *, p: float) -> Floats:
    """Return its mean over all orders of tied docs."""
    is_judged = tied.ranking.is_judged
    return 1 - (1 - p) * expected_sum(tied, lambda rank: np.power(p, rank - 1), is_judged)


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
RBP_RESIDUAL = Definition(
    name="RBP_residual",
    summary="The weight that RBP gives to unjudged docs and to all places past the end of the list.",
    source="Moffat and Zobel, ACM TOIS 2008.",
    convention="RBP lies between RBP and RBP + RBP_residual whatever the unjudged docs are; 1 for a query "
    "missing from the run.",
    per_query=rank_biased_residual,
    expected=expected_rank_biased_residual,
    parameters=(PERSISTENCE,),
    larger_is_better=False,
    is_score=False,
    no_bounds="is itself how far RBP could rise; take the bounds of RBP",
)

MEASURES = (RBP, RBP_RESIDUAL)
