"""Whether two annotators use labels equally often: Stuart and Maxwell's test of marginal homogeneity."""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.arrays import Floats, Ints


def stuart_maxwell(table: Ints) -> tuple[float, float]:
    """Return the statistic and its p of a table of votes (labels × labels) on the same pairs.

    d' S⁻¹ d, with d the differences of the two annotators' counts of each label but one, and S their
    covariance under equal use (Stuart 1955, Maxwell 1970): chi-squared with one degree of freedom less than
    there are labels in use. With two labels it is McNemar's test without a correction. Where the two never
    disagree it is 0, with p 1.

    Examples:
        >>> [round(number, 4) for number in stuart_maxwell(np.array([[20, 15], [5, 60]]))]
        [5.0, 0.0253]
    """
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    table = table[np.ix_(used, used)].astype(np.float64)
    apart = table.sum(axis=1) - table.sum(axis=0)
    if not apart.any():
        return 0.0, 1.0
    covariance = np.diag(table.sum(axis=1) + table.sum(axis=0)) - table - table.T
    moved = np.flatnonzero(np.diag(covariance) > 0)  # a label on which they never differ tells nothing
    kept = moved[:-1]
    covariance = covariance[np.ix_(kept, kept)]
    rank = int(np.linalg.matrix_rank(covariance))
    statistic = float(apart[kept] @ np.linalg.pinv(covariance) @ apart[kept])
    return statistic, chi_squared_tail(statistic, rank)


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """Return the probability of at least `statistic` under chi-squared with `freedom` degrees, 1 or more.

    Examples:
        >>> [round(chi_squared_tail(3.841459, 1), 4), round(chi_squared_tail(9.487729, 4), 4)]
        [0.05, 0.05]
    """
    half = statistic / 2
    tail = math.erfc(math.sqrt(half)) if freedom % 2 else math.exp(-half)
    for start in range(1 if freedom % 2 else 2, freedom, 2):
        tail += math.exp(start / 2 * math.log(half) - half - math.lgamma(start / 2 + 1)) if half > 0 else 0.0
    return min(tail, 1.0)


def holm(p_values: Floats) -> Floats:
    """Return the p values for several tests at once (Holm 1979); nan stays nan and counts as no test.

    Examples:
        >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
        [0.03, 0.06, nan, 0.06]
    """
    order = np.argsort(p_values)[: int((~np.isnan(p_values)).sum())]
    adjusted = np.full(len(p_values), np.nan)
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
