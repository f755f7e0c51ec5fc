"""MnR: the mean over queries of the rank of the first positive."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_first_rank


def first_rank(ranking: JudgedRanking) -> Floats:
    """Return the rank of each query's first positive; the worst rank where none was retrieved."""
    return np.minimum(ranking.first_positive, ranking.worst_rank)


MNR = Definition(
    name="MnR",
    summary="The rank of the first positive, averaged over queries.",
    source="Mean rank of text-video retrieval papers (MMT, CLIP4Clip).",
    convention="Where no positive was retrieved, or the query is missing from the run: one past the run's "
    "deepest rank, which is a lower bound; exact for runs that rank the whole collection.",
    per_query=first_rank,
    expected=expected_first_rank,
    unit="rank",
    larger_is_better=False,
    bounds="monotone",
    by_first_positive=True,
    also_called=("mean_rank", "MeanR"),
)

MEASURES = (MNR,)
