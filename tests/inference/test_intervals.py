"""Intervals and tests of means over queries, against formulas that share no code with ours."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fire_toolkit.inference import resampling
from fire_toolkit.inference.intervals import (
    change_interval,
    influences,
    mean_interval,
    note_few,
    score_interval,
    welch_interval,
)
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.measures import parse_measure

Z = NormalDist().inv_cdf(0.975)
C1, AP, DCG, MEDR = map(parse_measure, ("C@1", "AP", "DCG@10", "MedR"))
GMAP = parse_measure("gm_map")
PAIRS = [(0, 0, 20), (5, 0, 20), (9, 1, 40), (12, 30, 100), (3, 2, 1000), (250, 212, 1000)]


def pair(n_better: int, n_worse: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    a = np.r_[np.ones(n_better), np.zeros(n - n_better)]
    return a, np.r_[np.zeros(n_better), np.ones(n_worse), np.zeros(n - n_better - n_worse)]


def tango(n_better: int, n_worse: int, n: int, difference: float) -> float:
    """Tango's score statistic (Statistics in Medicine 17, 1998), with his closed form of the estimate."""
    b = -n_better - n_worse + (2 * n - n_better + n_worse) * difference
    c = -n_worse * difference * (1 - difference)
    q = (math.sqrt(b * b - 8 * n * c) - b) / (4 * n)
    return (n_better - n_worse - n * difference) / math.sqrt(n * (2 * q + difference * (1 - difference)))


@pytest.mark.parametrize(("n_better", "n_worse", "n"), PAIRS)
def test_limits_of_a_difference_of_hits_are_tangos(n_better: int, n_worse: int, n: int) -> None:
    found = change_interval(*pair(n_better, n_worse, n), C1)
    assert found.method == "score"
    assert tango(n_better, n_worse, n, found.low) == pytest.approx(Z, abs=1e-6)
    assert tango(n_better, n_worse, n, found.high) == pytest.approx(-Z, abs=1e-6)


@pytest.mark.parametrize(("n_better", "n_worse", "n"), PAIRS)
def test_p_of_a_difference_of_hits_is_mcnemars(n_better: int, n_worse: int, n: int) -> None:
    """χ² = (b − c)² / (b + c), one degree of freedom, no correction."""
    z = abs(n_better - n_worse) / math.sqrt(max(n_better + n_worse, 1))
    p = change_interval(*pair(n_better, n_worse, n), C1).p
    assert p == pytest.approx(2 * NormalDist().cdf(-z), rel=1e-6)


@pytest.mark.parametrize(("n_positive", "n"), [(0, 10), (7, 10), (10, 10), (1, 30), (95, 99)])
def test_limits_of_a_mean_of_0_and_1_are_wilsons(n_positive: int, n: int) -> None:
    values = np.r_[np.ones(n_positive), np.zeros(n - n_positive)]
    found = mean_interval(values, ends=(0, 1), least=1000)
    share = n_positive / n
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n * n))
    assert found[1:3] == pytest.approx((middle - half, middle + half), abs=1e-7)


@pytest.mark.parametrize(("n_zero", "n_other", "value"), [(18, 2, 0.4), (29, 1, 0.05), (40, 10, 0.7)])
def test_a_score_limit_solves_its_equation_under_the_most_likely_distribution(
    n_zero: int, n_other: int, value: float
) -> None:
    """The likelihood of every distribution on 0, the value and 1 whose mean is the upper limit."""
    values = np.r_[np.zeros(n_zero), np.full(n_other, value)]
    limit = mean_interval(values, ends=(0, 1), least=1000).high
    at_value = np.linspace(1e-9, min(1, limit / value) - 1e-9, 200_001)
    at_one = limit - value * at_value
    at_zero = 1 - at_value - at_one
    is_one = at_zero > 0
    likelihood = np.full(at_value.shape, -np.inf)
    likelihood[is_one] = n_zero * np.log(at_zero[is_one]) + n_other * np.log(at_value[is_one])
    best = likelihood.argmax()
    variance = at_value[best] * value**2 + at_one[best] - limit**2
    assert (limit - values.mean()) / math.sqrt(variance / len(values)) == pytest.approx(Z, abs=1e-3)


