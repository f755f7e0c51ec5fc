"""Resampling of queries, the same draws for every column: bootstrap sums and medians.

Values enter as multiples of a power of two, so fine (2^-36 and less for a million queries) that every
sum is exact in float64: no order of addition, and so no number of threads, changes a result. Queries with
equal values in all columns are drawn together, which leaves the distribution as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fire_toolkit.arrays import Floats, Ints, starts_of_groups
from fire_toolkit.inference.draws import draw_kinds, draw_units

_ONE_THREAD = 1 << 18  # products of this many steps start no second thread
_ALIKE = 20  # from so many equal rows on, on average, they are drawn together
_NEAR = 2  # distinct values on either side of a median, among which that of a resample is looked for


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


@dataclass(frozen=True, eq=False)
class Resampled:
    """Columns of which resamples are summed.

    values: (n_units, n_columns), see `summable`; medians: the columns of which the median is asked for, and
    not the sum; members: where units are clusters, the unit of each query, and (n_queries, len(medians)),
    the values whose medians are asked for.
    """

    values: Floats
    medians: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    members: tuple[Ints, Floats] | None = None


def bootstrap(tables: Sequence[Resampled], *, n_resamples: int, seed: int) -> list[tuple[Floats, Floats]]:
    """Return the column sums of resamples, as many rows as there are drawn with replacement, and medians.

    Args:
        tables: those of the same number of units share their draws; each has the numbers that it has alone.
        n_resamples: 1 or more.
        seed: 0 or more; the same seed and values give the same sums.

    Returns:
        For each table (n_resamples, n_columns), nan where the median is asked for, and (n_resamples,
        len(medians)). Each row of counts is multinomial, exactly; all columns share it. Of an even number of
        values the median is the mean of the two in the middle.
    """
    found = [_Sums.of(table, n_resamples) for table in tables]
    draws: Any = {"n_resamples": n_resamples, "seed": seed}
    for table in found:
        if table.n_each is not None:
            for part, counts in draw_kinds(table.n_each, **draws, n_alike=_ALIKE):
                table.add(part, counts)
    rest = [table for table in found if table.n_each is None]
    for n_units in dict.fromkeys(table.n_rows for table in rest):
        alike = [table for table in rest if table.n_rows == n_units]
        for part, counts in draw_units(n_units, **draws):
            for table in alike:
                table.add(part, counts)
    return [(table.sums, table.medians) for table in found]


@dataclass(frozen=True, eq=False)
class _Sums:
    """The sums and medians of a table's resamples, as they are made.

    summed: what is summed of each row that is drawn, columns: whose sums these are; n_each: how many units
    each row stands for, None where it is one; unit: where rows are clusters, that of each query; levels: of
    the columns with medians, near: what these look at.
    """

    summed: _Packed
    columns: Ints
    n_each: Ints | None
    unit: Ints | None
    levels: list[_Levels]
    near: _Packed
    sums: Floats
    medians: Floats

    @classmethod
    def of(cls, table: Resampled, n_resamples: int) -> _Sums:
        """Return a table's sums, not made yet: equal rows together where there are few kinds of them."""
        rows, n_each, n_units = table.values, None, len(table.values)
        if table.members is None or not len(table.medians):
            patterns, count = _patterns(rows)
            if _ALIKE * len(patterns) <= n_units:
                rows, n_each = patterns, count
        columns = np.delete(np.arange(rows.shape[1]), table.medians)
        unit, own = table.members or (None, rows[:, table.medians])
        levels = [_Levels.of(column) for column in own.T]
        near = np.hstack([level.near for level in levels]) if levels else own
        most = n_units if unit is None else n_units * int(np.bincount(unit).max(initial=0))
        sums = np.full((n_resamples, rows.shape[1]), np.nan)
        medians = np.empty((n_resamples, len(levels)))
        packed = (_Packed.of(rows[:, columns], n_units), _Packed.of(near, most))
        return cls(packed[0], columns, n_each, unit, levels, packed[1], sums, medians)

    @property
    def n_rows(self) -> int:
        """Return how many rows are drawn from."""
        return len(self.summed.rows)

    def add(self, part: slice, counts: Floats) -> None:
        """Put down the sums and medians of some resamples, which draw each row as often as `counts` says."""
        self.sums[part, self.columns] = self.summed.sums(counts)
        if self.levels:
            drawn = counts if self.unit is None else counts[:, self.unit]
            total = np.full(len(counts), counts[0].sum()) if self.unit is None else drawn.sum(axis=1)
            reached = np.split(self.near.sums(drawn), len(self.levels), axis=1)
            for place, levels in enumerate(self.levels):
                self.medians[part, place] = levels.medians(drawn, total, reached[place])


