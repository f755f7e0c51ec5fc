"""RBP(p), the gain of a reader who goes on with probability p, and RBP_residual(p), how far it may rise."""

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.coded import Places
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Parameter, measure

PERSISTENCE = Parameter("p", example=0.8, low=0.0, high=1.0)


def _sum_weights(docs: Places, p: float) -> Floats:
    return docs.total(docs.weight * np.power(p, docs.rank - 1))


@measure("RBP", "linear, monotone", parameters=(PERSISTENCE,))
def rank_biased_precision(ranking: JudgedRanking, *, p: float) -> Floats:
    """(1 − p) Σ p^(rank − 1) over the positives found.

    Source: Moffat and Zobel, ACM TOIS 2008.
    Convention: Positives count 1 whatever their grade. A lower bound: RBP_residual says how much unjudged
    docs, and those past the end of the list, could add.
    """
    return (1 - p) * _sum_weights(ranking.found, p)


@measure(
    "RBP_residual",
    "linear, smaller is better, no score",
    parameters=(PERSISTENCE,),
    no_bounds="is itself how far RBP could rise; take the bounds of RBP",
)
def rank_biased_residual(ranking: JudgedRanking, *, p: float) -> Floats:
    """The weight that RBP gives to unjudged docs and to all places past the end of the list.

    Source: Moffat and Zobel, ACM TOIS 2008.
    Convention: RBP lies between RBP and RBP + RBP_residual whatever the unjudged docs are; 1 for a query
    missing from the run.
    """
    return 1 - (1 - p) * _sum_weights(ranking.places(ranking.is_judged), p)