def test_dense_differences_have_students_t() -> None:
    """t(.975, 39) is 2.02269 in any table."""
    values = np.random.default_rng(1).normal(0.02, 0.1, 40)
    found = mean_interval(values, ends=(-1, 1))
    error = values.std(ddof=1) / math.sqrt(40)
    assert found.method == "t"
    assert (found.high - found.low) / 2 == pytest.approx(2.02269 * error, rel=1e-5)
    assert found.p == pytest.approx(0.18103449854, abs=1e-9)  # scipy 1.17.1: ttest_1samp(values, 0)


def test_clusters_of_one_size_are_as_many_values() -> None:
    means = np.random.default_rng(2).normal(0.02, 0.1, 40)
    values = (means[:, None] + [-0.1, 0.0, 0.1]).ravel()
    found = mean_interval(values, ends=(-1, 1), clusters=np.repeat(np.arange(40), 3))
    assert found[:3] == pytest.approx(mean_interval(means, ends=(-1, 1))[:3])


def test_degrees_of_freedom_are_those_of_the_effective_number_of_clusters() -> None:
    """Ten clusters of 19 and ten of 1: 200² / (10·19² + 10) is 11.05 clusters, and t(.975, 10.05) 2.22665."""
    sizes = np.repeat([19, 1], 10)
    codes = np.repeat(np.arange(20), sizes)
    values = np.random.default_rng(3).normal(1, 1, 200)
    sums = np.bincount(codes, values)
    residuals = sums - values.mean() * sizes
    error = math.sqrt(20 / 19 * (residuals @ residuals)) / 200
    found = mean_interval(values, clusters=codes)
    assert (found.high - found.low) / 2 == pytest.approx(2.2266454 * error, rel=1e-6)


values_of_queries = st.one_of(
    st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=2, max_size=60),
    st.lists(st.sampled_from([0.0] * 9 + [0.3, -0.1, 1.0]), min_size=2, max_size=60),
    st.lists(st.floats(-1, 1), min_size=2, max_size=40),
    st.lists(st.sampled_from([0.25]), min_size=2, max_size=40),
)


@given(values_of_queries, st.booleans(), st.booleans())
@example([0.0] * 50, True, False)
@example([1.0] * 5, False, True)
def test_an_interval_has_a_width_within_its_range_and_agrees_with_p(
    values: list[float], is_hit: bool, in_clusters: bool
) -> None:
    changed = np.array(values) if not is_hit else np.sign(values)
    clusters = np.arange(len(changed)) // 2 if in_clusters and len(changed) > 3 else None
    found = change_interval(changed, np.zeros_like(changed), C1 if is_hit else AP, clusters=clusters)
    assert -1 <= found.low < found.high <= 1
    assert found.low - 1e-9 <= changed.mean() <= found.high + 1e-9
    if abs(found.p - 0.05) > 1e-6:
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=120))
def test_the_interval_of_a_score_lies_between_0_and_1(values: list[float]) -> None:
    for measure in (AP, GMAP):
        found = score_interval(np.array(values), measure)
        if found.method:
            assert 0 <= found.low < found.high <= 1
            assert found.low - 1e-9 <= measure.aggregate(np.array(values)) <= found.high + 1e-9


