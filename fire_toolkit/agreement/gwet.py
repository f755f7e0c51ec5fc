"""Gwet's AC1 and AC2."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.statistic import (
    ONE_LABEL,
    Statistic,
    Sums,
    beyond_chance,
    grade_counts,
    grade_labels,
    no_pair,
)
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Floats, Ints


def sum_for_ac1(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return Gwet's AC1: AC2 at the nominal level."""
    return sum_for_ac2(counts, votes, "nominal")


def sum_for_ac2(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return Gwet's AC2: agreement beyond chance where nearby grades agree in part.

    Chance agreement is Σw · Σ π (1 − π) / (q (q − 1)) over the q values, with shares π over all pairs
    with a vote; observed agreement is over pairable pairs (Gwet, Handbook of Inter-Rater Reliability,
    2014, ch. 5). Weights, 1 for the same value and 0 for the two farthest apart: nominal: identity;
    ordinal: 1 − C(|i − j| + 1, 2) / C(q, 2) of places i, j; interval: 1 − ((x − y) / (max − min))²;
    ratio: 1 − ((x − y) / (x + y))² / ((max − min) / (max + min))².
    """
    graded, values = grade_counts(counts, votes, level)
    weights = agreement_weights(values, level)
    at_most = weights.sum() / (len(values) * (len(values) - 1))
    return beyond_chance(graded, lambda shares: at_most * (shares * (1 - shares)).sum(axis=1), weights)


def explain_undefined(votes: Votes, level: str) -> str:
    """Return that there is no pairable pair, or no second value; or an empty text."""
    return no_pair(votes, level) or (ONE_LABEL if len(grade_labels(votes, level)[1]) < 2 else "")


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


GWET_AC1 = Statistic(
    lambda votes, level: explain_undefined(votes, "nominal"),
    sum_for_ac1,
    of_all=True,
    title="Gwet's AC1",
)
GWET_AC2 = Statistic(explain_undefined, sum_for_ac2, has_levels=True, of_all=True, title="Gwet's AC2")
