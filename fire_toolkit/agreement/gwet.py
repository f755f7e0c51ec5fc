"""Gwet's AC1."""

from fire_toolkit.agreement.statistic import Statistic, Sums, beyond_chance, no_pair
from fire_toolkit.arrays import Ints
from fire_toolkit.resolution.votes import Votes

ONE_LABEL = "there is only one label, so any agreement is by chance"


def sum_for_ac1(counts: Ints, votes: Votes) -> Sums:
    """Return Gwet's AC1: agreement beyond a chance that is small where one label is common.

    Chance agreement is Σ π (1 − π) / (q − 1) over the q labels, with shares π over all pairs with a vote;
    observed agreement is over pairable pairs (Gwet, Handbook of Inter-Rater Reliability, 2014, ch. 4).
    """
    at_most = 1 / (len(votes.labels) - 1)
    return beyond_chance(counts, votes, lambda shares: at_most * (shares * (1 - shares)).sum(axis=1))


GWET_AC1 = Statistic(
    lambda votes: no_pair(votes) or (ONE_LABEL if len(votes.labels) < 2 else ""),
    sum_for_ac1,
    of_all=True,
    title="Gwet's AC1",
)
