"""Resampling of queries, the same draws for every column: bootstrap sums and sign-flip sums.

Values enter as multiples of a power of two, so fine (2^-36 and less for a million queries) that every
sum is exact in float64: no order of addition, and so no number of threads, changes a result, and ties
with what was observed are ties. Queries with equal values in all columns are drawn together, which
leaves the distribution as it is.
"""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.certainty.joined import Floats, Ints
from fire_toolkit.errors import UsageError

_CELLS = 1 << 17  # draws held at a time
_ONE_THREAD = 1 << 18  # products of this many steps start no second thread
_WORD_BITS = 64
_HALF_BITS = 6
_TABLE_BITS = 2 * _HALF_BITS


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


def bootstrap_sums(values: Floats, *, n_resamples: int, seed: int) -> Floats:
    """Return the column sums of resamples: as many rows as there are, drawn with replacement.

    Args:
        values: (n_units, n_columns), see `summable`.
        n_resamples: 1 or more.
        seed: 0 or more; the same seed and values give the same sums.

    Returns:
        (n_resamples, n_columns). Each row of counts is multinomial, exactly; all columns share it.
    """
    check_draws(n_resamples, seed)
    rng = np.random.default_rng(seed)
    patterns, count = _patterns(values)
    n_units = len(values)
    if 20 * len(patterns) <= n_units:
        counts = rng.multinomial(n_units, count / n_units, size=n_resamples)
        return np.asarray(counts.astype(np.float64) @ patterns)
    columns = np.asfortranarray(values)
    sums = np.empty((n_resamples, values.shape[1]))
    step = max(1, _CELLS // n_units)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        drawn = rng.integers(0, n_units, size=(stop - start, n_units))
        counts = np.stack([np.bincount(each, minlength=n_units) for each in drawn])
        sums[start:stop] = _small_products(counts.astype(np.float64), columns)
    return sums


def _small_products(counts: Floats, columns: Floats) -> Floats:
    """Return counts @ columns in parts that BLAS leaves on one thread; the sums are exact in any order."""
    step = max(1, _ONE_THREAD // max(1, len(counts) * columns.shape[1]))
    total = np.zeros((len(counts), columns.shape[1]))
    for start in range(0, len(columns), step):
        total += counts[:, start : start + step] @ columns[start : start + step]
    return total


def flipped_sums(differences: Floats, *, n_resamples: int, seed: int) -> Floats:
    """Return the column sums of `differences` with each row's sign drawn anew.

    Args:
        differences: (n_units, n_columns), see `summable`; a row's columns keep their signs together.
        n_resamples: 1 or more.
        seed: 0 or more.

    Returns:
        (n_resamples, n_columns). Of g rows that are equal up to their sign, the number left as they are
        is binomial (g, 1/2): the bits set in g random bits. Rows that are like few others go twelve at a
        time through a table of the 4,096 sums that their signs can give.
    """
    check_draws(n_resamples, seed)
    rng = np.random.default_rng(seed)
    patterns, count = _patterns(_upright(differences[(differences != 0).any(axis=1)]))
    is_shared = count > 2 * _TABLE_BITS
    sums = np.zeros((differences.shape[1], n_resamples))
    for pattern, number in zip(patterns[is_shared], count[is_shared], strict=True):
        n_kept = _random_bits_set(rng, int(number), n_resamples)
        sums += (2 * n_kept - number) * pattern[:, None]
    rest = np.repeat(patterns[~is_shared], count[~is_shared], axis=0)
    _add_by_table(sums, rest, rng)
    return sums.T


def _patterns(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows, in a fixed order, and how often each stands."""
    order = np.lexsort(values.T[::-1]) if values.shape[1] else np.arange(len(values))
    ordered = values[order]
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(is_first)
    return ordered[first], np.diff(np.append(first, len(ordered))).astype(np.int64)


def _upright(rows: Floats) -> Floats:
    """Return each row, or its negative, so that its first column that is not 0 is positive."""
    leading = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    return np.asarray(rows * np.sign(leading)[:, None] + 0.0)


def _random_bits_set(rng: np.random.Generator, n_bits: int, size: int) -> Ints:
    """Return `size` draws from the binomial distribution (n_bits, 1/2)."""
    n_words, rest = divmod(n_bits, _WORD_BITS)
    total = np.zeros(size, dtype=np.int64)
    for _ in range(n_words):
        total += np.bitwise_count(rng.integers(0, 1 << 64, size=size, dtype=np.uint64))
    if rest:
        words = rng.integers(0, 1 << 64, size=size, dtype=np.uint64) >> np.uint64(_WORD_BITS - rest)
        total += np.bitwise_count(words)
    return total


def _add_by_table(sums: Floats, rows: Floats, rng: np.random.Generator) -> None:
    """Add to each of `sums` (columns × resamples) the rows with random signs, twelve rows a draw."""
    signs = 1.0 - 2.0 * (np.arange(1 << _HALF_BITS)[:, None] >> np.arange(_HALF_BITS) & 1)
    n_columns, n_resamples = sums.shape
    n_blocks = -(-len(rows) // _TABLE_BITS)
    padded = np.zeros((n_blocks * _TABLE_BITS, n_columns))
    padded[: len(rows)] = rows
    halves = signs @ padded.reshape(n_blocks, 2, _HALF_BITS, n_columns)
    step = max(1, _CELLS // max(n_resamples, n_columns << _TABLE_BITS))
    for start in range(0, n_blocks, step):
        low, high = (halves[start : start + step, half].transpose(0, 2, 1) for half in (0, 1))
        tables = (high[..., None] + low[..., None, :]).reshape(len(low), n_columns, -1)
        words = rng.integers(0, 1 << 64, size=(len(low), -(-n_resamples // 4)), dtype=np.uint64)
        drawn = words.view(np.uint16)[:, :n_resamples] >> (16 - _TABLE_BITS)
        for block, codes in zip(tables, drawn, strict=True):
            for total, table in zip(sums, block, strict=True):
                total += table.take(codes)


def check_draws(n_resamples: int, seed: int) -> None:
    """Raise a UsageError for a number of resamples below 1 or a seed below 0."""
    if n_resamples < 1:
        raise UsageError(f"{n_resamples} resamples; expected 1 or more (10000 is usual)")
    if seed < 0:
        raise UsageError(f"seed {seed}; expected 0 or more")
