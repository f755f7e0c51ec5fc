"""Exact binomial tails and intervals, for shares of queries such as C@k."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fire_toolkit.arrays import wilson_interval
from fire_toolkit.inference.student import CONFIDENCE


def upper_tail(n_least: int, n: int, p: float) -> float:
    """Return P(X ≥ n_least) of the binomial distribution of n draws with probability p.

    Examples:
        >>> round(upper_tail(2, 3, 0.5), 4)
        0.5
    """
    if n_least <= 0:
        return 1.0
    if n_least > n or p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    if n_least > n * p:
        return _sum_of_terms(n_least, n, p)
    return 1.0 - _sum_of_terms(n - n_least + 1, n, 1 - p)


def _sum_of_terms(n_least: int, n: int, p: float) -> float:
    """Return the sum of the terms from `n_least` up, which fall: n_least lies above the mean."""
    first = math.lgamma(n + 1) - math.lgamma(n_least + 1) - math.lgamma(n - n_least + 1)
    first += n_least * math.log(p) + (n - n_least) * math.log1p(-p)
    number = np.arange(n_least, n)
    ratios = (n - number) / (number + 1) * (p / (1 - p))
    return float(math.exp(first) * (1 + np.cumprod(ratios).sum()))


def clopper_pearson(n_positive: int, n: int) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson (1934) for a share: it covers at least as said.

    Args:
        n_positive: how many of the queries score 1; n: how many there are.

    Returns:
        The lower and upper limit; (nan, nan) when n is 0.

    Examples:
        >>> [round(limit, 4) for limit in clopper_pearson(7, 10)]
        [0.3475, 0.9333]
    """
    if n == 0:
        return math.nan, math.nan
    alpha = 1 - CONFIDENCE
    low = 0.0 if n_positive == 0 else _solve(lambda p: upper_tail(n_positive, n, p), alpha / 2)
    high = 1.0 if n_positive == n else _solve(lambda p: upper_tail(n_positive + 1, n, p), 1 - alpha / 2)
    return low, high


def _solve(tail: Callable[[float], float], wanted: float) -> float:
    """Return the p at which a tail, which grows with p, has the wanted value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) < wanted else (low, middle)
    return (low + high) / 2


def wilson(n_positive: int, n: int) -> tuple[float, float]:
    """Return Wilson's score interval (1927) for a share: it covers about as said, on average.

    Examples:
        >>> [round(limit, 4) for limit in wilson(7, 10)]
        [0.3968, 0.8922]
    """
    low, high = wilson_interval(np.array([float(n_positive)]), np.array([float(n)]), CONFIDENCE)
    return float(low[0]), float(high[0])
