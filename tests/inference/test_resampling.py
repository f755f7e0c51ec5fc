import os
import subprocess
import sys

import numpy as np
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.inference.resampling import bootstrap_means, summable


def values(n: int, *, n_levels: int | None, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = rng.random((n, 2)) if n_levels is None else rng.integers(n_levels, size=(n, 2)) / n_levels
    return summable(drawn)


@pytest.mark.parametrize("n_levels", [None, 2, 3])
def test_bootstrap_sums_have_the_moments_of_the_bootstrap(n_levels: int | None) -> None:
    """Mean n·m and variance n·σ² of the drawn rows, and the covariance of the columns likewise."""
    rows = values(200, n_levels=n_levels)
    sums = 200 * bootstrap_means(rows, n_resamples=20_000, seed=2)
    assert 200 * rows.mean(axis=0) == pytest.approx(sums.mean(axis=0), rel=3e-3)
    assert 200 * np.cov(rows.T, bias=True) == pytest.approx(np.cov(sums.T), abs=0.04 * 200 * rows.var())


def test_sums_are_exact_in_any_order() -> None:
    rows = values(5000, n_levels=None)
    assert rows.sum(axis=0).tolist() == rows[::-1].sum(axis=0).tolist()
    assert np.abs(rows - np.random.default_rng(1).random((5000, 2))).max() < 1e-11


def test_a_column_gets_the_same_draws_whatever_stands_beside_it() -> None:
    rows = values(100, n_levels=None)
    both, alone = (bootstrap_means(part, n_resamples=50, seed=4) for part in (rows, rows[:, :1]))
    assert both[:, 0].tolist() == alone[:, 0].tolist()


def test_the_number_of_threads_changes_nothing() -> None:
    code = (
        "import numpy as np; from fire_toolkit.inference.resampling import *;"
        "v = np.random.default_rng(0).random((3000, 8));"
        "print(bootstrap_means(v, n_resamples=40, seed=1).tobytes().hex())"
    )
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    alone = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    here = bootstrap_means(np.random.default_rng(0).random((3000, 8)), n_resamples=40, seed=1)
    assert alone.stdout.decode().strip() == here.tobytes().hex()


def test_clusters_are_drawn_whole() -> None:
    """Two clusters of two equal queries: a resampled mean is 0, 1/2 or 1, with shares 1/4, 1/2, 1/4."""
    means = bootstrap_means(
        np.array([[0.0], [0.0], [1.0], [1.0]]), clusters=np.array([0, 0, 1, 1]), n_resamples=20_000, seed=0
    )
    found, count = np.unique(means, return_counts=True)
    assert list(found) == [0, 0.5, 1]
    assert count / 20_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.015)


@pytest.mark.parametrize("n_levels", [None, 4])  # drawn row by row, and equal rows together
@pytest.mark.parametrize("n", [1, 150, 151])
def test_medians_are_those_of_the_draws_of_the_means(n_levels: int | None, n: int) -> None:
    """Of a column of 0 and 1 the median is 1 where the mean is above 1/2."""
    rng = np.random.default_rng(3)
    other = rng.random(n) if n_levels is None else rng.integers(n_levels, size=n) / n_levels
    above = (rng.random(n) < 0.5).astype(float)
    rows = np.column_stack([other, above, above])
    drawn = bootstrap_means(rows, is_median=np.array([False, False, True]), n_resamples=500, seed=1)
    assert bootstrap_means(rows, n_resamples=500, seed=1)[:, :2].tolist() == drawn[:, :2].tolist()
    expected = np.where(drawn[:, 1] > 0.5, 1.0, np.where(drawn[:, 1] < 0.5, 0.0, 0.5))
    assert expected.tolist() == drawn[:, 2].tolist()


def test_medians_of_clusters_are_over_the_queries_drawn() -> None:
    """Two clusters of three: 1 1 9 and 2 2 2; together 1 1 2 2 2 9."""
    values = np.array([[1.0], [1.0], [9.0], [2.0], [2.0], [2.0]])
    medians = bootstrap_means(
        values, clusters=np.repeat([0, 1], 3), is_median=np.array([True]), n_resamples=20_000, seed=2
    )
    found, count = np.unique(medians, return_counts=True)
    assert list(found) == [1.0, 2.0]
    assert count / 20_000 == pytest.approx([0.25, 0.75], abs=0.015)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="0 resamples; expected 1 or more"):
        bootstrap_means(np.ones((2, 1)), n_resamples=0, seed=0)
    with pytest.raises(UsageError, match="seed -1; expected 0 or more"):
        bootstrap_means(np.ones((2, 1)), n_resamples=1, seed=-1)
