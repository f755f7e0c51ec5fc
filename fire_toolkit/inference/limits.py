"""How limits of an estimate from a drawn sample are made: score limits, inside their range."""

from __future__ import annotations

import math
from typing import NamedTuple

from fire_toolkit.arrays import Floats
from fire_toolkit.inference.student import t_of

UNSEEN = 0.05  # of one positive, which the sample may have missed
LEAST_PAIRS = 100  # drawn by chance: one positive is then expected where 1% are relevant
LEAST_QUERIES = 40  # judged deep; below it intervals cover too little
NO_POSITIVE = "there is no positive of which it could be a share"


class Limits(NamedTuple):
    """The limits of an interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """An estimate with its interval; nan where `refused` says why there is none. se: over draws, as it is."""

    estimate: float
    low: float
    high: float
    se: float = math.nan
    refused: str = ""


def no_estimate(why: str) -> Estimate:
    """Return that there is no estimate, and why."""
    return Estimate(math.nan, math.nan, math.nan, refused=why)


def score_limits(
    estimate: float,
    variance: float,
    *,
    weight: float = 0.0,
    most: float = 1.0,
    freedom: float = math.inf,
) -> Limits:
    """Return the limits of a quantity θ from 0 to `most`, where few positives may have been drawn.

    They are the two θ with (estimate − θ)² = t² · w · θ · (1 − θ/most): the variance is that of the θ in
    question, not of the estimate, so that it is not 0 where nothing was found. w is the variance at the
    estimate over estimate · (1 − estimate/most), which for equal weights is the weight of one positive. The
    sample may hold no positive of the weight that matters, so 1/20 of a positive of the usual weight is added
    to both; where nothing was found w is that weight.

    Args:
        estimate: what lies outside the range counts as its nearest end.
        variance: of the estimate, as it was estimated; 0 or more.
        weight: what one more positive would add to the estimate beyond itself, by the design: the pairs not
            drawn over those drawn. 0 where everything was judged.
        most: the largest θ; infinite for a total whose variance only grows.
        freedom: degrees of freedom of w, from 1.

    Source: Wilson 1927, which it equals for a share of n with variance p(1 − p)/n and weight 0; with an
    effective n as in Korn and Graubard 1998, Survey Methodology 24.

    Examples:
        >>> [round(limit, 4) for limit in score_limits(0.7, 0.7 * 0.3 / 10)]
        [0.3968, 0.8922]
        >>> [round(limit, 1) for limit in score_limits(0, 0, weight=9, most=math.inf)]
        [0.0, 34.6]
    """
    t = t_of(freedom)
    inside = min(max(estimate, 0.0), most)
    room = inside * (1 - inside / most) + UNSEEN * weight
    spread = t**2 * (variance + UNSEEN * weight**2) / room if room > 0 else 0.0
    scale, middle = 1 + spread / most, inside + spread / 2
    reach = math.sqrt(max(middle**2 - scale * inside**2, 0.0))
    return Limits(max(middle - reach, 0.0) / scale, min((middle + reach) / scale, most))


def limits_of_difference(a: float, of_a: Limits, b: float, of_b: Limits) -> Limits:
    """Return the limits of a − b from the limits of two independent estimates.

    Source: Newcombe 1998, method 10; Zou and Donner 2008 (MOVER).

    Examples:
        >>> [round(limit, 2) for limit in limits_of_difference(0.5, Limits(0.4, 0.7), 0.0, Limits(0.0, 0.3))]
        [0.18, 0.7]
    """
    below = math.hypot(a - of_a.low, of_b.high - b)
    above = math.hypot(of_a.high - a, b - of_b.low)
    return Limits(a - b - below, a - b + above)


def limits_of_share(a: float, of_a: Limits, b: float, of_b: Limits) -> Limits:
    """Return the limits of a / (a + b) from the limits of two independent totals, of which one is not 0.

    Source: Donner and Zou 2012 (MOVER for a ratio), for the odds a / b.

    Examples:
        >>> [round(limit, 2) for limit in limits_of_share(6, Limits(4, 9), 4, Limits(2, 7))]
        [0.43, 0.77]
    """
    return Limits(_least_share(a, of_a.low, b, of_b.high), 1 - _least_share(b, of_b.low, a, of_a.high))


def _least_share(a: float, low: float, b: float, high: float) -> float:
    """Return the lower limit of a / (a + b), by the lower limit of a and the upper one of b."""
    squares = (a**2 - (a - low) ** 2, b**2 - (high - b) ** 2)
    odds, over = squares[0], a * b + math.sqrt(max((a * b) ** 2 - squares[0] * squares[1], 0.0))
    return odds / (odds + over) if odds > 0 else 0.0


def freedom_of_weight(variances: Floats, values: Floats) -> float:
    """Return with how many degrees of freedom Σ variances / Σ values is known, the w of `score_limits`.

    Infinite where each positive has the same weight. Twice the squared sum over that of the squared residuals
    of a ratio of totals, by linearisation; never below 1.

    Args:
        variances, values: what each pair drawn adds to the variance and to the estimate.
    """
    total, found = float(variances.sum()), float(values.sum())
    if total <= 0 or found <= 0:
        return math.inf
    squares = float(((variances - total / found * values) ** 2).sum())
    return max(2 * total**2 / squares, 1.0) if squares > 1e-12 * total**2 else math.inf


def why_too_few(n_drawn: int, what: str) -> str:
    """Return why so few pairs drawn by chance give no estimate; empty where they are enough.

    It depends on the design alone, never on how many of the pairs are positive: to refuse by what came out
    makes what is printed too high, by 16% to 104% where ten positives were asked for.
    """
    if n_drawn >= LEAST_PAIRS:
        return ""
    return (
        f"{n_drawn} of the pairs {what} were drawn by chance, and an interval needs {LEAST_PAIRS}; draw "
        "more pairs"
    )
