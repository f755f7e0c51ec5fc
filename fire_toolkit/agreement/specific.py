"""Specific agreement, on positives and on negatives; how common positives are; how pairs come out."""

from functools import partial

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, Sums, divide, no_pair, ratio
from fire_toolkit.arrays import Ints
from fire_toolkit.resolution.votes import Votes

NO_GRADE = "labels have no grades, so none is known to be positive (give grades)"


def sum_specific(counts: Ints, votes: Votes, *, positive: bool) -> Sums:
    """Return PA+: given that one vote on a pair is positive (grade 1 or more), the chance that another is.

    Σ c (c − 1) / Σ c (n − 1) over the pairable pairs, c of whose n votes are positive (Uebersax, A
    Generalized Kappa Coefficient, 1982; for two annotators 2a / (2a + b + c), Cicchetti and Feinstein
    1990). Undefined without a pairable pair, without grades, or when no vote on such pairs is positive.
    PA−, positive=False, is the same for votes that are not positive.

    It is 2 J / (1 + J), with J the share of agreements among the votes of pairs with such a vote: for two
    votes a pair a / (a + b + c), a share of pairs.
    """
    c = counts[:, (votes.grades >= 1) == positive].sum(axis=1)
    both, apart = c * (c - 1), c * (counts.sum(axis=1) - c)
    columns = np.stack([both, both + 2 * apart], axis=1).astype(np.float64)
    return Sums(columns, lambda totals: divide(2 * totals[:, 0], totals.sum(axis=1)))


def explain_none(votes: Votes, *, positive: bool) -> str:
    """Return that there is no pairable pair, no grade, or no vote on this side; or an empty text."""
    if no_pair(votes) or np.isnan(votes.grades).any():
        return no_pair(votes) or NO_GRADE
    if votes.counts[:, (votes.grades >= 1) == positive].any():
        return ""
    return f"no judgment on pairs with two judgments is {'positive' if positive else 'negative'}"


def sum_positives(counts: Ints, votes: Votes) -> Sums:
    """Return the share of positive votes (grade 1 or more) on a pair, averaged over the pairs."""
    return ratio(counts[:, votes.grades >= 1].sum(axis=1) / counts.sum(axis=1), np.ones(len(counts)))


def explain_no_positives(votes: Votes) -> str:
    """Return that no pair has a vote, or that labels have no grades; or an empty text."""
    if not len(votes.voting):
        return "no pair has a vote"
    return NO_GRADE if np.isnan(votes.grades).any() else ""


def sum_unanimous(counts: Ints, votes: Votes) -> Sums:
    """Return the share of pairable pairs on which all votes are for one label."""
    return ratio(counts.max(axis=1, initial=0) == counts.sum(axis=1), np.ones(len(counts)))


POSITIVE_AGREEMENT, NEGATIVE_AGREEMENT = (
    Statistic(
        partial(explain_none, positive=positive),
        partial(sum_specific, positive=positive),
        is_share=True,
        title=f"Agreement on {'positives' if positive else 'negatives'}",
    )
    for positive in (True, False)
)
PREVALENCE = Statistic(
    explain_no_positives, sum_positives, of_all=True, is_share=True, title="Share of positive votes"
)
UNANIMOUS = Statistic(no_pair, sum_unanimous, is_share=True, title="Pairs judged twice with one label")
