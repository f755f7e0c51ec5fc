"""Specific agreement: agreement on positives and on negatives, each on its own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fire_toolkit.agreement.statistic import Statistic, Sums, divide, no_pair
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Ints

NO_GRADE = "labels have no grades, so none is known to be positive (give grades)"


def sum_positive(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return PA+: given that one vote on a pair is positive (grade 1 or more), the chance that another is.

    Σ c (c − 1) / Σ c (n − 1) over the pairable pairs, c of whose n votes are positive (Uebersax, A
    Generalized Kappa Coefficient, 1982; for two annotators 2a / (2a + b + c), Cicchetti and Feinstein
    1990). Undefined without a pairable pair, without grades, or when no vote on such pairs is positive.
    """
    return _specific(counts, votes.grades >= 1)


def sum_negative(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return PA−: as PA+, for votes that are not positive (grade below 1)."""
    return _specific(counts, ~(votes.grades >= 1))


def _specific(counts: Ints, chosen: npt.NDArray[np.bool_]) -> Sums:
    """Return the share J of agreements among the votes of pairs with a chosen one; PA is 2 J / (1 + J).

    For two votes a pair J is a / (a + b + c): given the pairs with a chosen vote, a share of pairs.
    """
    c = counts[:, chosen].sum(axis=1)
    both, apart = c * (c - 1), c * (counts.sum(axis=1) - c)
    columns = np.stack([both, both + 2 * apart], axis=1).astype(np.float64)
    return Sums(columns, lambda totals: divide(2 * totals[:, 0], totals.sum(axis=1)))


def _why_none(votes: Votes, *, positive: bool) -> str:
    if np.isnan(votes.grades).any() or not len(votes.counts):
        return no_pair(votes, "nominal") or NO_GRADE
    if votes.counts[:, (votes.grades >= 1) == positive].any():
        return ""
    return f"no judgment on pairs with two judgments is {'positive' if positive else 'negative'}"


POSITIVE_AGREEMENT = Statistic(
    lambda votes, level: _why_none(votes, positive=True),
    sum_positive,
    is_share=True,
    title="Agreement on positives",
)
NEGATIVE_AGREEMENT = Statistic(
    lambda votes, level: _why_none(votes, positive=False),
    sum_negative,
    is_share=True,
    title="Agreement on negatives",
)
