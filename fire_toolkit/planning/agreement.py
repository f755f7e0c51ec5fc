"""How wide alpha's interval will be, before anybody has judged."""

from __future__ import annotations

import math
from statistics import NormalDist


def expected_alpha(
    n_doubled: float, *, share_positive: float, rates: tuple[float, float], confidence: float = 0.95
) -> tuple[float, float]:
    """Return Krippendorff's alpha that two annotators are expected to reach, and half its interval's width.

    Two votes on each of `n_doubled` random pairs, which err apart; in the limit of many pairs (delta method).
    Pairs count as drawn one by one: where several pairs of a query are drawn, and queries differ in how hard
    they are, the interval is wider.

    Args:
        n_doubled: pairs that two people judge; fewer than 2 give nan.
        share_positive: of these pairs.
        rates: P(vote 1 | positive), P(vote 1 | not).

    Examples:
        >>> alpha, half = expected_alpha(1000, share_positive=0.13, rates=(0.92, 0.04))
        >>> round(alpha, 3), round(half, 3)
        (0.671, 0.065)
    """
    true, false = rates
    both = share_positive * true**2 + (1 - share_positive) * false**2
    differ = 2 * (share_positive * true * (1 - true) + (1 - share_positive) * false * (1 - false))
    positive = both + differ / 2
    chance = positive * (1 - positive)
    if n_doubled < 2 or chance <= 0:
        return math.nan, math.nan
    alpha = 1 - differ / (2 * chance)
    by_both = differ * (1 - 2 * positive) / (2 * chance**2)
    by_differ = by_both / 2 - 1 / (2 * chance)
    mean = both * by_both + differ * by_differ
    variance = (both * by_both**2 + differ * by_differ**2 - mean**2) / n_doubled
    return alpha, NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(max(variance, 0.0))
