"""Estimates by a judge's scores and a few labels: by enumeration, by hand, and as ppi_py has them."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from examples import cases
from fire_toolkit.inference.drawn_pairs import KNOWN, DrawnPairs, micro_recall, sampled_precision

TRUTH = np.array([0, 0, 1, 0, 1, 1, 0, 1, 1.0])
SCORE = np.array([0.1, 0.2, 0.2, 0.1, 0.9, 0.6, 0.7, 0.8, 0.9])
STRATUM = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
QUERY = np.array([0, 0, 1, 1, 0, 0, 1, 1, 2])
WEIGHT = np.array([1, 0, 1, 1, 1, 1, 0, 1, 1.0])


def labelled(drawn: list[int], trust: float | None = None) -> DrawnPairs:
    label = np.full(len(TRUTH), np.nan)
    label[drawn] = TRUTH[drawn]
    return DrawnPairs(SCORE, label, QUERY, 3, stratum=STRATUM, trust=trust)


def test_over_all_samples_the_mean_is_the_truth_and_the_variance_that_of_the_estimates() -> None:
    draws = list(product(combinations(range(4), 2), combinations(range(4, 9), 3)))
    found = [labelled([*low, *high], trust=0.7).total(WEIGHT > 0) for low, high in draws]
    totals = np.array([each.value for each in found])
    assert totals.mean() == pytest.approx((WEIGHT * TRUTH).sum())
    assert np.mean([each.estimate.se**2 for each in found]) == pytest.approx(totals.var())


def test_the_best_trust_is_the_one_of_least_variance() -> None:
    score = np.array([0, 0.9, 1, 0.2, 0.9, 0.1, 0.2, 0.4, 0.9])
    pairs = DrawnPairs(score, labelled([0, 1, 2, 4, 5, 6]).label, QUERY, 3, stratum=STRATUM)
    others = [replace(pairs, trust=trust).total(WEIGHT > 0).estimate.se for trust in np.linspace(0, 1, 101)]
    best, without = pairs.best_trust(WEIGHT)
    assert best == pytest.approx(np.argmin(others) / 100, abs=0.005)
    # each pair's residual is by the λ and the mean of the others; 3 of 4 and 3 of 5 were drawn
    parts = (WEIGHT * np.stack([TRUTH, score]))[:, [0, 1, 2, 4, 5, 6]].reshape(2, 2, 3)
    y, x = (parts - parts.mean(axis=2, keepdims=True)).reshape(2, 6)
    factor = np.repeat([4 * 1 / 6, 5 * 2 / 6], 3)
    sums = [(factor * x * each).sum() - factor * x * each for each in (y, x)]
    assert without == pytest.approx(np.clip(sums[0] / sums[1], 0, 1))
    squared = (factor * (y - without * x) ** 2 * 3 / 2).sum()
    assert pairs.total(WEIGHT > 0).estimate.se ** 2 == pytest.approx(squared)
    upside_down = replace(pairs, guess=1 - TRUTH * 0.9)
    assert upside_down.best_trust(np.ones(9))[0] == 0


def ppi_world() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    score = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.15] * 25)
    number = np.arange(300)
    return score, ((number * 7) % 13 / 13 < score).astype(float), number % 3 == 0


@cases("trust", "estimate", "low", "high")
def test_one_stratum_is_ppi(trust: float, estimate: float, low: float, high: float) -> None:
    score, truth, is_drawn = ppi_world()
    label = np.where(is_drawn, truth, np.nan)
    pairs = DrawnPairs(score, label, np.arange(300), 300, stratum=np.zeros(300, dtype=np.int64), trust=trust)
    everywhere = np.ones(300, dtype=bool)
    found = sampled_precision(pairs, everywhere, k=1)
    assert found.estimate == pytest.approx(estimate, abs=1e-8)
    # theirs has no finite population, divides by n, and adds the spread of the scores of all
    variance = found.se**2 / (1 - 100 / 300) * 99 / 100 + (trust * score).var() / 300
    assert 1.9599640 * variance**0.5 == pytest.approx((high - low) / 2, abs=1e-7)
    beyond = sampled_precision(pairs, everywhere, k=1, drawn=np.arange(pairs.n_queries))
    assert (beyond.low, beyond.high) == pytest.approx((low, high), abs=0.012)


def test_what_is_known_counts_without_a_draw_and_a_whole_census_is_exact() -> None:
    stratum = np.where(np.arange(9) == 4, KNOWN, STRATUM)
    pairs = DrawnPairs(SCORE, TRUTH, QUERY, 3, stratum=stratum)
    found = sampled_precision(pairs, WEIGHT > 0, k=3)
    assert found[:4] == pytest.approx((5 / 9, 5 / 9, 5 / 9, 0))
    recall = micro_recall(pairs, np.arange(9) < 6)
    assert recall[:4] == pytest.approx((3 / 5, 3 / 5, 3 / 5, 0))
    some = labelled([0, 1, 5, 6, 4]).label
    half = DrawnPairs(SCORE, some, QUERY, 3, stratum=stratum, trust=0).total(WEIGHT > 0)
    assert half.value == pytest.approx(1 + 4 * (0 + 0) / 2 + 4 * (1 + 0) / 2)


def test_a_ratio_of_totals_by_hand() -> None:
    score, truth, is_drawn = ppi_world()
    label = np.where(is_drawn, truth, np.nan)
    stratum = np.arange(300) % 2
    pairs = DrawnPairs(score, label, np.arange(300), 300, stratum=stratum, trust=1)
    top = np.arange(300) < 200
    found = micro_recall(pairs, top)
    totals = np.zeros(2)
    linear = 0.0
    for code in (0, 1):
        own, drawn = stratum == code, (stratum == code) & is_drawn
        totals += [
            (score * own * each).sum() + own.sum() * ((truth - score) * each)[drawn].mean()
            for each in (top, 1)
        ]
    ratio, both = totals[0] / totals[1], 0.0
    for code in (0, 1):
        own, drawn = stratum == code, (stratum == code) & is_drawn
        rest = (truth - score)[drawn]
        (of_linear, covariance), _ = np.cov(rest * (top - ratio)[drawn], rest)
        factor = own.sum() ** 2 * (1 - drawn.sum() / own.sum()) / drawn.sum()
        linear, both = linear + factor * of_linear, both + factor * covariance
    expected = ratio + both / totals[1] ** 2  # less the bias of a ratio
    assert (found.estimate, found.se) == pytest.approx((expected, linear**0.5 / totals[1]))


def test_what_is_refused() -> None:
    score, truth, is_drawn = ppi_world()
    label = np.where(is_drawn, truth, np.nan)
    one = np.zeros(300, dtype=np.int64)
    thin = DrawnPairs(score, label, one, 1, stratum=(np.arange(300) % 3 == 1).astype(np.int64))
    assert micro_recall(thin, np.ones(300, dtype=bool)).refused.startswith("1 strata have fewer than 2")


@pytest.mark.slow
def test_an_interval_covers_where_a_few_labels_show_no_miss() -> None:
    rng = np.random.default_rng(47)
    stratum = np.repeat([0, 1], [2000, 200])
    truth = np.concatenate([np.arange(2000) < 12, rng.random(200) < 0.5]).astype(float)
    score = np.where(stratum == 0, 0.001, 0.5)
    hits = {"plain": 0, "interval": 0, "beyond": 0}
    for _ in range(400):
        drawn = [*rng.choice(2000, 60, replace=False), *(2000 + rng.choice(200, 60, replace=False))]
        label = np.full(2200, np.nan)
        label[drawn] = truth[drawn]
        pairs = DrawnPairs(score, label, np.arange(2200) // 10, 220, stratum=stratum)
        everywhere = np.ones(2200, dtype=bool)
        found = sampled_precision(pairs, everywhere, k=10)
        beyond = sampled_precision(pairs, everywhere, k=10, drawn=np.arange(pairs.n_queries))
        limits = {"interval": found[1:3], "beyond": beyond[1:3]}
        limits["plain"] = (found.estimate - 1.96 * found.se, found.estimate + 1.96 * found.se)
        for name, (low, high) in limits.items():
            hits[name] += low <= truth.mean() <= high
        assert 0 < found.low < found.estimate < found.high < 1
    assert hits["plain"] < 0.9 * 400
    assert hits["interval"] >= 0.92 * 400
    assert hits["beyond"] >= 0.92 * 400


def test_an_interval_beyond_these_queries_holds_what_they_and_clusters_differ_by() -> None:
    """Every label known, so that only the draw of queries or clusters is left: s² of their totals over n."""
    rng = np.random.default_rng(3)
    truth = (rng.random(1200) < np.repeat(rng.random(60), 20)).astype(float)
    stratum = np.where(np.arange(1200) < 1200, 0, KNOWN)
    query, clusters = np.arange(1200) // 10, np.arange(120) // 2
    pairs = DrawnPairs(np.zeros(1200), truth, query, 120, stratum=stratum)
    everywhere = np.ones(1200, dtype=bool)
    for codes, n in ((None, 120), (clusters, 60)):
        parts = truth.reshape(n, -1).mean(axis=1)
        variance = parts.var(ddof=1) / n
        spread = 1.959964**2 * variance / (truth.mean() * (1 - truth.mean()))
        expected = np.roots([1 + spread, -(2 * truth.mean() + spread), truth.mean() ** 2])
        drawn = np.arange(pairs.n_queries) if codes is None else codes
        found = sampled_precision(pairs, everywhere, k=10, drawn=drawn)
        assert sorted(expected) == pytest.approx([found.low, found.high])