@dataclass(frozen=True, eq=False)
class _Packed:
    """Columns to be summed, those of -1, 0 and 1 several to a column: each has bits of its own in the sum.

    rows: n_alone columns as they are, then columns of n_together others as digits to a base; order: where
    each column's sum then stands.
    """

    rows: Floats
    n_alone: int
    n_together: int
    base: float
    order: Ints

    @classmethod
    def of(cls, columns: Floats, most: int) -> _Packed:
        """Return columns packed; most: how many rows a resample draws at most."""
        is_small = (columns == np.sign(columns)).all(axis=0)
        alone, small = np.flatnonzero(~is_small), np.flatnonzero(is_small)
        n_bits = (2 * most).bit_length()
        n_together = max(1, 52 // max(1, n_bits))
        packed = np.zeros((len(columns), -(-len(small) // n_together)))
        for place, column in enumerate(small):
            packed[:, place // n_together] += columns[:, column] * 2.0 ** (n_bits * (place % n_together))
        rows = np.asfortranarray(np.hstack([columns[:, alone], packed]))
        order = np.argsort(np.concatenate([alone, small]))
        return cls(rows, len(alone), n_together, 2.0**n_bits, order)

    def sums(self, counts: Floats) -> Floats:
        """Return the sum of each column, its rows taken as often as each row of `counts` says."""
        products = _small_products(counts, self.rows)
        digits, rest = [], products[:, self.n_alone :]
        for _ in range(self.n_together):
            digits.append((rest + self.base / 2) % self.base - self.base / 2)
            rest = (rest - digits[-1]) / self.base
        small = np.stack(digits, axis=2).reshape(len(counts), -1)
        return np.hstack([products[:, : self.n_alone], small])[:, self.order]


@dataclass(frozen=True, eq=False)
class _Levels:
    """The values of a column: the distinct ones, ascending, and the place of each query's among them.

    first: of those next to the median; near: (n_queries, 2 × _NEAR), whether a query's value is at most the
    first, second, ... of them.
    """

    values: Floats
    level: Ints
    first: int
    near: Floats

    @classmethod
    def of(cls, column: Floats) -> _Levels:
        """Return the levels of a column."""
        values, level = np.unique(column, return_inverse=True)
        middle = int(np.partition(level, len(level) // 2)[len(level) // 2])
        first = max(0, middle - _NEAR)
        near = level[:, None] <= np.arange(first, first + 2 * _NEAR)
        return cls(values, level, first, near.astype(np.float64))

    def medians(self, counts: Floats, total: Floats, reached: Floats) -> Floats:
        """Return for each row of `counts` the median, each query's value as often as it is drawn.

        Where it does not stand next to the median of the column, the values are counted one by one.
        total: the sum of each row; reached: the sums over the queries that `near` chooses.
        """
        halves = np.column_stack([(total - 1) // 2, total // 2])
        place = self.first + (reached[:, :, None] <= halves[:, None]).sum(axis=1)
        is_far = (reached[:, -1] <= halves[:, 1]) | ((reached[:, 0] > halves[:, 0]) & (self.first > 0))
        for row in np.flatnonzero(is_far):
            weight = np.bincount(self.level, weights=counts[row], minlength=len(self.values))
            place[row] = np.searchsorted(np.cumsum(weight), halves[row], side="right")
        middle = self.values[place]
        return np.asarray((middle[:, 0] + middle[:, 1]) / 2)


def _small_products(counts: Floats, columns: Floats) -> Floats:
    """Return counts @ columns in parts that BLAS leaves on one thread; the sums are exact in any order."""
    step = max(1, _ONE_THREAD // max(1, len(counts) * columns.shape[1]))
    total = np.zeros((len(counts), columns.shape[1]))
    for start in range(0, len(columns), step):
        total += counts[:, start : start + step] @ columns[start : start + step]
    return total


def _patterns(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows, in a fixed order, and how often each stands."""
    order = np.lexsort(values.T[::-1]) if values.shape[1] else np.arange(len(values))
    ordered = values[order]
    starts = starts_of_groups(np.zeros(len(ordered)), *ordered.T)  # rows may have no column
    return ordered[starts], np.diff(starts, append=len(ordered))
