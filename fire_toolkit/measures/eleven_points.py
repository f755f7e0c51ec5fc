"""11pt_avg: interpolated precision, averaged over eleven levels of recall."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.filling import Ends, Filling
from fire_toolkit.measures.interpolated_precision import (
    filled_interpolated_precisions,
    interpolated_precision,
)

POINTS = tuple(step / 10 for step in range(11))


def eleven_point_average(ranking: JudgedRanking) -> Floats:
    """Return the mean of `interpolated_precision` at recall 0, .1, ..., 1."""
    total = np.zeros(ranking.n_queries)
    for recall in POINTS:
        total += interpolated_precision(ranking, recall=recall)
    return total / len(POINTS)


def filled_eleven_point_average(filling: Filling) -> Ends:
    """Return its values as unjudged docs become positives."""
    first, last = filled_interpolated_precisions(filling, POINTS)
    return first.mean(axis=0), last.mean(axis=0)


ELEVEN_POINTS = Definition(
    name="11pt_avg",
    summary="The mean of IPrec at recall 0, 0.1, ..., 1.",
    source="trec_eval 9, 11pt_avg.",
    convention="The shares of the positives are taken as IPrec takes them.",
    per_query=eleven_point_average,
    bounds="ends",
    filled=filled_eleven_point_average,
    also_called=("11-pt_avg",),
)

MEASURES = (ELEVEN_POINTS,)
