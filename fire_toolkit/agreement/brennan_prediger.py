"""The Brennan–Prediger coefficient."""

from __future__ import annotations

from fire_toolkit.agreement.statistic import ONE_LABEL, Statistic, Sums, beyond_chance, no_pair
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Ints


def sum_for_brennan_prediger(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return percent agreement corrected for chance 1/q, q being the number of labels that are votes.

    q counts the guideline's labels when grades were given, else the labels found (Brennan and Prediger
    1981).
    """
    return beyond_chance(counts, lambda shares: 1 / len(votes.labels))


def explain_undefined(votes: Votes, level: str) -> str:
    """Return that there is no pairable pair, or no second label; or an empty text."""
    return no_pair(votes, level) or (ONE_LABEL if len(votes.labels) < 2 else "")


BRENNAN_PREDIGER = Statistic(explain_undefined, sum_for_brennan_prediger, title="Brennan–Prediger")
