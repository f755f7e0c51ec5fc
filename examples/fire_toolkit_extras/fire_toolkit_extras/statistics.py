"""How far apart the annotators of a pair are, in grades."""

import math

import numpy as np

from fire_toolkit.agreement.registry import Statistic
from fire_toolkit.agreement.sums import Sums
from fire_toolkit.agreement.votes import Ints, Votes


def gaps(counts: Ints, votes: Votes) -> np.ndarray:
    """Return the highest less the lowest grade that each pair was given; counts: pairs × labels."""
    highest = np.where(counts > 0, votes.grades, -np.inf).max(axis=1, initial=-np.inf)
    lowest = np.where(counts > 0, votes.grades, np.inf).min(axis=1, initial=np.inf)
    return highest - lowest


def grade_gap(votes: Votes, level: str) -> tuple[float, str]:
    """Return the mean gap of the pairs with two votes or more, nan where there is none."""
    if not len(votes.counts):
        return math.nan, "no pair has two judgments"
    return float(gaps(votes.counts, votes).mean()), ""


def grade_gap_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the same as sums over pairs, which weights and intervals are made of."""
    columns = np.column_stack([gaps(counts, votes), np.ones(len(counts))])
    return Sums(columns, np.array([True, True]), lambda totals: totals[:, 0] / totals[:, 1])


GRADE_GAP = Statistic(grade_gap, grade_gap_sums)
