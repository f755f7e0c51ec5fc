"""How far apart the annotators of a pair are, in grades."""

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, Sums, no_pair, ratio
from fire_toolkit.arrays import Ints
from fire_toolkit.resolution.votes import Votes


def sum_gaps(counts: Ints, votes: Votes) -> Sums:
    """Return the mean gap of the highest and the lowest grade of a pair; counts: pairs × labels."""
    highest = np.where(counts > 0, votes.grades, -np.inf).max(axis=1, initial=-np.inf)
    lowest = np.where(counts > 0, votes.grades, np.inf).min(axis=1, initial=np.inf)
    return ratio(highest - lowest, np.ones(len(counts)))


GRADE_GAP = Statistic(no_pair, sum_gaps)
