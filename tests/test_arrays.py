"""What everything counts with does what its names say, where there is nothing too."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import seeds
from fire_toolkit import arrays

EMPTY = np.empty(0, dtype=np.int64)


def test_sums_counts_shares_and_the_largest_are_zero_where_there_is_nothing() -> None:
    query = np.array([1, 1, 3])
    assert list(arrays.sum_by_query(query, np.array([1, 2, 4]), 5)) == [0.0, 3.0, 0.0, 4.0, 0.0]
    assert list(arrays.count_by_query(query, 5)) == [0, 2, 0, 1, 0]
    assert list(arrays.sum_by_query(EMPTY, EMPTY, 2)) == [0.0, 0.0]
    assert list(arrays.max_by_query(query, np.array([0.5, 0.2, 0.1]), 4)) == [0, 0.5, 0, 0.1]
    assert list(arrays.share(np.array([3, 1]), np.array([0, 2]))) == [0.0, 0.5]


def test_running_count_starts_anew_with_each_query() -> None:
    is_counted = np.array([True, False, True, False, True, True])
    assert list(arrays.running_count(np.array([0, 0, 0, 2, 2, 5]), is_counted)) == [1, 1, 2, 0, 1, 1]
    assert list(arrays.running_count(EMPTY, EMPTY.astype(bool))) == []


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_groups_are_stretches_that_agree_in_all_keys(rows: list[tuple[int, int]]) -> None:
    keys = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    stretches = [len(list(group)) for _, group in itertools.groupby(rows)]
    starts = arrays.starts_of_groups(*keys)
    assert list(np.diff(starts, append=len(rows))) == stretches
    assert list(arrays.number_groups(*keys)) == [n for n, size in enumerate(stretches) for _ in range(size)]
    assert list(np.flatnonzero(arrays.are_firsts(*keys))) == list(starts)


@given(st.lists(st.integers(0, 3), max_size=30))
def test_entries_are_numbered_within_their_stretch(query: list[int]) -> None:
    expected = [place for _, group in itertools.groupby(query) for place, _ in enumerate(group, start=1)]
    assert list(arrays.running_count(np.array(query, dtype=np.int64))) == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=20))
def test_rows_of_lists_stand_one_list_after_the_other(lists: list[tuple[int, int]]) -> None:
    start, lengths = np.array(lists, dtype=np.int64).reshape(-1, 2).T
    expected = [row for first, length in lists for row in range(first, first + length)]
    assert list(arrays.rows_of_lists(start, lengths)) == expected
    assert list(arrays.starts_of_lists(lengths)) == [0, *itertools.accumulate(lengths.tolist())]
    places = [place for _, length in lists for place in range(length)]
    assert list(arrays.rows_of_lists(0, lengths)) == places


@given(st.sets(st.integers(0, 9)))
def test_codes_know_whether_and_where_they_are_chosen(chosen: set[int]) -> None:
    some = np.array(sorted(chosen, reverse=True), dtype=np.int64)
    assert list(arrays.are_among(some, 10)) == [code in chosen for code in range(10)]
    expected = [list(some).index(code) if code in chosen else -1 for code in range(10)]
    assert list(arrays.places_among(some, 10)) == expected


@pytest.mark.parametrize("n_keys", [40, 10**12])  # with a table of all keys, and with a search
@given(keys=st.lists(st.integers(0, 39)), known=st.sets(st.integers(0, 39)))
def test_pairs_are_found_where_they_are(n_keys: int, keys: list[int], known: set[int]) -> None:
    in_order = sorted(known)
    expected = [in_order.index(key) if key in known else -1 for key in keys]
    found = arrays.find_pairs(np.array(keys, dtype=np.int64), np.array(in_order, dtype=np.int64), n_keys)
    assert expected == list(found)


@given(values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300))
def test_a_mean_is_the_exact_sum_divided(values: list[float]) -> None:
    assert math.fsum(values) / len(values) == arrays.mean(np.array(values))


@pytest.mark.parametrize("seed", seeds(20))
def test_a_mean_of_many_is_the_exact_sum_divided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(20_000) * 10.0 ** rng.integers(-12, 1, 20_000)
    assert math.fsum(values.tolist()) / 20_000 == arrays.mean(values)
    assert arrays.mean(values) == arrays.mean(values[::-1].copy())
