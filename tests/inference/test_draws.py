"""Seeded draws with replacement."""

import numpy as np
import pytest

from fire_toolkit.inference import resampling
from fire_toolkit.inference.resampling import draw_units


def drawn() -> np.ndarray:
    return np.vstack(list(draw_units(30, n_resamples=50, seed=1)))


def test_the_number_held_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn()
    assert set(whole.sum(axis=1)) == {30}
    monkeypatch.setattr(resampling, "_CELLS", 40)
    np.testing.assert_array_equal(whole, drawn())
