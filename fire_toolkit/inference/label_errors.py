"""Error rates of votes from the votes alone, and labels as unbiased estimates of what is true.

t is the chance that a vote on a relevant pair is positive, f that one on another pair is. Votes on one pair
are taken as independent given the truth; `alarm_of_fourth_votes` tests it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.tables.design import CLASSES, DOUBLED, SINGLE

LEAST_GAP = 0.5
MOST_INVALID = 0.05
MOST_VARIANCE = 4.0
ALARM = -1.645


class VoteCounts(NamedTuple):
    """Pairs of one class, and how many have which votes; arrays hold resamples.

    n: pairs; first: with a positive first vote (of doubled pairs N11 + Nd / 2, as no vote is the first);
    both: with two positive votes; third: with votes 1, 0, 1 (of doubled pairs half of the disagreements
    whose third vote is positive).
    """

    n: Floats
    first: Floats
    both: Floats
    third: Floats

    @classmethod
    def of_doubled(cls, n: Any, n_both: Any, n_differ: Any, n_third: Any) -> VoteCounts:
        """Return the counts of pairs with two votes, and a positive third vote on `n_third` that differ."""
        return cls(*map(np.asarray, (n, n_both + np.asarray(n_differ) / 2, n_both, np.asarray(n_third) / 2)))


class ErrorRates(NamedTuple):
    """t and f of one vote, and the share of relevant pairs among those counted; nan where none exist."""

    t: Floats
    f: Floats
    prevalence: Floats

    @property
    def precision(self) -> Floats:
        """The share of relevant pairs among those with a positive vote."""
        found = self.prevalence * self.t
        return found / (found + (1 - self.prevalence) * self.f)


def error_rates(counts: VoteCounts) -> ErrorRates:
    """Return the rates with which three votes come as they came.

    With m1 = P(1), m2 = P(1, 1) and m3 = P(1, 1, 1) = m2 − P(1, 0, 1), s = (m3 − m1·m2) / (m2 − m1²) and
    p = s·m1 − m2 are sum and product of t and f (method of moments of two latent classes; Lazarsfeld and
    Henry 1968, ch. 2).

    Returns:
        The rates; nan where a rate is not a probability, or votes tell nothing (m2 = m1²).

    Examples:
        >>> found = error_rates(VoteCounts.of_doubled(1000, 100, 80, 20))
        >>> [round(float(x), 6) for x in (*found, found.precision)]
        [0.909726, 0.035547, 0.119487, 0.77643]
    """
    n, first, both, third = (np.asarray(each, dtype=np.float64) for each in counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        m1, m2 = first / n, both / n
        m3 = m2 - third / n
        total = (m3 - m1 * m2) / (m2 - m1**2)
        root = np.sqrt(total**2 - 4 * (total * m1 - m2))
        t, f = (total + root) / 2, (total - root) / 2
        prevalence = (m1 - f) / (t - f)
    margin = 1e-12
    is_valid = (t <= 1 + margin) & (f >= -margin) & (prevalence >= -margin) & (prevalence <= 1 + margin)
    t, f, prevalence = (np.where(is_valid, np.clip(each, 0, 1), np.nan) for each in (t, f, prevalence))
    return ErrorRates(t, f, prevalence)


def rates_without_thirds(m1: float, m2: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of t and f that two votes leave open: f = (m2 − t·m1) / (m1 − t).

    Examples:
        >>> t, f = rates_without_thirds(0.1544, 0.111424)
        >>> [round(x, 4) for x in (*t, *f)]
        [0.7217, 1.0, 0.0, 0.0508]
    """
    return (m2 / m1, 1.0), (0.0, (m1 - m2) / (1 - m1))


def class_rate(rate: Any, design_class: str) -> Any:
    """Return the rate with which a pair's label is positive, given that of one vote.

    Examples:
        >>> [round(class_rate(0.92, name), 6) for name in ("single", "doubled", "verify")]
        [0.92, 0.981824, 0.914112]
        >>> [round(class_rate(0.04, name), 6) for name in ("single", "doubled", "verify")]
        [0.04, 0.004672, 0.003136]
    """
    if design_class not in CLASSES:
        raise UsageError(f"design class {design_class!r}; expected one of {', '.join(CLASSES)}")
    if design_class == SINGLE:
        return rate
    return rate**2 * (3 - 2 * rate) if design_class == DOUBLED else rate**2 * (2 - rate)


