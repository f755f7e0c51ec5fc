"""Fleiss' kappa and Gwet's AC1: agreement beyond what two votes would agree on by chance."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, Sums, agreeing_share, divide, no_pair
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.resolution.votes import Votes

ONE_LABEL = "there is only one label, so any agreement is by chance"


def beyond_chance(counts: Ints, votes: Votes, chance: Callable[[Floats], Any]) -> Sums:
    """Return (observed − chance) / (1 − chance), observed being `agreeing_share`.

    chance: label shares (any number × labels) to agreement by chance. A label's share is that of the votes
    on a pair, averaged over all pairs given, single votes included.
    """
    observed = agreeing_share(counts, votes)

    def value(totals: Floats) -> Floats:
        by_chance = chance(totals[:, 2:] / totals[:, 2:].sum(axis=1, keepdims=True))
        return divide(observed.value(totals) - by_chance, 1 - by_chance)

    return Sums(np.column_stack([observed.columns, counts / counts.sum(axis=1, keepdims=True)]), value)


def explain_undefined(votes: Votes) -> str:
    """Return that there is no pairable pair, or one label in all votes; or an empty text."""
    used = np.flatnonzero(votes.by_label.any(axis=0))
    if no_pair(votes) or len(used) != 1:
        return no_pair(votes)
    return f"every judgment says {votes.labels[used[0]]!r}: there is nothing to disagree about"


def sum_for_ac1(counts: Ints, votes: Votes) -> Sums:
    """Return Gwet's AC1: agreement beyond a chance that is small where one label is common.

    Chance agreement is Σ π (1 − π) / (q − 1) over the q labels, with shares π over all pairs with a vote;
    observed agreement is over pairable pairs (Gwet, Handbook of Inter-Rater Reliability, 2014, ch. 4).
    """
    at_most = 1 / (len(votes.labels) - 1)
    return beyond_chance(counts, votes, lambda shares: at_most * (shares * (1 - shares)).sum(axis=1))


# Percent agreement is taken over pairable pairs, the label shares π behind chance agreement Σ π² over all
# pairs with a vote, as many votes on a pair as it has (Fleiss 1971; Gwet, Handbook of Inter-Rater
# Reliability, 2014, for missing votes).
FLEISS_KAPPA = Statistic(
    explain_undefined,
    partial(beyond_chance, chance=lambda shares: (shares**2).sum(axis=1)),
    of_all=True,
    title="Fleiss' kappa",
)
GWET_AC1 = Statistic(
    lambda votes: no_pair(votes) or (ONE_LABEL if len(votes.labels) < 2 else ""),
    sum_for_ac1,
    of_all=True,
    title="Gwet's AC1",
)
