"""Gwet's AC1 and AC2."""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.agreement.alpha import graded_counts
from fire_toolkit.agreement.chance import ONE_LABEL, beyond_chance, no_pair
from fire_toolkit.agreement.votes import Floats, Votes


def gwet_ac1(votes: Votes, level: str) -> tuple[float, str]:
    """Return Gwet's AC1: AC2 at the nominal level."""
    return gwet_ac2(votes, "nominal")


def gwet_ac2(votes: Votes, level: str) -> tuple[float, str]:
    """Return Gwet's AC2: agreement beyond chance where nearby grades agree in part.

    Chance agreement is Σw · Σ π (1 − π) / (q (q − 1)) over the q values, with shares π over all pairs
    with a vote; observed agreement is over pairable pairs (Gwet, Handbook of Inter-Rater Reliability,
    2014, ch. 5). Weights, 1 for the same value and 0 for the two farthest apart: nominal: identity;
    ordinal: 1 − C(|i − j| + 1, 2) / C(q, 2) of places i, j; interval: 1 − ((x − y) / (max − min))²;
    ratio: 1 − ((x − y) / (x + y))² / ((max − min) / (max + min))².
    """
    reason = no_pair(votes)
    if reason:
        return math.nan, reason
    counts, values = graded_counts(votes, level, pairable=False)
    q = len(values)
    if q < 2:
        return math.nan, ONE_LABEL
    weights = agreement_weights(values, level)
    n_votes = counts.sum(axis=1)
    paired = n_votes >= 2
    observed = _observed(counts[paired].astype(np.float64), n_votes[paired], weights)
    shares = (counts / n_votes[:, None]).mean(axis=0)
    chance = weights.sum() * (shares * (1 - shares)).sum() / (q * (q - 1))
    return beyond_chance(observed, float(chance), ONE_LABEL)


def _observed(counts: Floats, n_votes: Floats, weights: Floats) -> float:
    agreeing = (counts * (counts @ weights - 1)).sum(axis=1)
    return float((agreeing / (n_votes * (n_votes - 1))).mean())


def agreement_weights(values: Floats, level: str) -> Floats:
    """Return the weight of every two of `values` (ascending, two or more): values × values."""
    if level == "nominal":
        return np.eye(len(values))
    apart = np.abs(values[:, None] - values)
    if level == "ordinal":
        steps = np.abs(np.subtract.outer(np.arange(len(values)), np.arange(len(values))))
        distance = steps * (steps + 1) / 2
    elif level == "interval":
        distance = apart**2
    else:
        total = values[:, None] + values
        distance = np.divide(apart, total, out=np.zeros_like(apart), where=total > 0) ** 2
    return np.asarray(1 - distance / distance.max())
