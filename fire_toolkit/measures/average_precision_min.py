"""AP@k/min: average precision at k, divided by the most positives that k places can hold."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.average_precision import precision_sum
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_precisions
from fire_toolkit.measures.filling import Ends, Filling


def average_precision_min(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the sum of the precisions at the positives of the top k, over min(k, |G|)."""
    return share(precision_sum(ranking, k=k), np.minimum(ranking.n_positives, k))


def expected_average_precision_min(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    return share(expected_precisions(tied, k=k), np.minimum(tied.ranking.n_positives, k))


def filled_average_precision_min(filling: Filling, *, k: int) -> Ends:
    """Return its values as unjudged docs become positives."""
    n_positives = filling.ranking.n_positives[:, None]
    return filling.over(filling.precision_sums(k), lambda n_added: np.minimum(n_positives + n_added, k))


AP_MIN = Definition(
    name="AP",
    variant="min",
    summary="The precision at the rank of each positive in the top k, summed, over min(k, |G|).",
    source="mAP@K of composed-image retrieval: Baldrati et al. 2023 (CIRCO).",
    convention="1 when the top k holds nothing but positives, or all of them first; 0 for a query without "
    "a positive.",
    per_query=average_precision_min,
    expected=expected_average_precision_min,
    cutoff="required",
    bounds="ends",
    filled=filled_average_precision_min,
    also_called=("mAP/min",),
)

MEASURES = (AP_MIN,)
