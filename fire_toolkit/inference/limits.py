"""Limits of shares, means and totals from their counts, and of differences and ratios of two estimates.

All but the exact one are score limits: the values whose own standard error reaches to what was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Floats, Ints, mean
from fire_toolkit.inference.distributions import UPPER, Z, t_of, upper_tail

UNSEEN = 0.09  # of one positive, which a sample may have missed
_STEPS = 45
_LONGEST = 60.0  # how far the tilt is followed: down to weights of e^-60
_TRACE = 1e-9  # queries that an end of the range counts for, where none was seen there
_EXACT = 1e-9  # the weight of what is known without error
_ROUNDING = 1e-12  # a variance below this share of p (1 - p) is rounding


class Estimate(NamedTuple):
    """An estimate and its interval, nan where nothing is known.

    se: over draws, as it is; p: of the test of 0, nan where there is none; method: `exact`, `score`, `t`,
    `order` or empty; refused: why there is none; n_differing: how many queries (or clusters) do not have the
    most common value, and of pairs that were drawn how many positives the draw brought, in effect.
    """

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    se: float = math.nan
    p: float = math.nan
    method: str = ""
    refused: str = ""
    n_differing: int = 0

    def over(self, size: float, *, least: float = 0.0) -> Estimate:
        """Return the estimate of a total divided by `size`, between `least` and 1."""
        estimate, low, high = (min(max(value / size, least), 1.0) for value in self[:3])
        return Estimate(estimate, low, high, self.se / size, n_differing=self.n_differing)


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

    low = _last(lambda p: upper_tail(n_positive, n, p) < 1 - UPPER) if n_positive else 0.0
    return low, _last(lambda p: upper_tail(n_positive + 1, n, p) < UPPER) if n_positive < n else 1.0


def wilson(share: float, n: float, t: float = Z) -> tuple[float, float]:
    """Return Wilson's score interval (1927) of a share of n trials: it covers about as said, on average.

    t: how many standard errors away the limits are.

    Examples:
        >>> [round(limit, 4) for limit in wilson(0.7, 10)]
        [0.3968, 0.8922]
    """
    low, high = solve_score(share, 0.0, t**2 / n, -(t**2) / n)
    return low, min(high, 1.0)


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

    def variance_of_ratio() -> float:
        return float(((over - over.sum() / under.sum() * under) ** 2).sum() / under.sum() ** 2)

    value, variance, critical = float(over.sum() / under.sum()), variance_of_ratio(), Z
    if cluster is not None:
        codes = np.unique(cluster[is_in], return_inverse=True)[1]
        over, under = (np.bincount(codes, each).astype(np.float64) for each in (over, under))
        if (n := len(under)) < 2:
            return math.nan, math.nan
        variance, critical = max(variance, n / (n - 1) * variance_of_ratio()), t_of(n - 1)
    spread = value * (1 - value)
    known = variance > _ROUNDING * spread
    n_effective = spread / variance if known else float(under.sum() ** 2 / (under**2).sum())
    return wilson(value, n_effective, critical)


def solve_score(estimate: float, constant: float, slope: float, curve: float) -> tuple[float, float]:
    """Return the two θ with (estimate − θ)² = constant + slope · θ + curve · θ²."""
    scale, middle = 1 - curve, estimate + slope / 2
    reach = math.sqrt(max(middle**2 - scale * (estimate**2 - constant), 0.0))
    return (middle - reach) / scale, (middle + reach) / scale


def score_limits(
    estimate: float, variance: float, *, weight: float = 0.0, most: float = 1.0, freedom: float = math.inf
) -> tuple[float, float]:
    """Return the limits of a quantity θ from 0 to `most`, where few positives may have been drawn.

    They are the two θ with (estimate − θ)² = t² · w · θ · (1 − θ/most): the variance is that of the θ in
    question, not of the estimate, so that it is not 0 where nothing was found. w is the variance at the
    estimate over estimate · (1 − estimate/most), which for equal weights is the weight of one positive. The
    sample may hold no positive of the weight that matters, so .09 of a positive of the usual weight is added
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
    inside = min(max(estimate, 0.0), most)
    return Count(0.0, inside, weight_of(inside, variance, weight, most), most, freedom).limits


def weight_of(inside: float, variance: float, weight: float, most: float) -> float:
    """Return w of `score_limits`, of an estimate from 0 to `most`; 0 where nothing is unknown."""
    room = inside * (1 - inside / most) + UNSEEN * weight
    return (variance + UNSEEN * weight**2) / room if room > 0 else 0.0


