"""Intervals and tests of measures: exact, score and Student's t, each with the p-value it inverts.

| of what | interval |
|---|---|
| C@k; its gain where labels only add positives | exact (Clopper and Pearson 1934) |
| other gains and differences of C@k | score (Tango 1998), whose test of 0 is McNemar's without a correction |
| other scores, while fewer than 100 queries (15 clusters) differ | score |
| other gains and differences, while fewer than 15 queries or clusters differ | score |
| all else | Student's t |
| medians | order statistics |
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, mean
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.distributions import CONFIDENCE, UPPER, noncentral_t_cdf, t_quantile, upper_tail
from fire_toolkit.inference.limits import Estimate, clopper_pearson, tilted_limits
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.measures import Measure
from fire_toolkit.words import n_of

LEAST_CHANGED = 15  # queries that differ, from where on a gain or difference has an interval by Student's t
LEAST_SCORED = 100  # the same for a score, whose values are more skewed
LEAST_UNITS = 20  # queries or clusters, from where on coverage was simulated


def score_interval(values: Floats, measure: Measure, *, clusters: Ints | None = None) -> Estimate:
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
        return _of_median(values, clusters, CONFIDENCE)
    if of.is_binary and clusters is None:
        return _of_hits(values)
    ends = (0.0, 1.0) if of.unit == "share" and of.aggregate == "mean" else None
    least = LEAST_SCORED if clusters is None else LEAST_CHANGED
    found = mean_interval(measure.terms(values), ends=ends, least=least, clusters=clusters)
    centre, low, high = (float(measure.of_mean(value)) for value in found[:3])
    high = min(high, 1.0) if of.unit == "share" else high
    return found._replace(estimate=centre, low=low, high=high, p=math.nan)


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
) -> Estimate:
    """Return the interval of `after` − `before`, each a measure's aggregate over the same queries.

    Args:
        after, before: (n_queries,) `influences`, by two labellings or of two runs; of gains of a median
            (2, n_queries): the values after, and those before with the other sign.
        only_up: no query can lose, as with labels that only add positives under C@k.
        reach: the largest difference that is possible for a measure between 0 and 1.
        clusters: as in `score_interval`.

    Returns:
        The interval, with p of the same method: 0 lies outside the limits where p < .05. An exact
        interval and that of medians have no p.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> same = np.ones(100)
        >>> [round(limit, 3) for limit in change_interval(same, same, parse_measure("C@1"))[1:3]]
        [-0.037, 0.037]
    """
    of = measure.definition
    if of.aggregate == "median":  # each lies in its interval, with its part of the error allowed
        medians = [*np.atleast_2d(after), *np.atleast_2d(-before)]
        each = [_of_median(values, clusters, 1 - (1 - CONFIDENCE) / len(medians)) for values in medians]
        estimate, low, high = np.sum([found[:3] for found in each], axis=0).tolist()
        return Estimate(estimate, low, high, method=each[0].method, n_differing=len(medians[0]))
    changed = after - before
    if only_up and of.is_binary and clusters is None and (changed >= 0).all():
        return _of_hits(changed)
    ends = (-reach, reach) if of.unit == "share" and of.aggregate == "mean" else None
    least = len(changed) + 1 if of.is_binary and clusters is None else LEAST_CHANGED
    return mean_interval(changed, ends=ends, least=least, clusters=clusters)


def mean_interval(
    values: Floats,
    *,
    ends: tuple[float, float] | None = None,
    least: int = LEAST_CHANGED,
    clusters: Ints | None = None,
) -> Estimate:
    """Return the interval of a mean over queries, and p of the test that it is 0.

    Args:
        values: (n_queries,).
        ends: the range of the values; None: none is known, and where few queries differ there is no other
            interval than Student's t.
        least: of how many queries (or clusters) that differ on Student's t is used.
        clusters: as in `score_interval`.

    Examples:
        >>> mean_interval(np.arange(20.0)).method
        't'
    """
    centre, (units, freedom, room) = mean(values), units_of(values, clusters)
    seen, count = np.unique(values, return_counts=True)
    is_other = values != seen[count.argmax()]
    n_differing = int(is_other.sum()) if clusters is None else len(np.unique(clusters[is_other]))
    if len(units) < 2:
        return Estimate(centre)
    if ends is not None and n_differing < least:
        reach = (centre + room * (ends[0] - centre), centre + room * (ends[1] - centre))
        low, high, p = tilted_limits(units, reach)
        found = Estimate(centre, low, high, p=p, method="score")
    else:
        error = float(np.std(units, ddof=1)) / math.sqrt(len(units))
        found = by_t(centre, error, freedom) if error > 1e-14 * abs(centre) else Estimate(centre)
    low, high = ends or (-math.inf, math.inf)
    if found.method:
        found = found._replace(low=max(found.low, low), high=min(found.high, high))
    return found._replace(n_differing=n_differing)


def units_of(values: Floats, clusters: Ints | None) -> tuple[Floats, float, float]:
    """Return the units that were drawn, queries or clusters, as values whose mean is that of the queries.

    clusters: as in `score_interval`; their values are as if all were of one size. Also the degrees of freedom
    of Student's t, of clusters by their effective number, (Σ n)² / Σ n² − 1, and how many times as large as
    the mean the largest unit is.
    """
    if clusters is None:
        return values, len(values) - 1.0, 1.0
    sums, size = cluster_sums(values[:, None], clusters).T
    centre, share = mean(values), len(size) / len(values)
    freedom = max(len(values) ** 2 / float(size @ size) - 1, 1.0)
    return centre + (sums - centre * size) * share, freedom, float(size.max()) * share


def _of_hits(values: Floats) -> Estimate:
    """Return the exact interval of the mean of values that are 0 or 1."""
    n, n_positive = len(values), int(values.sum())
    limits = clopper_pearson(n_positive, n)
    return Estimate(mean(values), *limits, method="exact", n_differing=min(n_positive, n - n_positive))


def _of_median(values: Floats, clusters: Ints | None, confidence: float) -> Estimate:
    """Return the exact interval of a median: from the k-th smallest value to the k-th largest.

    k is the largest with 2·P(fewer than k of n fair coins) ≤ 1 − confidence. Fewer than six queries have none
    at 95%, nor have clusters.
    """
    n = len(values)
    known = range(n // 2 + 1 if clusters is None else 1)
    k = bisect_right(known, 1 - confidence, key=lambda k: 2 * upper_tail(n - k + 1, n, 0.5)) - 1
    if k == 0:
        return Estimate()
    ordered = np.sort(values)
    limits = float(ordered[k - 1]), float(ordered[n - k])
    return Estimate(float(np.median(values)), *limits, method="order", n_differing=n)


def welch_interval(one: Floats, other: Floats) -> Estimate:
    """Return the interval of the mean of `one` less that of `other`, and p, by Welch's t (1947).

    nan where one of them has fewer than two values, or neither varies.
    """
    if min(len(one), len(other)) < 2:
        return Estimate()
    errors = [float(np.var(values, ddof=1)) / len(values) for values in (one, other)]
    if not sum(errors) > 0:
        return Estimate()
    parts = [error**2 / (len(values) - 1) for error, values in zip(errors, (one, other), strict=True)]
    return by_t(mean(one) - mean(other), math.sqrt(sum(errors)), sum(errors) ** 2 / sum(parts))


def by_t(centre: float, error: float, freedom: float) -> Estimate:
    """Return the interval of an estimate with this standard error by Student's t, and p that it is 0."""
    half = t_quantile(UPPER, freedom) * error
    p = min(1.0, 2 * noncentral_t_cdf(-abs(centre / error), freedom))
    return Estimate(centre, centre - half, centre + half, error, p, "t")


def note_few(
    changes: Sequence[tuple[Measure, Estimate]], *, n_queries: int, clusters: Ints | None
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
        few = [m.name for m, each in changes if each.method == method and each.n_differing < LEAST_CHANGED]
        if few:
            names = ", ".join(name for name in dict.fromkeys(m.name for m, _ in changes) if name in few)
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
    is_missing = found.isna() | (found == "")  # an empty cell of a table of queries
    if is_missing.any():
        missing = found.index[is_missing]
        raise JoinError(f"clusters: {len(missing):,} of {len(found):,} queries have none "
                        f"({', '.join(map(str, missing[:3]))}); expected one for each query")  # fmt: skip
    codes, values = pd.factorize(found)
    if len(values) < 2:
        raise UsageError(f"clusters: all queries are in one ({values[0]!r}); expected two or more")
    return np.asarray(codes, dtype=np.int64)
