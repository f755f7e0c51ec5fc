"""Intervals and tests of means over queries: exact, score and Student's t, each with the p-value it inverts.

| of what | interval |
|---|---|
| C@k; its gain where labels only add positives | exact (Clopper and Pearson 1934) |
| other gains and differences of C@k | score (Tango 1998), whose test of 0 is McNemar's without a correction |
| other scores, while fewer than 100 queries (15 clusters) differ | score |
| other gains and differences, while fewer than 15 queries or clusters differ | score |
| all else | Student's t |
| medians | order statistics |

The score interval holds every mean δ with |mean − δ| ≤ z·σ(δ)/√n, where σ²(δ) is the variance under the
distribution of mean δ that is most likely, among those on the values that were seen and the ends of their
range. Of values 0 and 1 it is Wilson's, of values −1, 0 and 1 Tango's. It allows for large values that no
query shows, so it has a width where all queries are equal, and covers more than it says where few differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, mean
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.binomial import clopper_pearson, upper_tail
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.inference.student import CONFIDENCE, UPPER, Z, noncentral_t_cdf, t_quantile
from fire_toolkit.measures import Measure
from fire_toolkit.words import n_of

LEAST_CHANGED = 15  # queries that differ, from where on a gain or difference has an interval by Student's t
LEAST_SCORED = 100  # the same for a score, whose values are more skewed
LEAST_UNITS = 20  # queries or clusters, from where on coverage was simulated
_STEPS = 45
_LONGEST = 60.0  # how far the tilt is followed: down to weights of e^-60
_TRACE = 1e-9  # queries that an end of the range counts for, where none was seen there


class Interval(NamedTuple):
    """Limits, nan where nothing is known; p of the test of 0, nan where there is none.

    method: `exact`, `score`, `t`, `order` or empty; n_differing: how many queries (or clusters) do not have
    the most common value.
    """

    low: float
    high: float
    p: float = math.nan
    method: str = ""
    n_differing: int = 0


_UNKNOWN = Interval(math.nan, math.nan)


def score_interval(values: Floats, measure: Measure, *, clusters: Ints | None = None) -> Interval:
    """Return the interval of a measure's aggregate, from its values of the queries.

    Args:
        values: (n_queries,).
        measure: says how the values become one number, and what range they have.
        clusters: (n_queries,) code of each query's cluster from 0; clusters are then what is drawn.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> score_interval(np.array([0.0, 1, 1, 1]), parse_measure("C@1")).method
        'exact'
    """
    of = measure.definition
    if of.aggregate == "median":
        return _of_median(values, clusters)
    if of.is_binary and clusters is None:
        return _of_share(values)
    ends = (0.0, 1.0) if of.unit == "share" and of.aggregate == "mean" else None
    least = LEAST_SCORED if clusters is None else LEAST_CHANGED
    found = mean_interval(measure.terms(values), ends=ends, least=least, clusters=clusters)
    low, high = (float(measure.of_mean(limit)) for limit in found[:2])
    return found._replace(low=low, high=min(high, 1.0) if of.unit == "share" else high, p=math.nan)


def influences(values: Floats, measure: Measure) -> Floats:
    """Return for each query the part of a measure's aggregate that hangs on it: their mean is the aggregate.

    A geometric mean is so to first order. Of a median there are none: the values are returned.
    """
    terms = measure.terms(values)
    if measure.definition.aggregate != "geometric mean":
        return terms
    return np.asarray(float(measure.of_mean(mean(terms))) * (1 + terms - mean(terms)))


def change_interval(
    after: Floats,
    before: Floats,
    measure: Measure,
    *,
    only_up: bool = False,
    reach: float = 1.0,
    clusters: Ints | None = None,
) -> Interval:
    """Return the interval of `after` − `before`, each a measure's aggregate over the same queries.

    Args:
        after, before: (n_queries,) `influences`, by two labellings or of two runs.
        only_up: no query can lose, as with labels that only add positives under C@k.
        reach: the largest difference that is possible for a measure between 0 and 1.
        clusters: as in `score_interval`.

    Returns:
        The interval, with p of the same method: 0 lies outside the limits where p < .05. An exact
        interval and that of medians have no p.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> same = np.ones(100)
        >>> [round(limit, 3) for limit in change_interval(same, same, parse_measure("C@1"))[:2]]
        [-0.037, 0.037]
    """
    of = measure.definition
    if of.aggregate == "median":
        return _between_medians(after, before, clusters)
    changed = after - before
    if only_up and of.is_binary and clusters is None and (changed >= 0).all():
        return _of_share(changed)
    ends = (-reach, reach) if of.unit == "share" and of.aggregate == "mean" else None
    least = len(changed) + 1 if of.is_binary and clusters is None else LEAST_CHANGED
    return mean_interval(changed, ends=ends, least=least, clusters=clusters)


def mean_interval(
    values: Floats,
    *,
    ends: tuple[float, float] | None = None,
    least: int = LEAST_CHANGED,
    clusters: Ints | None = None,
) -> Interval:
    """Return the interval of a mean over queries, and p of the test that it is 0.

    Args:
        values: (n_queries,).
        ends: the range of the values; None: none is known, and where few queries differ there is no other
            interval than Student's t.
        least: of how many queries (or clusters) that differ on Student's t is used.
        clusters: as in `score_interval`. The degrees of freedom of Student's t are those of the
            effective number of clusters, (Σ n)² / Σ n² − 1.

    Examples:
        >>> mean_interval(np.arange(20.0)).method
        't'
    """
    centre = mean(values)
    units, freedom, room = values, len(values) - 1.0, 1.0
    seen, count = np.unique(values, return_counts=True)
    is_other = values != seen[count.argmax()]
    n_differing = int(is_other.sum())
    if clusters is not None:
        sums, size = cluster_sums(values[:, None], clusters).T
        units = centre + (sums - centre * size) * len(size) / len(values)
        freedom = max(len(values) ** 2 / float(size @ size) - 1, 1.0)
        n_differing, room = len(np.unique(clusters[is_other])), float(size.max() * len(size) / len(values))
    if len(units) < 2:
        return _UNKNOWN
    if ends is not None and n_differing < least:
        reach = (centre + room * (ends[0] - centre), centre + room * (ends[1] - centre))
        low, high, p = _score_limits(units, reach)
        return Interval(max(low, ends[0]), min(high, ends[1]), p, "score", n_differing)
    error = float(np.std(units, ddof=1)) / math.sqrt(len(units))
    if not error > 1e-14 * abs(centre):
        return _UNKNOWN._replace(n_differing=n_differing)
    found = _by_t(centre, error, freedom, ends or (-math.inf, math.inf))
    return found._replace(n_differing=n_differing)


def _score_limits(values: Floats, ends: tuple[float, float]) -> tuple[float, float, float]:
    """Return the limits of the score interval of a mean, and p of the score test that it is 0.

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


