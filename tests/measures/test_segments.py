"""The loops under the measures do what their names say, with empty queries too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit import arrays as segments

EMPTY = np.empty(0, dtype=np.int64)


def test_sums_are_zero_for_queries_without_entries() -> None:
    query = np.array([1, 1, 3])
    assert list(segments.sum_by_query(query, np.array([1, 2, 4]), 5)) == [0.0, 3.0, 0.0, 4.0, 0.0]
    assert list(segments.count_by_query(query, 5)) == [0, 2, 0, 1, 0]
    assert list(segments.sum_by_query(EMPTY, EMPTY, 2)) == [0.0, 0.0]


def test_the_largest_of_nothing_is_zero() -> None:
    assert list(segments.max_by_query(np.array([1, 1, 3]), np.array([0.5, 0.2, 0.1]), 4)) == [0, 0.5, 0, 0.1]


def test_running_count_starts_anew_with_each_query() -> None:
    query = np.array([0, 0, 0, 2, 2, 5])
    is_counted = np.array([True, False, True, False, True, True])
    assert list(segments.running_count(query, is_counted)) == [1, 1, 2, 0, 1, 1]
    assert list(segments.running_count(EMPTY, EMPTY.astype(bool))) == []


def test_share_of_nothing_is_zero() -> None:
    assert list(segments.share(np.array([3, 1]), np.array([0, 2]))) == [0.0, 0.5]


@pytest.mark.parametrize("n_keys", [40, 10**12])  # with a table of all keys, and with a search
@given(keys=st.lists(st.integers(0, 39)), known=st.sets(st.integers(0, 39)))
def test_pairs_are_found_where_they_are(n_keys: int, keys: list[int], known: set[int]) -> None:
    in_order = sorted(known)
    expected = [in_order.index(key) if key in known else -1 for key in keys]
    found = segments.find_pairs(np.array(keys, dtype=np.int64), np.array(in_order, dtype=np.int64), n_keys)
    assert expected == list(found)


@given(values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300))
def test_a_mean_is_the_exact_sum_divided(values: list[float]) -> None:
    assert math.fsum(values) / len(values) == segments.mean(np.array(values))


@pytest.mark.parametrize("seed", range(20))
def test_a_mean_of_many_is_the_exact_sum_divided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(20_000) * 10.0 ** rng.integers(-12, 1, 20_000)
    assert math.fsum(values.tolist()) / 20_000 == segments.mean(values)
    assert segments.mean(values) == segments.mean(values[::-1].copy())
