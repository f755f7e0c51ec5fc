"""The compiled loops of comparison give what their plain NumPy twins give, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from fire_toolkit import kernels
from fire_toolkit.draws import draw_units
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Run

pytest.importorskip("numba")
Both = Callable[[Callable[[], object]], tuple[object, object]]


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Both:
    """What a piece of work gives with NumPy, then with the compiled loops."""

    def run(work: Callable[[], object]) -> tuple[object, object]:
        monkeypatch.setattr(kernels, "_loops", None)
        plain = work()
        assert kernels.load_loops()
        monkeypatch.setattr(kernels, "_WARM_STEPS", 0)
        return plain, work()

    return run


def random_run(run_id: str, seed: int) -> Run:
    """Lists of 1 to 14 of 20 docs; a tenth of the queries is missing."""
    rng = np.random.default_rng(seed)
    rows = [
        (run_id, f"q{query:03}", f"d{doc:02}", -float(place))
        for query in np.flatnonzero(rng.random(300) < 0.9)
        for place, doc in enumerate(rng.permutation(20)[: rng.integers(1, 15)])
    ]
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


@pytest.mark.parametrize("depth", [[1], [4, 10], [100]])
def test_lists_are_compared_alike(both_ways: Both, depth: list[int]) -> None:
    runs = [random_run(name, seed) for seed, name in enumerate("abc")]
    expected, found = both_ways(
        lambda: compare_runs(runs, depth=depth, rbo_p=[0.5, 0.9, 0.98], per_query=True).comparisons
    )
    pd.testing.assert_frame_equal(expected, found, check_exact=True)


@pytest.mark.parametrize("n_units", [1, 2, 3000, 3_000_017])
def test_units_are_drawn_alike(both_ways: Both, n_units: int) -> None:
    """Of 3,000,017 units one random number in 2,210 is passed over."""
    n_resamples = max(1, 20_000 // n_units)
    expected, found = both_ways(
        lambda: np.vstack([counts for _, counts in draw_units(n_units, n_resamples=n_resamples, seed=3)])
    )
    np.testing.assert_array_equal(expected, found)
    assert (found.sum(axis=1) == n_units).all()
