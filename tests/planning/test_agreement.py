"""The width of alpha's interval, before judging."""

import numpy as np
import pytest

from fire_toolkit.planning.agreement import expected_alpha


def test_the_interval_is_that_of_simulated_pairs() -> None:
    rng = np.random.default_rng(7)
    n, share, rates = 800, 0.13, (0.92, 0.04)
    truth = rng.random((4000, n)) < share
    chance = np.where(truth, *rates)
    first, second = (rng.random(truth.shape) < chance for _ in range(2))
    positive = (first.mean(axis=1) + second.mean(axis=1)) / 2
    # alpha of two raters without missing labels, 2n values: 1 − (2n − 1)/2n · observed / (2 p q)
    observed = (first != second).mean(axis=1)
    alphas = 1 - (2 * n - 1) / (2 * n) * observed / (2 * positive * (1 - positive))
    alpha, half = expected_alpha(n, share_positive=share, rates=rates)
    assert alpha == pytest.approx(alphas.mean(), abs=0.005)
    assert half == pytest.approx(1.96 * alphas.std(), rel=0.05)


def test_nobody_doubled_gives_no_alpha() -> None:
    assert np.isnan(expected_alpha(0, share_positive=0.1, rates=(0.9, 0.1))).all()
