"""Whether votes err independently: fourth votes on pairs with two positive votes of three."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.inference.label_errors import ErrorRates

ALARM = -1.645
HARD = 0.1  # a correlation of errors that fourth votes must be able to show
_POWER = 1.2816  # the normal quantile of 90%


class Alarm(NamedTuple):
    """Fourth votes on positives by 2 to 1: how many are positive, and are expected to be.

    z below −1.645 says that errors are not independent: some pairs are hard for everybody. n_needed: how many
    fourth votes show a correlation of .1 in nine cases of ten.
    """

    n: int
    n_positive: int
    expected: float
    z: float
    n_needed: int

    @property
    def is_raised(self) -> bool:
        """Whether fewer fourth votes are positive than independent errors explain (5% one-sided)."""
        return self.z < ALARM

    @property
    def is_enough(self) -> bool:
        """Whether there are as many fourth votes as are needed."""
        return self.n >= self.n_needed


def alarm_of_fourth_votes(n: Any, n_positive: int, rates: ErrorRates, n_pairs: Any = 1.0) -> Alarm:
    """Return whether fourth votes on 2–1 positives agree with errors that are independent.

    n_needed is ((1.645·σ₀ + 1.282·σ₁) / (e₀ − e₁))², e the expected positive share, σ = √(e(1 − e)), for
    independent errors and for errors with a correlation of .1: each pair's rate of beta distribution.

    Args:
        n: fourth votes; n_positive: how many of them are positive.
        rates: of a vote; n_pairs: how many pairs have these rates. Where bands of ranks have rates of their
            own, n, rates and n_pairs have an entry for each.

    Examples:
        >>> found = alarm_of_fourth_votes(100, 40, ErrorRates(*np.array([0.92, 0.04, 0.13])))
        >>> round(found.expected, 4), round(found.z, 2), found.is_raised, found.n_needed
        (0.804, -10.18, True, 56)
    """
    asked = np.atleast_1d(n)
    n_asked = int(asked.sum())
    (independent, pairs), (hard, _) = (positive_fourth_votes(rates, each) for each in (0.0, HARD))
    split = pairs * np.atleast_1d(n_pairs)
    split = split / split.sum() if split.sum() else split
    means = [float(np.nan_to_num(each) @ split) for each in (independent, hard)]
    spreads = [math.sqrt(max(each * (1 - each), 0.0)) for each in means]
    gap = means[0] - means[1]
    needed = ((-ALARM * spreads[0] + _POWER * spreads[1]) / gap) ** 2 if gap > 0 else math.inf
    n_needed, share = math.ceil(min(needed, 1e9)), np.nan_to_num(independent)
    if not n_asked:
        return Alarm(0, 0, means[0], math.nan, n_needed)
    expected, spread = float(asked @ share), math.sqrt(float(asked @ (share * (1 - share))))
    z = (n_positive - expected) / spread if spread else math.nan
    return Alarm(n_asked, n_positive, expected / n_asked, z, n_needed)


def positive_fourth_votes(rates: ErrorRates, correlation: float) -> tuple[Floats, Floats]:
    """Return the expected share of positive fourth votes on 2–1 positives, and of pairs that are such.

    Of each entry of the rates, where errors on a pair correlate so; nan where no pair is a 2–1 positive.
    """

    def moments(rate: Floats) -> Floats:
        """E[p²(1 − p)] and E[p³(1 − p)] of a beta distribution with this mean and correlation of votes."""
        k = np.arange(4)[:, None]
        powers = np.cumprod(
            (rate * (1 - correlation) + k * correlation) / (1 + (k - 1) * correlation), axis=0
        )
        return powers[1:3] - powers[2:]

    t, f, share = (np.atleast_1d(each) for each in rates)
    pairs, positive = share * moments(t) + (1 - share) * moments(f)
    return np.divide(positive, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 1e-15), pairs
