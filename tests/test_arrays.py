"""Pairs are found by a table and by a search; a mean is exact. Measures hold what else counts with arrays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import seeds
from fire_toolkit import arrays


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
