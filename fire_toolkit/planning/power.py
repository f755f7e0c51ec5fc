"""Power: with what chance queries tell a difference, and the least difference that they tell.

A difference of C@k is tested by McNemar's test, of which only the queries count on which two runs differ;
any other by the paired t test. Sources: Connor, Biometrics 43 (1987), for McNemar's; Sakai, Information
Retrieval Journal 19 (2016), 10.1007/s10791-015-9273-z, for the paired t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

from fire_toolkit.errors import UsageError
from fire_toolkit.inference.student import noncentral_t_cdf, t_quantile

POWER, LEVEL = 0.8, 0.05
_NORMAL = NormalDist()


def mcnemar_power(
    n_queries: float, difference: float, *, share_differing: float, level: float = LEVEL
) -> float:
    """Return the chance that McNemar's test, two-sided, tells a difference of C@k between two runs.

    Args:
        n_queries: how many queries are judged.
        difference: the true one, in [0, 1].
        share_differing: the share of queries on which the two runs differ, at least `difference`.
        level: of the test.

    Examples:
        >>> round(mcnemar_power(1960, 0.02, share_differing=0.1), 3)
        0.8
    """
    _check_shares(difference, share_differing)
    if difference == 0:
        return level
    excess = difference * math.sqrt(n_queries) - _upper(level) * math.sqrt(share_differing)
    spread = share_differing - difference**2
    if spread <= 0:
        return float(excess > 0)
    return _NORMAL.cdf(excess / math.sqrt(spread))


def mcnemar_least(
    n_queries: float, *, share_differing: float, power: float = POWER, level: float = LEVEL
) -> float:
    """Return the least difference of C@k that so many queries tell; nan where they tell none.

    Examples:
        >>> round(mcnemar_least(1960, share_differing=0.1), 4)
        0.02
    """
    return _least(
        lambda difference: mcnemar_power(n_queries, difference, share_differing=share_differing, level=level),
        share_differing,
        power,
    )


def paired_t_power(n_queries: float, effect: float, *, level: float = LEVEL) -> float:
    """Return the chance that a paired t test, two-sided, tells a difference: exact, noncentral.

    Args:
        n_queries: how many queries are judged, 2 or more.
        effect: the true difference over the standard deviation of the queries' differences.
        level: of the test.

    Examples:
        >>> round(paired_t_power(34, 0.5), 3)
        0.808
    """
    if n_queries < 2:
        raise UsageError(f"{n_queries:g} queries, expected 2 or more")
    critical = t_quantile(1 - level / 2, n_queries - 1)
    shift = abs(effect) * math.sqrt(n_queries)
    below = noncentral_t_cdf(-critical, n_queries - 1, shift)
    return 1 - noncentral_t_cdf(critical, n_queries - 1, shift) + below


@cache
def paired_t_least(n_queries: float, *, power: float = POWER, level: float = LEVEL) -> float:
    """Return the least effect, in standard deviations, that so many queries tell by a paired t test.

    Examples:
        >>> round(paired_t_least(199), 3)
        0.2
    """
    bound = 1.0
    while paired_t_power(n_queries, bound, level=level) < power:
        bound *= 2
    return _least(lambda effect: paired_t_power(n_queries, effect, level=level), bound, power)


def _least(power_of: Callable[[float], float], largest: float, power: float) -> float:
    """Return the least value up to `largest` at which a rising power is reached; nan where it is not."""
    if largest <= 0 or power_of(largest) < power:
        return math.nan
    low, high = 0.0, largest
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def _upper(level: float) -> float:
    return _NORMAL.inv_cdf(1 - level / 2)


def _check_shares(difference: float, share_differing: float) -> None:
    if not 0 <= difference <= share_differing <= 1:
        raise UsageError(
            f"difference {difference:g} and share of queries that differ {share_differing:g}, expected "
            "0 ≤ difference ≤ share ≤ 1"
        )
