"""Fleiss' kappa."""

from functools import partial

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, beyond_chance, no_pair
from fire_toolkit.resolution.votes import Votes


def explain_undefined(votes: Votes) -> str:
    """Return that there is no pairable pair, or one label in all votes; or an empty text."""
    used = np.flatnonzero(votes.by_label.any(axis=0))
    if no_pair(votes) or len(used) != 1:
        return no_pair(votes)
    return f"every judgment says {votes.labels[used[0]]!r}: there is nothing to disagree about"


# Percent agreement is taken over pairable pairs, the label shares π behind chance agreement Σ π² over all
# pairs with a vote, as many votes on a pair as it has (Fleiss 1971; Gwet, Handbook of Inter-Rater
# Reliability, 2014, for missing votes).
FLEISS_KAPPA = Statistic(
    explain_undefined,
    partial(beyond_chance, chance=lambda shares: (shares**2).sum(axis=1)),
    of_all=True,
    title="Fleiss' kappa",
)
