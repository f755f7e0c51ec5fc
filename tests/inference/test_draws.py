"""Seeded draws with replacement."""

import numpy as np
import pytest
from brought import refused

from fire_toolkit.errors import UsageError
from fire_toolkit.inference import resampling
from fire_toolkit.inference.resampling import draw_units, draw_weights


def drawn() -> np.ndarray:
    return np.vstack(list(draw_units(30, n_resamples=50, seed=1)))


def test_the_number_held_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn()
    assert set(whole.sum(axis=1)) == {30}
    monkeypatch.setattr(resampling, "_CELLS", 40)
    np.testing.assert_array_equal(whole, drawn())


@pytest.mark.parametrize("wrong", [{"n_resamples": 0}, {"seed": -1}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    for draws in (draw_units(2, **{"n_resamples": 1, "seed": 0} | wrong),
                  draw_weights(np.ones(2), **{"n_resamples": 1, "seed": 0} | wrong)):  # fmt: skip
        refused("resamples, seed ... ; expected 1 or more", next, draws, by=UsageError)
