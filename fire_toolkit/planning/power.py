"""The least difference between two runs that so many queries tell, with 80% power at the level 5%.

A difference of C@k is tested by McNemar's test, of which only the queries count on which two runs differ;
any other by the paired t test. Sources: Connor, Biometrics 43 (1987), for McNemar's; Sakai, Information
Retrieval Journal 19 (2016), 10.1007/s10791-015-9273-z, for the paired t.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

from fire_toolkit.inference.distributions import noncentral_t_cdf, t_quantile

POWER, LEVEL = 0.8, 0.05


def mcnemar_least(n_queries: float, *, share_differing: float, level: float = LEVEL) -> float:
    """Return the least difference of C@k that so many queries tell, two-sided; nan where they tell none.

    Solves Δ√n = z₁√p + z₂√(p − Δ²), p being the share of queries on which the runs differ.

    Examples:
        >>> round(mcnemar_least(1960, share_differing=0.1), 4)
        0.02
        >>> mcnemar_least(5, share_differing=0.1)
        nan
    """
    upper, reach = (NormalDist().inv_cdf(each) for each in (1 - level / 2, POWER))
    inside = share_differing * reach**2 * (n_queries + reach**2 - upper**2)
    if inside < 0:
        return math.nan
    least = (upper * math.sqrt(n_queries * share_differing) + math.sqrt(inside)) / (n_queries + reach**2)
    return least if 0 < least <= share_differing else math.nan


@cache
def paired_t_least(n_queries: float, *, level: float = LEVEL) -> float:
    """Return the least mean difference, in standard deviations of differences, that a paired t test tells.

    Two-sided and exact, by the noncentral t. n_queries: 2 or more.

    Examples:
        >>> [round(paired_t_least(n), 2) for n in (199, 90, 34, 15)]
        [0.2, 0.3, 0.5, 0.78]
    """
    critical = t_quantile(1 - level / 2, n_queries - 1)

    def is_told(effect: float) -> bool:
        shift = effect * math.sqrt(n_queries)
        above, below = (noncentral_t_cdf(end, n_queries - 1, shift) for end in (critical, -critical))
        return 1 - above + below >= POWER

    low, high = 0.0, 1.0
    while not is_told(high):
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if is_told(middle) else (middle, high)
    return high
