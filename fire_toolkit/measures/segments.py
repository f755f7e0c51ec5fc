"""The hot loops: the lookup of a run's pairs in the qrels, and sums over each query's entries.

Entries are sorted by query; `query` gives the query's index of each entry. Every measure is built
from these few functions, so that a compiled kernel can take their place in one file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_DENSE_CELLS = 1 << 25  # of 4 bytes


def find_pairs(keys: Ints, sorted_keys: Ints, n_keys: int) -> Ints:
    """Return for each key its place in `sorted_keys`, or -1 where it is absent.

    Args:
        keys: what is looked up, in 0..n_keys-1.
        sorted_keys: ascending, each once.
        n_keys: how many keys are possible; a table of all of them is used while it is small.
    """
    if sorted_keys.size == 0:
        return np.full(keys.size, -1, dtype=np.int64)
    if n_keys <= min(_DENSE_CELLS, 64 * (keys.size + sorted_keys.size)):
        table = np.full(n_keys, -1, dtype=np.int32)
        table[sorted_keys] = np.arange(sorted_keys.size, dtype=np.int32)
        return table[keys].astype(np.int64)
    place = np.minimum(np.searchsorted(sorted_keys, keys), sorted_keys.size - 1)
    return np.where(sorted_keys[place] == keys, place, -1).astype(np.int64)


def count_by_query(query: Ints, n_queries: int) -> Ints:
    """Return how many entries each query has."""
    return np.bincount(query, minlength=n_queries).astype(np.int64)


def sum_by_query(query: Ints, values: npt.NDArray[Any], n_queries: int) -> Floats:
    """Return the sum of each query's values, 0 where it has none, added in the order of the entries."""
    return np.bincount(query, weights=values, minlength=n_queries).astype(np.float64)


def max_by_query(query: Ints, values: Floats, n_queries: int) -> Floats:
    """Return the largest of each query's values (from 0), and 0 where it has none."""
    largest = np.zeros(n_queries)
    np.maximum.at(largest, query, values)
    return largest


def running_count(query: Ints, is_counted: Bools) -> Ints:
    """Return for each entry how many of its query's entries up to and with it are counted."""
    count = np.cumsum(is_counted, dtype=np.int64)
    before = count - is_counted
    is_first = np.ones(query.size, dtype=bool)
    is_first[1:] = query[1:] != query[:-1]
    return np.asarray(count - np.maximum.accumulate(np.where(is_first, before, 0)), dtype=np.int64)


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any] | float) -> Floats:
    """Return part / whole in float64, and 0 where the whole is 0."""
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), np.shape(part))
    quotient = np.zeros(np.shape(part))
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient
