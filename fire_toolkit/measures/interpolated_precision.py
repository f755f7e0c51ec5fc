"""IPrec(recall=r), one point of the precision–recall curve, and 11pt_avg, the mean of eleven of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fire_toolkit.arrays import Floats, max_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition, Parameter
from fire_toolkit.measures.filling import Ends, Filling

POINTS = tuple(step / 10 for step in range(11))


def interpolated_precision(ranking: JudgedRanking, *, recall: float) -> Floats:
    """Return the largest precision at a rank by which that share of the positives was found."""
    found = ranking.found
    n_needed = np.floor(recall * ranking.n_positives + 0.9)
    is_in = found.place >= n_needed[found.query]
    return max_by_query(found.query[is_in], (found.place / found.rank)[is_in], ranking.n_queries)


def filled_interpolated_precision(filling: Filling, *, recall: float) -> Ends:
    """Return its values as unjudged docs become positives."""
    first, last = filled_interpolated_precisions(filling, (recall,))
    return first[0], last[0]


def filled_interpolated_precisions(filling: Filling, recalls: Sequence[float]) -> Ends:
    """Return the values at some recalls (n_recalls, n_queries, depth), as unjudged docs become positives.

    Precision is greatest at a positive that a judged doc follows, or the end, or an unjudged doc.
    """
    both = []
    for side, n_positives in enumerate(filling.n_positives):
        n_needed = [np.floor(recall * n_positives + 0.9) for recall in recalls]
        best = np.zeros((len(recalls), *n_positives.shape))
        for rank, n_found in filling.turns(side):
            precision = n_found / rank
            for level, needed in zip(best, n_needed, strict=True):
                np.maximum(level, precision, out=level, where=n_found >= needed)
        both.append(best)
    return both[0], both[1]


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


IPREC = Definition(
    name="IPrec",
    summary="The largest precision at any rank where at least that share of the positives was found.",
    source="trec_eval 9, iprec_at_recall; the points of SHREC's precision–recall curve.",
    convention="The share of R positives is taken as floor(recall·R + 0.9) of them, as trec_eval 9 does "
    "(version 10 rounds); 0 where the run never finds as many. recall lies in [0, 1].",
    per_query=interpolated_precision,
    parameters=(Parameter("recall", example=0.5, low=0.0, high=1.0, closed=True),),
    bounds="ends",
    over_positives=True,
    filled=filled_interpolated_precision,
    also_called=("iprec_at_recall", "IP"),
)
ELEVEN_POINTS = Definition(
    name="11pt_avg",
    summary="The mean of IPrec at recall 0, 0.1, ..., 1.",
    source="trec_eval 9, 11pt_avg.",
    convention="The shares of the positives are taken as IPrec takes them.",
    per_query=eleven_point_average,
    bounds="ends",
    over_positives=True,
    filled=filled_eleven_point_average,
    also_called=("11-pt_avg",),
)

MEASURES = (IPREC, ELEVEN_POINTS)
