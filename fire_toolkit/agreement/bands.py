"""Landis and Koch's bands, by the probability with which a coefficient reaches them."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

BANDS = (
    (0.8, "almost perfect"),
    (0.6, "substantial"),
    (0.4, "moderate"),
    (0.2, "fair"),
    (0.0, "slight"),
    (-1.0, "poor"),
)
SURE = 0.95


def reached_band(at_least: Callable[[float], float]) -> tuple[str, float]:
    """Return the highest band that is reached with probability .95, and the probability of that.

    at_least: the probability of a coefficient at or above a bound. A value a little above a bound from few
    pairs does not reach its band (Gwet, Handbook of Inter-Rater Reliability, 2014, ch. 6; the bands are
    those of Landis and Koch 1977).
    """
    for bound, name in BANDS[:-1]:
        chance = at_least(bound)
        if chance >= SURE:
            return name, min(chance, 1.0)
    return BANDS[-1][1], 1.0


def normal_at_least(value: float, error: float) -> Callable[[float], float]:
    """Return the probability of a coefficient above a bound: normal, cut to −1 … 1, as Gwet has it."""
    normal = NormalDist(value, error)
    below, up_to = normal.cdf(-1.0), normal.cdf(1.0)
    return lambda bound: (up_to - normal.cdf(bound)) / (up_to - below)
