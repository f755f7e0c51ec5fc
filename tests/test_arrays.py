"""Pairs are found where they are, lists stay whole, a mean is exact. Measures hold what else counts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import seeds
from fire_toolkit import arrays


@given(keys=st.lists(st.integers(-3, 39)), known=st.sets(st.integers(0, 39)))
def test_pairs_are_found_where_they_are(keys: list[int], known: set[int]) -> None:
    in_order = sorted(known)
    expected = [(row, in_order.index(key)) for row, key in enumerate(keys) if key in known]
    found = arrays.find_pairs(np.array(keys, dtype=np.int64), np.array(in_order, dtype=np.int64))
    assert expected == list(zip(*found, strict=True))


@given(lengths=st.lists(st.integers(0, 5)), part=st.integers(1, 9))
def test_each_list_is_whole_in_one_of_the_parts_of_all_rows(lengths: list[int], part: int) -> None:
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(arrays, "_PART", part)
        parts = arrays.parts_of(starts[:-1], int(starts[-1]))
    assert list(range(starts[-1])) == [row for each in parts for row in range(each.start, each.stop)]
    assert {each.start for each in parts} <= {*starts.tolist()}
    rows = [part * start + place for start, n in enumerate(lengths) for place in range(n)]
    assert rows == arrays.rows_of_lists(part * np.arange(len(lengths)), np.array(lengths, dtype=int)).tolist()


@given(values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300))
def test_a_mean_is_the_exact_sum_divided(values: list[float]) -> None:
    assert math.fsum(values) / len(values) == arrays.mean(np.array(values))


@pytest.mark.parametrize("seed", seeds(20))
def test_a_mean_of_many_is_the_exact_sum_divided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(20_000) * 10.0 ** rng.integers(-12, 1, 20_000)
    assert math.fsum(values.tolist()) / 20_000 == arrays.mean(values)
    assert arrays.mean(values) == arrays.mean(values[::-1].copy())
