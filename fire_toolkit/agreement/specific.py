"""Specific agreement: agreement on positives and on negatives, each on its own."""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.agreement.alpha import NO_PAIR
from fire_toolkit.agreement.votes import Votes

NO_GRADE = "labels have no grades, so none is known to be positive (give grades)"


def positive_agreement(votes: Votes, level: str) -> tuple[float, str]:
    """Return PA+: given that one vote on a pair is positive (grade 1 or more), the chance that another is.

    Σ c (c − 1) / Σ c (n − 1) over the pairable pairs, c of whose n votes are positive (Uebersax, A
    Generalized Kappa Coefficient, 1982; for two annotators 2a / (2a + b + c), Cicchetti and Feinstein
    1990). Undefined without a pairable pair, without grades, or when no vote on such pairs is positive.
    """
    return _specific(votes, positive=True)


def negative_agreement(votes: Votes, level: str) -> tuple[float, str]:
    """Return PA−: as PA+, for votes that are not positive (grade below 1)."""
    return _specific(votes, positive=False)


def _specific(votes: Votes, *, positive: bool) -> tuple[float, str]:
    counts = votes.counts
    if not len(counts):
        return math.nan, NO_PAIR
    if np.isnan(votes.grades).any():
        return math.nan, NO_GRADE
    c = counts[:, (votes.grades >= 1) == positive].sum(axis=1)
    possible = (c * (counts.sum(axis=1) - 1)).sum()
    if not possible:
        kind = "positive" if positive else "negative"
        return math.nan, f"no judgment on pairs with two judgments is {kind}"
    return float((c * (c - 1)).sum() / possible), ""