def freedom_of_weight(variances: Floats, values: Floats, more: float = 0.0) -> float:
    """Return with how many degrees of freedom Σ variances / Σ values is known, the w of `score_limits`.

    Infinite where each positive has the same weight. Twice the squared sum over that of the squared residuals
    of a ratio of totals, by linearisation; never below 1.

    Args:
        variances, values: what each pair drawn adds to the variance and to the estimate.
        more: what is added to the variance, and is known without error.
    """
    total, found = float(variances.sum()), float(values.sum())
    if total <= 0 or found <= 0:
        return math.inf
    squares = float(((variances - total / found * values) ** 2).sum())
    return max(2 * (total + more) ** 2 / squares, 1.0) if squares > 1e-12 * total**2 else math.inf


class Count(NamedTuple):
    """What a draw tells of a total: `known` of it for certain, and how large the rest is.

    drawn: the estimate of the rest, from 0 to `most`; weight: its variance over drawn · (1 − drawn/most), w
    in `score_limits`, known with so many degrees of freedom.
    """

    known: float
    drawn: float
    weight: float
    most: float = math.inf
    freedom: float = math.inf

    def variance(self, size: float) -> float:
        """Return the variance of the estimate of the rest, were this its size."""
        return self.weight * size * max(1 - size / self.most, 0.0)

    @property
    def limits(self) -> tuple[float, float]:
        """The score limits of the total."""
        spread = t_of(self.freedom) ** 2 * self.weight
        low, high = solve_score(self.drawn, 0.0, spread, -spread / self.most)
        return self.known + max(low, 0.0), self.known + min(high, self.most)


@dataclass(frozen=True, eq=False)
class Total:
    """The estimated number of positives among some pairs.

    values: (n_queries,) whose sum it is, and whose spread over queries holds the error of the draw too.
    residuals: of each pair, whose squares sum to the variance over draws, these queries given; those of two
    totals multiply to their covariance. found: what each pair drawn adds to it, in size. weight: for how many
    pairs that were not drawn one that was stands, on the mean. known: how much of it needed no draw; most:
    how much the rest can be; seen, largest: between which it lies whatever the pairs not drawn are. open:
    what pairs that were drawn one by one and have no label would add, were all of them positive.
    """

    values: Floats
    residuals: Floats
    found: Floats
    weight: float
    known: float
    most: float
    seen: float
    largest: float
    open: float = 0.0

    @property
    def value(self) -> float:
        """The total itself."""
        return float(self.values.sum())

    @cached_property
    def estimate(self) -> Estimate:
        """The total, with limits for these queries, which have a width also where no positive was drawn."""
        low, high = self.count.limits
        limits = max(low, self.seen), min(high, self.largest)
        error = float(self.residuals @ self.residuals) ** 0.5
        return Estimate(self.value, *limits, error, n_differing=self.n_found)

    @cached_property
    def count(self) -> Count:
        """The total, for limits of a difference or a share."""
        drawn, squares = min(max(self.value - self.known, 0.0), self.most), self.residuals**2
        weight = weight_of(drawn, float(squares.sum()), self.weight, self.most)
        freedom = freedom_of_weight(squares, self.found, UNSEEN * self.weight**2)
        return Count(self.known, drawn, weight, self.most, freedom)

    @property
    def count_if_open(self) -> Count:
        """The same, were all pairs without a label positive."""
        return self.count._replace(known=self.known + self.open)

    @property
    def n_found(self) -> int:
        """How many positives the draw brought, in effect: (Σ found)² / Σ found² (Kish 1965)."""
        squares = float(self.found @ self.found)
        return int(float(self.found.sum()) ** 2 / squares) if squares > 0 else 0


def limits_of_difference(a: Count, b: Count) -> tuple[float, float]:
    """Return the limits of a − b of two independent totals: score limits.

    They are the outermost differences that the estimates do not miss by more than t standard errors, which
    are those of the two sizes that are most likely, given the difference, were they Poisson counts. Where one
    is known to be 0 they are those of the other by `score_limits`.

    Source: Miettinen and Nurminen 1985, Statistics in Medicine 4, for two shares; t as Satterthwaite 1946.

    Examples:
        >>> [round(limit, 2) for limit in limits_of_difference(Count(0, 40, 10), Count(0, 0, 10))]
        [1.59, 102.86]
    """

    def above(one: Count, other: Count) -> float:
        found, t = one.drawn - other.drawn, _critical(one, other, 1.0)
        reach = max(one.weight, other.weight, _EXACT)
        while reach < math.inf and not _is_off(one, other, 1.0, found + reach, t):
            reach *= 2
        return found + reach * _last(lambda part: not _is_off(one, other, 1.0, found + part * reach, t))

    return a.known - b.known - above(b, a), a.known - b.known + above(a, b)


