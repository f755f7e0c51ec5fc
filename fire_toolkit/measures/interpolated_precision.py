"""IPrec(recall=r), one point of the precision–recall curve, and 11pt_avg, the mean of eleven of them."""

from collections.abc import Callable

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Parameter, measure

RECALL = Parameter("recall", example=0.5, low=0.0, high=1.0, closed=True)


def rounded(number: Floats) -> Floats:
    """Return the nearest whole numbers, halves away from 0 (C's lround)."""
    whole = np.trunc(number)
    return np.asarray(whole + (number - whole >= 0.5))


def nearly_raised(number: Floats) -> Floats:
    """Return floor(number + 0.9), as trec_eval 9 takes a share of the positives."""
    return np.asarray(np.floor(number + 0.9))


def _largest(ranking: JudgedRanking, recall: float, whole: Callable[[Floats], Floats]) -> Floats:
    """Return the largest precision at a rank by which that share of the positives was found."""
    found = ranking.found
    n_needed = whole(recall * ranking.n_positives.astype(np.float64))
    is_in = found.place >= n_needed[found.query]
    largest = np.zeros(ranking.n_queries)
    np.maximum.at(largest, found.query[is_in], (found.place / found.rank)[is_in])
    return largest


def _mean_of_eleven(ranking: JudgedRanking, whole: Callable[[Floats], Floats]) -> Floats:
    points = [_largest(ranking, step / 10, whole) for step in range(11)]
    return np.asarray(np.sum(points, axis=0) / len(points))


@measure("IPrec", "over positives", parameters=(RECALL,), also_called=("iprec_at_recall", "IP"))
def interpolated_precision(ranking: JudgedRanking, *, recall: float) -> Floats:
    """The largest precision at any rank where at least that share of the positives was found.

    Source: trec_eval 10, iprec_at_recall; the points of SHREC's precision–recall curve.
    Convention: The share of R positives is recall·R of them, rounded, halves up; 0 where the run never finds
    as many. recall lies in [0, 1]. IPrec/v9 has the rule of earlier versions.
    """
    return _largest(ranking, recall, rounded)


@measure("IPrec/v9", "over positives", parameters=(RECALL,))
def interpolated_precision_v9(ranking: JudgedRanking, *, recall: float) -> Floats:
    """The largest precision at any rank where at least that share of the positives was found.

    Source: trec_eval 9, iprec_at_recall.
    Convention: As IPrec, but the share of R positives is floor(recall·R + 0.9) of them, which trec_eval 10
    gave up because the result depended on the platform.
    """
    return _largest(ranking, recall, nearly_raised)


@measure("11pt_avg", "over positives", also_called=("11-pt_avg",))
def eleven_points(ranking: JudgedRanking) -> Floats:
    """The mean of IPrec at recall 0, 0.1, ..., 1.

    Source: trec_eval 10, 11pt_avg.
    Convention: The shares of the positives are taken as IPrec takes them.
    """
    return _mean_of_eleven(ranking, rounded)


@measure("11pt_avg/v9", "over positives")
def eleven_points_v9(ranking: JudgedRanking) -> Floats:
    """The mean of IPrec/v9 at recall 0, 0.1, ..., 1.

    Source: trec_eval 9, 11pt_avg.
    Convention: The shares of the positives are taken as IPrec/v9 takes them.
    """
    return _mean_of_eleven(ranking, nearly_raised)
