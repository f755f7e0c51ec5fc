"""11pt_avg: interpolated precision, averaged over eleven levels of recall."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.interpolated_precision import interpolated_precision

POINTS = tuple(step / 10 for step in range(11))


def eleven_point_average(ranking: JudgedRanking) -> Floats:
    """Return the mean of `interpolated_precision` at recall 0, .1, ..., 1."""
    total = np.zeros(ranking.n_queries)
    for recall in POINTS:
        total += interpolated_precision(ranking, recall=recall)
    return total / len(POINTS)


ELEVEN_POINTS = Definition(
    name="11pt_avg",
    summary="The mean of IPrec at recall 0, 0.1, ..., 1.",
    source="trec_eval 9, 11pt_avg.",
    convention="The shares of the positives are taken as IPrec takes them.",
    per_query=eleven_point_average,
    bounds="ends",
    also_called=("11-pt_avg",),
)

MEASURES = (ELEVEN_POINTS,)
