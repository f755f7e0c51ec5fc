"""Limits of estimates from samples: their equation, published examples, coverage by enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.inference.distributions import t_of, upper_tail
from fire_toolkit.inference.drawn_pairs import (
    LEAST_PAIRS,
    DrawnPairs,
    micro_recall,
    sampled_precision,
    undrawn_share,
)
from fire_toolkit.inference.limits import (
    Count,
    clopper_pearson,
    freedom_of_weight,
    limits_of_difference,
    limits_of_share,
    score_limits,
    weight_of,
    wilson,
)
from fire_toolkit.inference.two_phase import TwoPhase, missing_share

Z = 1.959963984540054


@pytest.mark.parametrize(("n_positive", "n"), [(0, 10), (3, 10), (7, 10), (10, 10), (1, 400)])
def test_a_share_of_n_has_wilsons_limits(n_positive: int, n: int) -> None:
    share = n_positive / n
    # where all are alike the weight is what makes them wide: one of n, less the .09 that is added elsewhere
    weight = 1 / n if share in (0, 1) else 0.0
    assert score_limits(share, share * (1 - share) / n, weight=weight) == pytest.approx(wilson(share, n))


def test_limits_solve_their_equation() -> None:
    found = score_limits(30.0, 200.0, weight=8.0, most=400.0)
    spread = (200 + 0.09 * 8**2) / (30 * (1 - 30 / 400) + 0.09 * 8)
    roots = np.roots([1 + Z**2 * spread / 400, -(60 + Z**2 * spread), 900])
    assert sorted(roots) == pytest.approx(found)
    # Student's t with two degrees of freedom is 4.3027 in tables
    wide = score_limits(30.0, 200.0, most=math.inf, freedom=2.9)
    assert (wide[1] - 30) ** 2 == pytest.approx(4.3027**2 * 200 / 30 * wide[1], rel=1e-4)


def test_limits_of_a_difference_and_a_share_solve_the_equation_of_their_score_test() -> None:
    """By the likelihood of two Poisson counts, a of weight 10 and b of 4, along a · 1 − b · odds = gap."""
    a, b = Count(20, 50, 10, freedom=8), Count(5, 24, 4, freedom=12)
    shares = [(share / (1 - share), 5 * share / (1 - share) - 20) for share in limits_of_share(a, b)]
    for odds, gap in [*((1.0, limit - 15) for limit in limits_of_difference(a, b)), *shares]:
        parts = np.array([500, 96 * (1 if odds == 1 else 70 / 29) ** 2])  # their variances, as estimated
        t = t_of(parts.sum() ** 2 / (parts**2 / [8, 12]).sum())
        of_b = np.linspace(max(0, -gap / odds) + 1e-4, 200, 2_000_000)
        of_a = odds * of_b + gap
        likely = (50 * np.log(of_a) - of_a) / 10 + (24 * np.log(of_b) - of_b) / 4
        best = likely.argmax()
        variance = 10 * of_a[best] + odds**2 * 4 * of_b[best]
        assert (50 - odds * 24 - gap) ** 2 == pytest.approx(t**2 * variance, rel=1e-3)


def test_limits_of_a_difference_from_what_is_known_are_those_of_the_other_alone() -> None:
    a, nothing = Count(0, 40, 10), Count(7, 0, 0)
    low, high = score_limits(40, 400, most=math.inf)
    assert limits_of_difference(a, nothing) == pytest.approx((low - 7, high - 7), rel=1e-6)
    assert limits_of_difference(nothing, a) == pytest.approx((7 - high, 7 - low), rel=1e-6)
    assert limits_of_share(a, Count(0, 0, 10))[1] == pytest.approx(1)
    assert limits_of_share(Count(0, 0, 10), a)[0] == pytest.approx(0)


@pytest.mark.parametrize("expected", [1.3, 2.0, 4.0, 12.0])
def test_a_difference_of_two_counts_is_covered_by_enumeration(expected: float) -> None:
    x = np.arange(40)
    chance = np.exp(x * math.log(expected) - expected - np.array([math.lgamma(n + 1) for n in x]))
    weight = [weight_of(9.0 * n, 81.0 * n, 9.0, math.inf) for n in x.tolist()]
    covered = 0.0
    for m, n in np.argwhere(np.multiply.outer(chance, chance) > 1e-9).tolist():
        low, high = limits_of_difference(Count(0, 9 * m, weight[m]), Count(0, 9 * n, weight[n]))
        covered += chance[m] * chance[n] * (low <= 0 <= high)
    assert 0.94 < covered < 0.981


def test_one_weight_is_known_and_unlike_ones_are_known_as_well_as_they_were_seen() -> None:
    assert freedom_of_weight(np.full(5, 90.0), np.full(5, 10.0)) == math.inf
    assert freedom_of_weight(np.zeros(5), np.zeros(5)) == math.inf
    # 2 (1 + 9)² / ((1 − 10/4)² + (9 − 30/4)²)
    assert freedom_of_weight(np.array([1.0, 9.0]), np.array([1.0, 3.0])) == pytest.approx(200 / 4.5)


def test_totals_are_covered_from_one_expected_positive_on_by_enumeration() -> None:
    """M positives, each drawn with chance .1: every count that can come, weighed by its probability."""
    covered = []
    for n_positive in range(10, 400, 3):
        count = np.arange(n_positive + 1)
        log_choose = np.array([math.lgamma(n_positive + 1) - math.lgamma(x + 1)
                               - math.lgamma(n_positive - x + 1) for x in count.tolist()])  # fmt: skip
        chance = np.exp(log_choose + count * math.log(0.1) + (n_positive - count) * math.log(0.9))
        limits = [score_limits(10 * x, 90 * x, weight=9, most=math.inf) for x in count.tolist()]
        covered.append(sum(p for p, (low, high) in zip(chance, limits, strict=True)
                           if max(low, 0) <= n_positive <= high))  # fmt: skip
    assert min(covered) > 0.92
    assert 0.945 < np.mean(covered) < 0.96


def answers() -> st.SearchStrategy[np.ndarray]:
    """Return labels of 400 pairs: none, few, many or all of them positive."""
    share = st.sampled_from([0.0, 0.003, 0.01, 0.1, 0.6, 1.0])
    return st.builds(lambda seed, p: np.random.default_rng(seed).random(400) < p, st.integers(0, 99), share)


def cells_of(label: np.ndarray, n_drawn: int) -> dict[str, tuple[float, float, float, str]]:
    """Return every kind of estimate from one design, whatever the labels are."""
    one, place = np.arange(400) // 5, np.arange(400)
    known = place % 40 == 0
    chance = np.where(known | (place >= n_drawn), 1.0, np.where(place % 3, 0.9, 0.7))
    sampled = DrawnPairs(known * 1.0, (label | known) * 1.0, one, 80, chance=chance)
    shown = np.where(place < n_drawn, label.astype(float), np.nan)
    scored = DrawnPairs(place / 400, shown, one, 80, stratum=place % 4)
    top, other = place % 2 == 0, place % 5 < 3
    deep = TwoPhase(known[:, None] * 0.5, (known + label)[: n_drawn // 2, None] * 0.5,
                                place[: n_drawn // 2])  # fmt: skip
    n_deep = n_drawn // 2
    share = missing_share(np.ones(n_deep), 1 + label[:n_deep], n_queries=400)
    found = {
        "P": sampled_precision(sampled, top, k=20),
        "difference": sampled_precision(sampled, top, other, k=20),
        "micro R": micro_recall(sampled, top),
        "powered P": sampled_precision(scored, top, k=5),
        "powered P beyond": sampled_precision(scored, top, k=5, drawn=np.arange(scored.n_queries)),
        "never judged": undrawn_share(sampled),
        "never pooled": share,
        "two-phase": deep.of(0),
    }
    if label[:n_drawn].any():  # else 0 of 0
        found["powered micro R"] = micro_recall(scored, top)
    return {name: (each.estimate, each.low, each.high, each.refused) for name, each in found.items()}


@pytest.mark.parametrize("n_drawn", [60, 100, 390])
@given(label=answers())
def test_the_design_alone_decides_what_is_printed_and_each_interval_has_width(
    n_drawn: int, label: np.ndarray
) -> None:
    ones = cells_of(np.ones(400, dtype=bool), n_drawn)
    for name, (estimate, low, high, refused) in cells_of(label, n_drawn).items():
        assert (name, refused) == (name, ones[name][3])
        assert math.isnan(estimate) == bool(refused)
        if not refused:
            least = -1 if name == "difference" else 0
            assert least <= low <= estimate + 1e-9
            assert estimate - 1e-9 <= high <= 1 + 1e-9
            assert high - low > 1e-4


def test_what_the_design_refuses_says_what_it_needs() -> None:
    few = {name: row[3] for name, row in cells_of(np.ones(400, dtype=bool), 60).items()}
    assert f"on average, and an interval needs {LEAST_PAIRS}; draw more pairs" in few["P"]
    assert "30 queries were judged deep" in few["two-phase"]
    assert all(few.values())
    many = {name: row[3] for name, row in cells_of(np.zeros(400, dtype=bool), 390).items()}
    assert not any(many.values())


def test_pairs_that_both_runs_have_in_their_tops_say_nothing_of_a_difference() -> None:
    place, chance = np.arange(300), np.full(300, 0.5)
    in_a, in_b, one = place < 200, place >= 100, place // 3
    label = (place % 7 == 0).astype(float)
    shared = in_a & in_b
    found = [
        sampled_precision(
            DrawnPairs(np.zeros(300), np.where(shared, of_shared, label), one, 100, chance=chance),
            in_a, in_b, k=2,
        )
        for of_shared in (0.0, 1.0)
    ]  # fmt: skip
    assert found[0][:4] == found[1][:4]
    only = (label[in_a & ~in_b].sum() - label[in_b & ~in_a].sum()) / 0.5
    assert found[0].estimate == pytest.approx(only / 200)


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
    kinds = (clopper_pearson, 0.95, 0.965), (lambda k, n: wilson(k / n, n), 0.94, 0.96)
    for limits, low, high in kinds:
        covered = sum(weights[k] for k in likely if limits(int(k), n)[0] <= p <= limits(int(k), n)[1])
        assert low <= covered <= high, limits