def _of_share(values: Floats) -> Interval:
    """Return the exact interval of the mean of values that are 0 or 1."""
    n_positive = int(values.sum())
    low, high = clopper_pearson(n_positive, len(values))
    return Interval(low, high, math.nan, "exact", min(n_positive, len(values) - n_positive))


def _of_median(values: Floats, clusters: Ints | None, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of a median: from the k-th smallest value to the k-th largest.

    Fewer than six queries have none at 95%, nor have clusters.
    """
    n, k = len(values), 0
    if clusters is None:
        step = 1 << max(n.bit_length() - 1, 0)
        while step:  # the largest k with 2·P(fewer than k of n fair coins) ≤ 1 − confidence
            is_right = k + step <= n // 2 and 2 * upper_tail(n - k - step + 1, n, 0.5) <= 1 - confidence
            k, step = k + step * is_right, step // 2
    if k == 0:
        return _UNKNOWN
    ordered = np.sort(values)
    return Interval(float(ordered[k - 1]), float(ordered[n - k]), math.nan, "order", n)


def _between_medians(after: Floats, before: Floats, clusters: Ints | None) -> Interval:
    """Return the difference of two medians that lie in their intervals, each with half the error allowed."""
    late, early = (_of_median(values, clusters, UPPER) for values in (after, before))
    return Interval(late.low - early.high, late.high - early.low, math.nan, late.method, len(after))


def welch_interval(one: Floats, other: Floats) -> Interval:
    """Return the interval of the mean of `one` less that of `other`, and p, by Welch's t (1947).

    nan where one of them has fewer than two values, or neither varies.
    """
    if min(len(one), len(other)) < 2:
        return _UNKNOWN
    errors = [float(np.var(values, ddof=1)) / len(values) for values in (one, other)]
    if not sum(errors) > 0:
        return _UNKNOWN
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(values) - 1) for error, values in zip(errors, (one, other), strict=True)
    )
    return _by_t(mean(one) - mean(other), math.sqrt(sum(errors)), freedom)


def _by_t(
    centre: float,
    error: float,
    freedom: float,
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    half = t_quantile(UPPER, freedom) * error
    p = min(1.0, 2 * noncentral_t_cdf(-abs(centre / error), freedom))
    return Interval(max(centre - half, ends[0]), min(centre + half, ends[1]), p, "t")


def note_few(
    changes: Sequence[tuple[Measure, Interval]], *, n_queries: int, clusters: Ints | None
) -> list[str]:
    """Return sentences on intervals of few queries, and of gains or differences in which few queries differ.

    Args:
        changes: the measure and the interval of each gain or difference.
    """
    n, unit = (n_queries, "query") if clusters is None else (int(clusters.max()) + 1, "cluster")
    notes = []
    if n < LEAST_UNITS:
        notes.append(f"{n_of(n, unit)}: coverage was checked from {LEAST_UNITS} on; intervals that are not "
                     "exact may be too narrow")  # fmt: skip
    means = {"score": "wide, since it allows for changes that no query shows, and covers more than it says",
             "t": "maybe too narrow"}  # fmt: skip
    for method, words in means.items():
        few = [m for m, each in changes if each.method == method and each.n_differing < LEAST_CHANGED]
        if few:
            names = ", ".join(dict.fromkeys(measure.name for measure in few))
            where = f"fewer than {n_of(LEAST_CHANGED, unit)} differ in {n_of(len(few), 'row')}"
            notes.append(f"{names}: {where}; there the interval of the gain or difference is {words}")
    return notes


def code_clusters(queries: Sequence[str] | pd.Index[str], clusters: pd.Series | None) -> Ints | None:
    """Return the cluster of each query as a code from 0; None where no clusters are given.

    Args:
        queries: the universe.
        clusters: index query_id, values of any kind (a column of Queries: a video, an annotator).

    Raises:
        JoinError: a query has no cluster.
        UsageError: there are fewer than two clusters.
    """
    if clusters is None:
        return None
    known = clusters[~clusters.index.duplicated()]
    found = known.reindex(pd.Index(queries))
    if found.isna().any():
        missing = found.index[found.isna()]
        raise JoinError(f"clusters: {len(missing):,} of {len(found):,} queries have none "
                        f"({', '.join(map(str, missing[:3]))}); expected one for each query")  # fmt: skip
    codes, values = pd.factorize(found)
    if len(values) < 2:
        raise UsageError(f"clusters: all queries are in one ({values[0]!r}); expected two or more")
    return np.asarray(codes, dtype=np.int64)
