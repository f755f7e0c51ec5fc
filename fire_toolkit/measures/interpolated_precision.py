"""IPrec(recall=r), one point of the precision–recall curve, and 11pt_avg, the mean of eleven of them."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, max_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition, Parameter

POINTS = tuple(step / 10 for step in range(11))


def interpolated_precision(ranking: JudgedRanking, *, recall: float) -> Floats:
    """Return the largest precision at a rank by which that share of the positives was found."""
    found = ranking.found
    n_needed = np.floor(recall * ranking.n_positives + 0.9)
    is_in = found.place >= n_needed[found.query]
    return max_by_query(found.query[is_in], (found.place / found.rank)[is_in], ranking.n_queries)


def eleven_point_average(ranking: JudgedRanking) -> Floats:
    """Return the mean of `interpolated_precision` at recall 0, .1, ..., 1."""
    total = np.zeros(ranking.n_queries)
    for recall in POINTS:
        total += interpolated_precision(ranking, recall=recall)
    return total / len(POINTS)


IPREC = Definition(
    name="IPrec",
    summary="The largest precision at any rank where at least that share of the positives was found.",
    source="trec_eval 9, iprec_at_recall; the points of SHREC's precision–recall curve.",
    convention="The share of R positives is taken as floor(recall·R + 0.9) of them, as trec_eval 9 does "
    "(version 10 rounds); 0 where the run never finds as many. recall lies in [0, 1].",
    per_query=interpolated_precision,
    parameters=(Parameter("recall", example=0.5, low=0.0, high=1.0, closed=True),),
    over_positives=True,
    also_called=("iprec_at_recall", "IP"),
)
ELEVEN_POINTS = Definition(
    name="11pt_avg",
    summary="The mean of IPrec at recall 0, 0.1, ..., 1.",
    source="trec_eval 9, 11pt_avg.",
    convention="The shares of the positives are taken as IPrec takes them.",
    per_query=eleven_point_average,
    over_positives=True,
    also_called=("11-pt_avg",),
)

MEASURES = (IPREC, ELEVEN_POINTS)
