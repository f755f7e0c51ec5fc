"""Seeded draws with replacement."""

import numpy as np
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.inference import resampling
from fire_toolkit.inference.resampling import draw_kinds, draw_units


def counted(n_units: int) -> np.ndarray:
    return np.vstack([counts for _, counts in draw_units(n_units, n_resamples=50, seed=1)])


def kinds(n_each: list[int], n_resamples: int = 50) -> np.ndarray:
    parts = draw_kinds(np.array(n_each), n_resamples=n_resamples, seed=1)
    return np.vstack([counts for _, counts in parts])


def test_each_unit_is_drawn_as_numpy_draws_it() -> None:
    rng = np.random.default_rng(1)
    expected = [np.bincount(rng.integers(0, 30, size=30), minlength=30) for _ in range(50)]
    np.testing.assert_array_equal(expected, counted(30))


def test_kinds_of_many_units_are_multinomial() -> None:
    drawn = kinds([100, 200, 700], 20_000)
    assert (drawn.sum(axis=1) == 1000).all()
    assert drawn.mean(axis=0) == pytest.approx([100, 200, 700], rel=3e-3)
    assert drawn.var(axis=0) == pytest.approx([90, 160, 210], rel=0.04)


def test_the_number_held_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kinds([3, 4, 5]), counted(12)
    monkeypatch.setattr(resampling, "_CELLS", 40)
    np.testing.assert_array_equal(whole[0], kinds([3, 4, 5]))
    np.testing.assert_array_equal(whole[1], counted(12))


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="0 resamples; expected 1 or more"):
        next(draw_units(2, n_resamples=0, seed=0))
    with pytest.raises(UsageError, match="seed -1; expected 0 or more"):
        next(draw_units(2, n_resamples=1, seed=-1))
