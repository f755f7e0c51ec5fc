import math

import numpy as np
import pytest

from fire_toolkit.inference import clopper_pearson, wilson
from fire_toolkit.inference.distributions import upper_tail


def slow_tail(n_least: int, n: int, p: float) -> float:
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(n_least, 0), n + 1))


@pytest.mark.parametrize("n", [1, 2, 7, 40, 200])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.9])
def test_tails_equal_the_sum_of_terms(n: int, p: float) -> None:
    for n_least in range(-1, n + 2):
        assert upper_tail(n_least, n, p) == pytest.approx(slow_tail(n_least, n, p), rel=1e-9, abs=1e-14)


def test_limits_of_clopper_and_pearson() -> None:
    # The rule of three's exact form: 0 of n is 1 − (α/2)^(1/n); 7 of 10 as in any table.
    assert clopper_pearson(0, 10) == pytest.approx((0, 1 - 0.025**0.1))
    assert clopper_pearson(10, 10) == pytest.approx((0.025**0.1, 1))
    assert clopper_pearson(7, 10) == pytest.approx((0.34754715, 0.93326052), abs=1e-7)


def test_limits_of_clopper_and_pearson_hold_the_tails_at_half_alpha() -> None:
    for n, k in ((27763, 14000), (1000, 674), (30, 1)):
        low, high = clopper_pearson(k, n)
        assert pytest.approx(0.025, rel=1e-6) == upper_tail(k, n, low)
        assert pytest.approx(0.975, rel=1e-6) == upper_tail(k + 1, n, high)


def test_limits_of_wilson_solve_the_score_equation() -> None:
    assert (*wilson(0, 10), *wilson(10, 10)) == pytest.approx((0, 0.2775, 0.7225, 1), abs=5e-5)
    low, high = wilson(674, 1000)
    for limit in (low, high):
        z = (0.674 - limit) / math.sqrt(limit * (1 - limit) / 1000)
        assert pytest.approx(1.959963985, abs=1e-6) == abs(z)


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.2, 0.55, 0.9])
def test_exact_limits_cover_what_they_say(p: float) -> None:
    """Exact sums over all outcomes, no simulation: 1,000 queries; Wilson's lie at 95% on average."""
    n = 1000
    outcomes = np.arange(n + 1)
    log_terms = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p)
                 + (n - k) * math.log1p(-p) for k in outcomes]  # fmt: skip
    weights = np.exp(log_terms)
    likely = outcomes[weights > 1e-9]
    for limits, low, high in ((clopper_pearson, 0.95, 0.965), (wilson, 0.94, 0.96)):
        covered = sum(weights[k] for k in likely if limits(int(k), n)[0] <= p <= limits(int(k), n)[1])
        assert low <= covered <= high, limits
