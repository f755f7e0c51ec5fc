"""How common positives are, and how pairs come out: shares of pairs, not of agreement beyond chance."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.specific import NO_GRADE
from fire_toolkit.agreement.statistic import Statistic, Sums, no_pair, ratio
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Ints


def sum_positives(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the share of positive votes (grade 1 or more) on a pair, averaged over the pairs.

    Over all pairs with a vote it is the prevalence. Far from that, the share over pairable pairs says that
    the pairs judged twice are not an even sample of all pairs.
    """
    return ratio(counts[:, votes.grades >= 1].sum(axis=1) / counts.sum(axis=1), np.ones(len(counts)))


def sum_unanimous(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the share of pairable pairs on which all votes are for one label."""
    return ratio(counts.max(axis=1, initial=0) == counts.sum(axis=1), np.ones(len(counts)))


def sum_resolved(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the share of pairs with a vote on which one label has more than half, single votes included.

    This is what the FIRE paper's Table 2 calls agreement; most of it are pairs with one vote.
    """
    return ratio(2 * counts.max(axis=1, initial=0) > counts.sum(axis=1), np.ones(len(counts)))


def no_vote(votes: Votes, level: str) -> str:
    """Return that no pair has a vote, or an empty text."""
    return "" if len(votes.units) else "no pair has a vote"


def _no_grade(votes: Votes) -> str:
    return NO_GRADE if np.isnan(votes.grades).any() else ""


PREVALENCE = Statistic(
    lambda votes, level: no_vote(votes, level) or _no_grade(votes),
    sum_positives,
    of_all=True,
    is_share=True,
    title="Share of positive votes",
)
PREVALENCE_PAIRABLE = Statistic(
    lambda votes, level: no_pair(votes, level) or _no_grade(votes),
    sum_positives,
    is_share=True,
    title="Share of positive votes, pairs judged twice",
)
UNANIMOUS = Statistic(no_pair, sum_unanimous, is_share=True, title="Pairs judged twice with one label")
RESOLVED = Statistic(
    no_vote, sum_resolved, of_all=True, is_weighted=False, is_share=True, title="Pairs with a label"
)