def limits_of_share(a: Count, b: Count) -> tuple[float, float]:
    """Return the limits of a / (a + b) of two independent totals, of which one is not 0: score limits.

    They are the shares whose odds make a − odds · b be 0 within t standard errors, as for a difference.

    Examples:
        >>> [round(limit, 2) for limit in limits_of_share(Count(0, 60, 10), Count(0, 40, 10))]
        [0.31, 0.83]
    """

    def above(one: Count, other: Count) -> float:
        size, rest = one.known + one.drawn, other.known + other.drawn
        found, t = size / (size + rest), _critical(one, other, size / max(rest, _EXACT))

        def is_in(part: float) -> bool:
            odds = max(1 / max((1 - found) * (1 - part), _TRACE) - 1, _TRACE)
            return not _is_off(one, other, odds, odds * other.known - one.known, t)

        return found + (1 - found) * _last(is_in)

    return 1 - above(b, a), above(a, b)


def _critical(one: Count, other: Count, odds: float) -> float:
    variances = one.variance(one.drawn), odds**2 * other.variance(other.drawn)
    squares = variances[0] ** 2 / one.freedom + variances[1] ** 2 / other.freedom
    return t_of(max(sum(variances) ** 2 / squares, 1.0)) if squares > 0 else Z


def _is_off(one: Count, other: Count, odds: float, gap: float, t: float) -> bool:
    """Return whether one − odds · other, of what was drawn, misses `gap` by more than t standard errors."""
    n, m = (1 / max(each.weight, _EXACT) for each in (one, other))
    square, line = odds * (n * odds + m), n * odds * (one.drawn - gap) + m * (odds * other.drawn - gap)
    root = math.sqrt(max(line**2 + 4 * square * m * other.drawn * gap, 0.0))
    size = max((line + root) / (2 * square), -gap / odds, 0.0)  # of the other, the most likely one
    variance = one.variance(odds * size + gap) + odds**2 * other.variance(size)
    return (one.drawn - odds * other.drawn - gap) ** 2 > t**2 * variance


def _last(is_in: Callable[[float], bool]) -> float:
    """Return up to which part, from 0 to 1, something holds that holds at first."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_in(middle) else (low, middle)
    return low


def tilted_limits(values: Floats, ends: tuple[float, float]) -> tuple[float, float, float]:
    """Return the limits of the score interval of a mean, and p of the score test that it is 0.

    It holds every mean δ with |mean − δ| ≤ z·σ(δ)/√n, where σ²(δ) is the variance under the distribution of
    mean δ that is most likely, among those on the values that were seen and the ends of their range. Of
    values 0 and 1 it is Wilson's, of values −1, 0 and 1 Tango's (1998). It allows for large values that no
    query shows, so it has a width where all queries are equal, and covers more than it says where few differ.

    The most likely distribution of mean δ weighs a value v by 1 / (r + (1 − r)·(end − v)/(end − mean)), r
    from 1 (what was seen) down to 0 (all at the end): δ and σ(δ) follow from r, which is found by halving.
    Three searches run together: upwards and downwards for the limits, and towards 0 for p.
    """
    seen, count = np.unique(values, return_counts=True)
    centre = mean(values)
    side = np.array([1.0, -1.0, -1.0 if centre > 0 else 1.0])  # downwards is upwards on mirrored values
    room = np.maximum(np.where(side > 0, ends[1] - centre, centre - ends[0]), 1e-12)
    off = seen - centre
    gap = np.maximum(1 - side * off[:, None] / room, 0.0)
    moments = np.stack([np.ones(len(seen)), off, off**2])
    low: Floats = np.zeros(3)
    high: Floats = np.full(3, _LONGEST)
    for _ in range(_STEPS):
        tilt = (low + high) / 2
        r = np.exp(-tilt)
        at_end = _TRACE / r
        mass, first, second = moments @ (count[:, None] / (r + (1 - r) * gap))
        shift = (side * first + at_end * room) / (mass + at_end)  # δ − mean, on the mirrored side
        variance = (second + at_end * room**2) / (mass + at_end) - shift**2
        reached = shift * np.sqrt(len(values) / np.maximum(variance, 1e-300))
        is_beyond = np.array([*(reached[:2] > Z), shift[2] > abs(centre)])
        low, high = np.where(is_beyond, low, tilt), np.where(is_beyond, tilt, high)
    p = math.erfc(float(reached[2]) / math.sqrt(2)) if centre else 1.0
    return centre - float(shift[1]), centre + float(shift[0]), p