def test_what_cannot_be_known_is_nan() -> None:
    same = np.full(50, 2.5)
    one = np.array([0.4])
    for found in (
        change_interval(same, same, DCG),  # no end of a range, and no query differs
        change_interval(one, one, AP),
        score_interval(one, AP),
        score_interval(same, DCG),
        score_interval(np.array([1.0, 2, 3, 4, 5]), MEDR),
        score_interval(np.arange(30.0), MEDR, clusters=np.arange(30) // 2),
    ):
        assert found.method == ""
        assert np.isnan(found[1:3]).all()


def test_a_gain_that_cannot_be_a_loss_is_an_exact_share() -> None:
    """0 of 100: the upper limit is 1 − .025^(1/100)."""
    before = np.r_[np.ones(40), np.zeros(60)]
    found = change_interval(before, before, C1, only_up=True)
    assert (found.method, found.low) == ("exact", 0.0)
    assert found.high == pytest.approx(1 - 0.025**0.01)
    assert change_interval(before, before, C1).low == pytest.approx(-(Z**2) / (100 + Z**2))


@pytest.mark.parametrize("n", [6, 7, 25, 100, 1001])
def test_the_limits_of_a_median_are_order_statistics(n: int) -> None:
    """The largest k for which fewer than k of n fair coins show heads in at most 2.5%."""
    tails = np.cumsum([math.comb(n, k) / 2**n for k in range(n // 2)])
    k = int((tails <= 0.025).sum())
    ranks = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    found = score_interval(ranks, MEDR)
    assert found[1:3] == (k, n + 1 - k)
    assert found.method == "order"


def test_medians_differ_by_what_both_intervals_allow() -> None:
    """Each is held with 97.5%: of 100 values by those of places 39 and 62."""
    ranks = np.arange(1.0, 101)
    found = change_interval(ranks, ranks + 50, MEDR)
    assert found[1:3] == (-50 - 23, -50 + 23)
    assert math.isnan(found.p)
    gains = [np.stack([ranks, -before]) for before in (ranks + 50, ranks)]
    found = change_interval(*gains, MEDR)  # each of four with 98.75%: places 38 and 63
    assert found[:3] == (-50, -50 - 4 * 12.5, -50 + 4 * 12.5)


def test_a_geometric_mean_is_the_mean_of_its_parts() -> None:
    values = np.random.default_rng(4).random(60)
    assert influences(values, GMAP).mean() == pytest.approx(np.exp(np.log(values).mean()))
    moved = values * 1.01  # to first order the gain is a hundredth of the geometric mean
    gain = (influences(moved, GMAP) - influences(values, GMAP)).mean()
    assert gain == pytest.approx(0.01 * np.exp(np.log(values).mean()), rel=1e-9)
    logs = np.log(values)
    half = 2.00100 * logs.std(ddof=1) / math.sqrt(60)  # t(.975, 59)
    assert score_interval(values, GMAP).high == pytest.approx(np.exp(logs.mean() + half), rel=1e-5)


def test_welchs_interval_and_p() -> None:
    """scipy 1.17.1: ttest_ind(one, other, equal_var=False)."""
    one = np.array([27.5, 21.0, 19.0, 23.6, 17.0, 17.9])
    other = np.array([27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0])
    found = welch_interval(one, other)
    assert (*found[1:3], found.p) == pytest.approx((-6.6960940522, 1.6960940522, 0.2019886774), abs=1e-9)
    assert np.isnan(welch_interval(one[:1], other)[:3]).all()


def test_few_queries_and_few_changes_are_said() -> None:
    few = Estimate(0.05, 0.0, 0.1, p=0.3, method="score", n_differing=14)
    notes = note_few([(AP, few._replace(n_differing=15)), (C1, few), (AP, few)], n_queries=19, clusters=None)
    assert notes[0].startswith("19 queries: coverage was checked from 20 on")
    assert notes[1].startswith("AP, C@1: fewer than 15 queries differ in 2 rows; there")
    assert "covers more than it says" in notes[1]
    assert note_few([(AP, few._replace(n_differing=15))], n_queries=20, clusters=None) == []
    (note,) = note_few([(DCG, few._replace(method="t"))], n_queries=400, clusters=np.arange(40))
    assert note.startswith("DCG@10: fewer than 15 clusters differ in 1 row; there")
    assert note.endswith("maybe too narrow")


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.2])
def test_intervals_of_gains_cover_at_least_what_they_say(share: float) -> None:
    """300 samples of 30 and of 100 queries, of which a share gains between 0 and 1."""
    rng = np.random.default_rng(6)
    for n in (30, 100):
        gains = rng.beta(1, 3, (300, n)) * (rng.random((300, n)) < share)
        limits = [change_interval(own, np.zeros(n), AP)[1:3] for own in gains]
        covered = np.mean([low <= share / 4 <= high for low, high in limits])
        assert covered >= 0.92


def test_draws_are_the_same_however_many_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> np.ndarray:
        return np.vstack(list(resampling.draw_weights(np.ones(30), n_resamples=50, seed=1)))

    whole = drawn()
    assert whole.sum(axis=1) == pytest.approx(30)
    monkeypatch.setattr(resampling, "_CELLS", 40)
    np.testing.assert_array_equal(whole, drawn())
