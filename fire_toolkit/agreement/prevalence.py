"""How common positives are, and how pairs come out: shares of pairs, not of agreement beyond chance."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.specific import NO_GRADE
from fire_toolkit.agreement.statistic import Statistic, Sums, no_pair, ratio
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Ints


def sum_positives(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the share of positive votes (grade 1 or more) on a pair, averaged over the pairs."""
    return ratio(counts[:, votes.grades >= 1].sum(axis=1) / counts.sum(axis=1), np.ones(len(counts)))


def sum_unanimous(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the share of pairable pairs on which all votes are for one label."""
    return ratio(counts.max(axis=1, initial=0) == counts.sum(axis=1), np.ones(len(counts)))


def explain_undefined(votes: Votes, level: str) -> str:
    """Return that no pair has a vote, or that labels have no grades; or an empty text."""
    if not len(votes.units):
        return "no pair has a vote"
    return NO_GRADE if np.isnan(votes.grades).any() else ""


PREVALENCE = Statistic(
    explain_undefined,
    sum_positives,
    of_all=True,
    is_share=True,
    title="Share of positive votes",
)
UNANIMOUS = Statistic(no_pair, sum_unanimous, is_share=True, title="Pairs judged twice with one label")
