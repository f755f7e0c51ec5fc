"""How many queries tell a difference."""

import math

import numpy as np
import pytest

from examples import cases
from fire_toolkit.inference.distributions import noncentral_t_cdf, t_quantile
from fire_toolkit.planning.power import mcnemar_least, paired_t_least


# n = [z√p_d + z√(p_d − Δ²)]² / Δ² at 80% power and 5% two-sided, worked out apart from this project.
@pytest.mark.parametrize(
    ("share", "queries"),
    [
        (0.1, [7847, 1960, 870, 312]),
        (0.2, [15696, 3923, 1742, 626]),
        (0.3, [23545, 5885, 2614, 940]),
    ],
)
def test_queries_that_mcnemar_needs(share: float, queries: list[int]) -> None:
    for n, points in zip(queries, (1, 2, 3, 5), strict=True):
        fewer, enough = (mcnemar_least(k, share_differing=share) for k in (n - 1, n))
        assert fewer > points / 100 >= enough, (n, points)


# Sakai, 10.1007/s10791-015-9273-z: 80% power, 5% two-sided.
def test_queries_that_a_paired_t_test_needs() -> None:
    for n, effect in ((199, 0.2), (90, 0.3), (34, 0.5), (15, 0.8)):
        assert paired_t_least(n - 1) > effect >= paired_t_least(n), n


# Numbers of scipy 1.17.
@cases("freedom", "t", "shift", "expected")
def test_t_equals_scipy(freedom: int, t: float, shift: float, expected: float) -> None:
    assert noncentral_t_cdf(t, freedom, shift) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.70620474), (2, 4.30265273), (9, 2.262157163), (132, 1.978098842), (27762, 1.960049439)],
)
def test_quantiles_of_t_equal_scipys(freedom: int, expected: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "share"), [(5, 0.1), (2, 0.9), (1000, 0.0)])
def test_queries_that_tell_no_difference(n: int, share: float) -> None:
    assert math.isnan(mcnemar_least(n, share_differing=share, level=0.001))


def test_mcnemars_power_is_that_of_simulated_tests() -> None:
    rng = np.random.default_rng(3)
    n, share = 800, 0.2
    difference = mcnemar_least(n, share_differing=share)
    better, worse = (share + difference) / 2, (share - difference) / 2
    drawn = rng.multinomial(n, [better, worse, 1 - share], size=20_000)
    z = (drawn[:, 0] - drawn[:, 1]) / np.sqrt(drawn[:, 0] + drawn[:, 1])
    assert np.mean(np.abs(z) > 1.959964) == pytest.approx(0.8, abs=0.015)
