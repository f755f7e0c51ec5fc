"""The bootstrap: seeded draws of units with replacement, and sums of resamples that every column shares.

Values enter as multiples of a power of two, so fine (2^-36 and less for a million queries) that every sum is
exact in float64: no order of addition, and so no number of threads, changes a result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, starts_of_groups
from fire_toolkit.errors import UsageError

_CELLS = 1 << 20  # counts held at a time
_ALIKE = 20  # from so many equal rows on, on average, they are drawn together
_NEAR = 2  # distinct values on either side of a median, among which that of a resample is looked for


def draw_units(n_units: int, *, n_resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield stretches of resamples: which they are, and how often each unit is drawn, (resamples, n_units).

    As many units are drawn as there are, one by one: each row is multinomial, exactly.

    Raises:
        UsageError: a number of resamples below 1 or a seed below 0.
    """
    for part, rng in _parts(n_resamples, n_units, seed):
        counts = np.empty((part.stop - part.start, n_units))
        for row, drawn in enumerate(rng.integers(0, n_units, size=(len(counts), n_units))):
            counts[row] = np.bincount(drawn, minlength=n_units)
        yield part, counts


def draw_kinds(n_each: Ints, *, n_resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield the same of kinds of units that are drawn together: also multinomial, of other random numbers.

    n_each: how many units of each kind there are, 1 or more.
    """
    n_units = int(n_each.sum())
    for part, rng in _parts(n_resamples, len(n_each), seed):
        drawn = rng.multinomial(n_units, n_each / n_units, size=part.stop - part.start)
        yield part, drawn.astype(np.float64)


def draw_weights(n_each: Floats, *, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield stretches of resamples of the Bayesian bootstrap: random weights above 0, (resamples, kinds).

    n_each: how many units of each kind there are, parts of one too. That is what the units of a kind weigh
    on average; all together always weigh as many as they are (Dirichlet; Rubin 1981, Ann. Stat. 9).
    """
    for part, rng in _parts(n_resamples, len(n_each), seed):
        gammas = rng.standard_gamma(n_each, size=(part.stop - part.start, len(n_each)))
        yield gammas * (n_each.sum() / gammas.sum(axis=1, keepdims=True))


def _parts(n_resamples: int, n_columns: int, seed: int) -> Iterator[tuple[slice, np.random.Generator]]:
    """Yield resamples in stretches, as many at a time as cells are held, and the one source of numbers."""
    if n_resamples < 1:
        raise UsageError(f"{n_resamples} resamples; expected 1 or more (10000 is usual)")
    if seed < 0:
        raise UsageError(f"seed {seed}; expected 0 or more")
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // max(1, n_columns))
    for start in range(0, n_resamples, step):
        yield slice(start, min(start + step, n_resamples)), rng


def summable(values: Floats) -> Floats:
    """Return values as multiples of a power of two whose sums, also of resamples, are exact.

    Examples:
        >>> float(summable(np.array([[0.5], [0.25]])).sum())
        0.75
    """
    largest = float(np.abs(values).max(initial=0.0)) * max(len(values), 1)
    if largest == 0:
        return np.zeros(values.shape)
    scale = 2.0 ** (51 - math.ceil(math.log2(largest)))
    return np.rint(values * scale) / scale


def bootstrap_means(
    values: Floats,
    *,
    clusters: Ints | None = None,
    is_median: Bools | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Floats:
    """Return the column means of resamples of queries, or of whole clusters of queries.

    Args:
        values: (n_queries, n_columns); all columns share the draws. Where many queries have equal values in
            all columns, equal ones are drawn together, which leaves the distribution as it is.
        clusters: (n_queries,) code of each query's cluster from 0; clusters are drawn with replacement
            and the mean is over the queries drawn. None: each query is its own.
        is_median: (n_columns,) of which columns the median is given in place of the mean; of an even number
            of values it is the mean of the two in the middle.
        n_resamples: 1 or more; seed: 0 or more; the same seed and values give the same means.

    Returns:
        (n_resamples, n_columns).
    """
    columns = [] if is_median is None else np.flatnonzero(is_median).tolist()
    rows = summable(values if clusters is None else cluster_sums(values, clusters))
    draws = draw_units(len(rows), n_resamples=n_resamples, seed=seed)
    if not columns or clusters is None:
        patterns, n_each = _patterns(rows)
        if _ALIKE * len(patterns) <= len(rows):
            rows, draws = patterns, draw_kinds(n_each, n_resamples=n_resamples, seed=seed)
    medians = [_Levels.of((rows if clusters is None else values)[:, column], clusters) for column in columns]
    means, n_rows = np.empty((n_resamples, values.shape[1])), rows.shape[1]
    wide = np.hstack([rows, *(each.reached for each in medians)])
    for part, counts in draws:
        sums, *reached = np.split(counts @ wide, n_rows + 2 * _NEAR * np.arange(len(medians)), axis=1)
        means[part] = sums / max(len(values), 1) if clusters is None else sums[:, :-1] / sums[:, -1:]
        total = counts.sum(axis=1, keepdims=True) if clusters is None else sums[:, -1:]
        halves = np.hstack([(total - 1) // 2, total // 2])
        for column, levels, own in zip(columns, medians, reached, strict=True):
            means[part, column] = levels.medians(own, halves, counts)
    return means


class _Levels(NamedTuple):
    """The distinct values of a column, ascending, and the place of each query's among them.

    A resample's median is looked for among the values next to the median of the column, from the place
    `first` on: reached, (units, 2 · _NEAR), says of each unit how many queries have these values or smaller.
    """

    distinct: Floats
    level: Ints
    clusters: Ints | None
    first: int
    reached: Floats

    @classmethod
    def of(cls, values: Floats, clusters: Ints | None) -> _Levels:
        distinct, level = np.unique(values, return_inverse=True)
        first = max(0, int(np.sort(level)[len(level) // 2]) - _NEAR)
        reached = (level[:, None] <= np.arange(first, first + 2 * _NEAR)).astype(np.float64)
        reached = reached if clusters is None else cluster_sums(reached, clusters)[:, :-1]
        return cls(distinct, level, clusters, first, reached)

    def medians(self, reached: Floats, halves: Floats, counts: Floats) -> Floats:
        """Return the median of each resample, each query's value as often as it is drawn.

        reached: how many drawn queries have the values from `first` on or smaller; halves: the places of the
        one or two in the middle; counts: how often each unit is drawn. What does not stand there is counted
        one by one.
        """
        place = self.first + (reached[:, :, None] <= halves[:, None]).sum(axis=1)
        is_far = (reached[:, -1] <= halves[:, 1]) | ((reached[:, 0] > halves[:, 0]) & (self.first > 0))
        for row in np.flatnonzero(is_far):
            drawn = counts[row] if self.clusters is None else counts[row][self.clusters]
            weight = np.bincount(self.level, weights=drawn, minlength=len(self.distinct))
            place[row] = np.searchsorted(np.cumsum(weight), halves[row], side="right")
        return np.asarray(self.distinct[place].mean(axis=1))


def _patterns(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows, in a fixed order, and how often each stands."""
    order = np.lexsort(values.T[::-1]) if values.shape[1] else np.arange(len(values))
    ordered = values[order]
    starts = starts_of_groups(np.zeros(len(ordered)), *ordered.T)  # rows may have no column
    return ordered[starts], np.diff(starts, append=len(ordered))


def cluster_sums(values: Floats, clusters: Ints) -> Floats:
    """Return for each cluster the sum of each column, and last the number of its queries."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    columns = [np.bincount(clusters, weights=column, minlength=n_clusters) for column in values.T]
    return np.column_stack([*columns, np.bincount(clusters, minlength=n_clusters)])
