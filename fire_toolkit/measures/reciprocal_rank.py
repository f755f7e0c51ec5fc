"""RR: one over the rank of the first positive."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_reciprocal_rank


def reciprocal_rank(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """Return 1 / rank of the first positive for each query; 0 where none stands in the top k."""
    first = ranking.first_positive
    return np.where(first <= (np.inf if k is None else k), 1 / first, 0.0)


RR = Definition(
    name="RR",
    summary="One divided by the rank of the first positive; its mean is known as MRR.",
    source="trec_eval recip_rank.",
    convention="0 where no positive was retrieved, or none in the top k.",
    per_query=reciprocal_rank,
    expected=expected_reciprocal_rank,
    cutoff="optional",
    bounds="monotone",
    by_first_positive=True,
    also_called=("MRR", "recip_rank"),
)

MEASURES = (RR,)
