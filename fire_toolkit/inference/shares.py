"""The interval of a share: of pairs or of whole clusters of them, weighted or not."""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.arrays import Floats, Ints, wilson_limits
from fire_toolkit.inference.student import t_of

_MANY = 1000  # units from which on Student's t is the normal distribution
_ROUNDING = 1e-12  # a variance below this share of p (1 - p) is rounding


def share_interval(over: Floats, under: Floats, *, cluster: Ints | None = None) -> tuple[float, float]:
    """Return Wilson's score interval of the sum of `over` divided by that of `under`: within 0 and 1.

    Args:
        over, under: of each pair, times its weight where pairs have weights; 0 ≤ over ≤ under.
        cluster: the code of what each pair was drawn with; None: pairs were drawn one by one.

    Pairs of 0 and 1 have Wilson's interval of as many trials (1927). In general the number of trials is the
    effective one, p (1 − p) / variance, with the linearised variance of a ratio: that between clusters, or
    between pairs where it is larger. For clusters Student's t, with one degree of freedom less than there
    are clusters, takes the place of the normal quantile. A variance of 0 says nothing; then each pair (or
    cluster) is a trial, as far as they are alike in size (Kish, Survey Sampling, 1965). The limits are nan
    where all is of one cluster, which tells nothing of others, and where there is nothing.

    Source: Korn and Graubard 1998, Survey Methodology 24; intervals of this kind are compared by Franco,
    Little, Louis and Slud 2019, Journal of Survey Statistics and Methodology 7.

    Examples:
        >>> limits = share_interval(np.array([1.0, 1, 1, 1, 1, 1, 1, 0, 0, 0]), np.ones(10))
        >>> [round(limit, 4) for limit in limits]
        [0.3968, 0.8922]
    """
    is_in = under > 0
    over, under = over[is_in], under[is_in]
    if not len(under):
        return math.nan, math.nan
    value = float(over.sum() / under.sum())
    variance, critical = _variance(over, under), critical_value()
    if cluster is not None:
        codes = np.unique(cluster[is_in], return_inverse=True)[1]
        over, under = (np.bincount(codes, each).astype(np.float64) for each in (over, under))
        n = len(under)
        if n < 2:
            return math.nan, math.nan
        variance = max(variance, n / (n - 1) * _variance(over, under))
        critical = critical_value(n)
    spread = value * (1 - value)
    known = variance > _ROUNDING * spread
    n_effective = spread / variance if known else float(under.sum() ** 2 / (under**2).sum())
    low, high = wilson_limits(np.array([value * n_effective]), np.array([n_effective]), critical)
    return float(low[0]), float(high[0])


def critical_value(n_units: int = _MANY) -> float:
    """Return how many standard errors a limit is away: by Student's t of so many units, 2 or more."""
    return t_of(n_units - 1.0 if n_units < _MANY else math.inf)


def _variance(over: Floats, under: Floats) -> float:
    """Return the linearised variance of the ratio of two sums over independent units."""
    value = over.sum() / under.sum()
    return float(((over - value * under) ** 2).sum() / under.sum() ** 2)