def estimated_relevance(label: Any, t: Any, f: Any) -> Floats:
    """Return (label − f) / (t − f): its mean is 1 on relevant pairs and 0 on others; it is not clipped."""
    return np.asarray((np.asarray(label) - f) / (np.asarray(t) - f))


def corrected_hits(counts: Ints, relevance: Floats) -> Floats:
    """Return 1 − Π(1 − p̂) of lists of docs, whose mean is 1 where a doc is relevant, else 0.

    Args:
        counts: (n_lists, n_kinds), how many docs of each kind (class and label) a list holds.
        relevance: (..., n_kinds), p̂ of each kind.

    Returns:
        (..., n_lists).

    Examples:
        >>> p = np.array([estimated_relevance(label, 0.92, 0.04) for label in (0.0, 1.0)])
        >>> corrected_hits(np.array([[10, 0], [9, 1], [8, 2]]), p).round(6).tolist()
        [-0.559738, 1.135629, 0.988206]
    """
    rest = 1 - np.asarray(relevance)
    product = np.ones((*rest.shape[:-1], len(counts)))
    for kind in np.flatnonzero(counts.any(axis=0)):
        powers = rest[..., kind, None] ** np.arange(counts[:, kind].max() + 1)
        product *= powers[..., counts[:, kind]]
    return 1 - product


def variance_factor(t: float, f: float, k: int) -> float:
    """Return how much single votes on k docs that are not relevant add to the variance of 1 − Π(1 − p̂)."""
    return float((1 + f * (1 - f) / (t - f) ** 2) ** k)


def relevance_given_votes(odds: Floats, more: Ints, t: Any, f: Any) -> Floats:
    """Return the chance that a pair is relevant, from the odds by its label by design and its further votes.

    Args:
        odds: of relevance given the label by design.
        more: (..., 2), positive and negative votes beyond the design, whoever asked for them and why: the
            votes so far may have chosen the pair, since they are in the odds.
        t, f: of one vote.

    Examples:
        >>> odds = np.array([0.13 * 0.92 / (0.87 * 0.04)])  # one positive vote, 13% of the pairs relevant
        >>> [round(float(relevance_given_votes(odds, np.array([m]), 0.92, 0.04)[0]), 4)
        ...  for m in ((0, 0), (1, 0), (0, 1))]
        [0.7746, 0.9875, 0.2226]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = odds * (t / f) ** more[..., 0] * ((1 - t) / (1 - f)) ** more[..., 1]
        return np.asarray(np.where(np.isinf(found), 1.0, found / (1 + found)))


class Alarm(NamedTuple):
    """Fourth votes on pairs with two positive votes of three: how many are positive, and are expected to be.

    z below −1.645 says that errors are not independent: some pairs are hard for everybody.
    """

    n: int
    n_positive: int
    expected: float
    z: float

    @property
    def is_raised(self) -> bool:
        """Whether fewer fourth votes are positive than independent errors explain (5% one-sided)."""
        return self.z < ALARM


def alarm_of_fourth_votes(n: int, n_positive: int, rates: ErrorRates) -> Alarm:
    """Return whether fourth votes on 2–1 positives agree with errors that are independent.

    Examples:
        >>> found = alarm_of_fourth_votes(100, 40, ErrorRates(*np.array([0.92, 0.04, 0.13])))
        >>> round(found.expected, 4), round(found.z, 2), found.is_raised
        (0.804, -10.18, True)
    """
    t, f, share = (float(each) for each in rates)
    split = share * t**2 * (1 - t), (1 - share) * f**2 * (1 - f)
    expected = (split[0] * t + split[1] * f) / sum(split) if sum(split) else math.nan
    spread = math.sqrt(expected * (1 - expected) / n) if n and expected == expected else 0.0
    z = (n_positive / n - expected) / spread if spread else math.nan
    return Alarm(n, n_positive, expected, z)
