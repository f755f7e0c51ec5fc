"""The bootstrap: seeded draws of units with replacement, and sums of resamples that every column shares.

Values enter as multiples of a power of two, so fine (2^-36 and less for a million queries) that every sum is
exact in float64: no order of addition, and so no number of threads, changes a result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

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
        drawn = rng.integers(0, n_units, size=(part.stop - part.start, n_units))
        yield part, np.stack([np.bincount(row, minlength=n_units) for row in drawn]).astype(np.float64)


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


def bootstrap_sums(
    values: Floats,
    *,
    medians: Ints | None = None,
    members: tuple[Ints, Floats] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Return the column sums of resamples, as many rows as there are drawn with replacement, and medians.

    Args:
        values: (n_units, n_columns); all share the draws. Where many units have equal values in all columns,
            equal ones are drawn together, which leaves the distribution as it is.
        medians: the columns of which the median is asked for; of an even number of values it is the mean of
            the two in the middle.
        members: where units are clusters, the unit of each query, and (n_queries, n_columns), the values
            whose medians are asked for.
        n_resamples: 1 or more; seed: 0 or more; the same seed and values give the same sums.

    Returns:
        (n_resamples, n_columns) and (n_resamples, len(medians)).
    """
    rows = summable(values)
    columns = [] if medians is None else medians.tolist()
    draws = draw_units(len(rows), n_resamples=n_resamples, seed=seed)
    if not columns or members is None:
        patterns, n_each = _patterns(rows)
        if _ALIKE * len(patterns) <= len(rows):
            rows, draws = patterns, draw_kinds(n_each, n_resamples=n_resamples, seed=seed)
    unit, of_query = members or (None, rows)
    levels = [np.unique(of_query[:, column], return_inverse=True) for column in columns]
    firsts = [max(0, int(np.sort(level)[len(level) // 2]) - _NEAR) for _, level in levels]
    near = [
        level[:, None] <= np.arange(first, first + 2 * _NEAR)
        for (_, level), first in zip(levels, firsts, strict=True)
    ]
    is_near: Floats = np.hstack([np.ones((len(of_query), 1)), *near]).astype(np.float64)
    sums, found = np.empty((n_resamples, rows.shape[1])), np.empty((n_resamples, len(columns)))
    for part, counts in draws:
        sums[part] = counts @ rows
        if columns:
            drawn = counts if unit is None else counts[:, unit]
            total, *reached = np.split(drawn @ is_near, range(1, is_near.shape[1], 2 * _NEAR), axis=1)
            for place, each in enumerate(zip(reached, firsts, levels, strict=True)):
                found[part, place] = _medians(drawn, total, *each)
    return sums, found


def _medians(
    counts: Floats, total: Floats, reached: Floats, first: int, levels: tuple[Floats, Ints]
) -> Floats:
    """Return for each row of `counts` the median, each query's value as often as it is drawn.

    total: the sum of each row; reached: of these how many have at most the value `first`, or one of those
    after it; levels: the values, ascending, and the place of each query's among them. Where a median does not
    stand next to that of the column, the values are counted one by one.
    """
    distinct, level = levels
    halves = np.hstack([(total - 1) // 2, total // 2])
    place = first + (reached[:, :, None] <= halves[:, None]).sum(axis=1)
    is_far = (reached[:, -1] <= halves[:, 1]) | ((reached[:, 0] > halves[:, 0]) & (first > 0))
    for row in np.flatnonzero(is_far):
        weight = np.bincount(level, weights=counts[row], minlength=len(distinct))
        place[row] = np.searchsorted(np.cumsum(weight), halves[row], side="right")
    return np.asarray(distinct[place].mean(axis=1))


def _patterns(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows, in a fixed order, and how often each stands."""
    order = np.lexsort(values.T[::-1]) if values.shape[1] else np.arange(len(values))
    ordered = values[order]
    starts = starts_of_groups(np.zeros(len(ordered)), *ordered.T)  # rows may have no column
    return ordered[starts], np.diff(starts, append=len(ordered))


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
        values: (n_queries, n_columns); all columns share the draws.
        clusters: (n_queries,) code of each query's cluster from 0; clusters are drawn with replacement
            and the mean is over the queries drawn. None: each query is its own.
        is_median: (n_columns,) of which columns the median is given in place of the mean.
        n_resamples: 1 or more; seed: 0 or more.

    Returns:
        (n_resamples, n_columns).
    """
    columns = np.empty(0, dtype=np.int64) if is_median is None else np.flatnonzero(is_median)
    table = values if clusters is None else cluster_sums(values, clusters)
    members = None if clusters is None else (clusters, values)
    sums, medians = bootstrap_sums(
        table, medians=columns, members=members, n_resamples=n_resamples, seed=seed
    )
    means = sums / max(len(values), 1) if clusters is None else sums[:, :-1] / sums[:, -1:]
    means[:, columns] = medians
    return np.asarray(means)


def cluster_sums(values: Floats, clusters: Ints) -> Floats:
    """Return for each cluster the sum of each column, and last the number of its queries."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    columns = [np.bincount(clusters, weights=column, minlength=n_clusters) for column in values.T]
    return np.column_stack([*columns, np.bincount(clusters, minlength=n_clusters)])
