"""C@k: whether a positive stands in the top k; also under the names hit@k and Success@k."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_hit


def correct_at_k(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return 1 for each query with a positive in its top k, else 0."""
    return (ranking.first_positive <= k).astype(np.float64)


C = Definition(
    name="C",
    summary="1 if a positive stands in the top k, else 0.",
    source="Rodriguez et al. 2022 (FIRE) §2.1; trec_eval success_k.",
    convention="0 for a query without a positive, or missing from the run. Papers on video and image "
    "retrieval call it R@K, which it equals where each query has one positive.",
    per_query=correct_at_k,
    cutoff="required",
    expected=expected_hit,
    bounds="monotone",
    is_binary=True,
    by_first_positive=True,
    also_called=("Correct",),
)
HIT = replace(C, name="hit", summary="C@k under another name.", also_called=("hits", "HR"))
SUCCESS = replace(C, name="Success", summary="C@k as trec_eval names it.", also_called=())

MEASURES = (C, HIT, SUCCESS)
