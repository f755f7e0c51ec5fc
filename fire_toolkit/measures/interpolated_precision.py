"""IPrec(recall=r), one point of the precision–recall curve, and 11pt_avg, the mean of eleven of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from fire_toolkit.arrays import Floats, max_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition, Parameter

POINTS = tuple(step / 10 for step in range(11))


def rounded(number: Floats) -> Floats:
    """Return the nearest whole numbers, halves away from 0 (C's lround)."""
    whole = np.trunc(number)
    return np.asarray(whole + (number - whole >= 0.5))


def nearly_raised(number: Floats) -> Floats:
    """Return floor(number + 0.9), as trec_eval 9 takes a share of the positives."""
    return np.asarray(np.floor(number + 0.9))


def interpolated_precision(
    ranking: JudgedRanking, *, recall: float, whole: Callable[[Floats], Floats] = rounded
) -> Floats:
    """Return the largest precision at a rank by which that share of the positives was found."""
    found = ranking.found
    n_needed = whole(recall * ranking.n_positives.astype(np.float64))
    is_in = found.place >= n_needed[found.query]
    return max_by_query(found.query[is_in], (found.place / found.rank)[is_in], ranking.n_queries)


def eleven_point_average(ranking: JudgedRanking, *, whole: Callable[[Floats], Floats] = rounded) -> Floats:
    """Return the mean of `interpolated_precision` at recall 0, .1, ..., 1."""
    total = np.zeros(ranking.n_queries)
    for recall in POINTS:
        total += interpolated_precision(ranking, recall=recall, whole=whole)
    return total / len(POINTS)


IPREC = Definition(
    name="IPrec",
    summary="The largest precision at any rank where at least that share of the positives was found.",
    source="trec_eval 10, iprec_at_recall; the points of SHREC's precision–recall curve.",
    convention="The share of R positives is recall·R of them, rounded, halves up; 0 where the run never "
    "finds as many. recall lies in [0, 1]. IPrec/v9 has the rule of earlier versions.",
    per_query=interpolated_precision,
    parameters=(Parameter("recall", example=0.5, low=0.0, high=1.0, closed=True),),
    over_positives=True,
    also_called=("iprec_at_recall", "IP"),
)
IPREC_V9 = replace(
    IPREC,
    variant="v9",
    source="trec_eval 9, iprec_at_recall.",
    convention="As IPrec, but the share of R positives is floor(recall·R + 0.9) of them, which trec_eval 10 "
    "gave up because the result depended on the platform.",
    per_query=partial(interpolated_precision, whole=nearly_raised),
    also_called=(),
)
ELEVEN_POINTS = Definition(
    name="11pt_avg",
    summary="The mean of IPrec at recall 0, 0.1, ..., 1.",
    source="trec_eval 10, 11pt_avg.",
    convention="The shares of the positives are taken as IPrec takes them.",
    per_query=eleven_point_average,
    over_positives=True,
    also_called=("11-pt_avg",),
)
ELEVEN_POINTS_V9 = replace(
    ELEVEN_POINTS,
    variant="v9",
    summary="The mean of IPrec/v9 at recall 0, 0.1, ..., 1.",
    source="trec_eval 9, 11pt_avg.",
    convention="The shares of the positives are taken as IPrec/v9 takes them.",
    per_query=partial(eleven_point_average, whole=nearly_raised),
    also_called=(),
)

MEASURES = (IPREC, IPREC_V9, ELEVEN_POINTS, ELEVEN_POINTS_V9)
