"""Fleiss' kappa."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, Sums, beyond_chance, no_pair
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Ints


def sum_for_fleiss(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return Fleiss' kappa, with as many votes on a pair as it has.

    Percent agreement is taken over pairable pairs, the label shares behind chance agreement over all
    pairs with a vote (Fleiss 1971; Gwet, Handbook of Inter-Rater Reliability, 2014, for missing votes).
    """
    return beyond_chance(counts, lambda shares: (shares**2).sum(axis=1))


def explain_undefined(votes: Votes, level: str) -> str:
    """Return that there is no pairable pair, or one label in all votes; or an empty text."""
    used = np.flatnonzero(votes.all_counts.any(axis=0))
    if len(used) != 1:
        return no_pair(votes, level)
    one = f"every judgment says {votes.labels[used[0]]!r}: there is nothing to disagree about"
    return no_pair(votes, level) or one


FLEISS_KAPPA = Statistic(explain_undefined, sum_for_fleiss, of_all=True, title="Fleiss' kappa")
