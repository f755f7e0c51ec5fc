"""How common positives are, and how pairs come out: shares of pairs, not of agreement beyond chance."""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.agreement.alpha import NO_PAIR
from fire_toolkit.agreement.specific import NO_GRADE
from fire_toolkit.agreement.votes import Ints, Votes

NO_VOTE = "no pair has a vote"


def prevalence(votes: Votes, level: str) -> tuple[float, str]:
    """Return the share of positive votes (grade 1 or more) on a pair, averaged over all pairs with a vote."""
    return _positive_share(votes, votes.all_counts, NO_VOTE)


def prevalence_pairable(votes: Votes, level: str) -> tuple[float, str]:
    """Return the share of positive votes on a pair, averaged over the pairable pairs.

    Far from `prevalence`, it says that the pairs judged twice are no even sample of all pairs.
    """
    return _positive_share(votes, votes.counts, NO_PAIR)


def unanimous(votes: Votes, level: str) -> tuple[float, str]:
    """Return the share of pairable pairs on which all votes are for one label."""
    counts = votes.counts
    if not len(counts):
        return math.nan, NO_PAIR
    return float((counts.max(axis=1) == counts.sum(axis=1)).mean()), ""


def resolved(votes: Votes, level: str) -> tuple[float, str]:
    """Return the share of pairs with a vote on which one label has more than half, single votes included.

    This is what the FIRE paper's Table 2 calls agreement; most of it are pairs with one vote.
    """
    counts = votes.all_counts
    if not len(counts):
        return math.nan, NO_VOTE
    return float((2 * counts.max(axis=1) > counts.sum(axis=1)).mean()), ""


def _positive_share(votes: Votes, counts: Ints, reason: str) -> tuple[float, str]:
    if not len(counts):
        return math.nan, reason
    if np.isnan(votes.grades).any():
        return math.nan, NO_GRADE
    positive = counts[:, votes.grades >= 1].sum(axis=1)
    return float((positive / counts.sum(axis=1)).mean()), ""
