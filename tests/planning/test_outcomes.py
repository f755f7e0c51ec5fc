"""What designs cost and get wrong, beside enumeration and slow loops that share no code with the plan."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from planned import planned
from small_world import World, qrels_of, run_in_order

from examples import cases, seeds
from fire_toolkit.inference.distributions import noncentral_t_cdf, t_quantile
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import parse_measures
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.outcomes import (
    Outcome,
    cost_of,
    open_pairs,
    rate_covariance,
)
from fire_toolkit.planning.plan import mcnemar_least, paired_t_least
from fire_toolkit.planning.relevance import Truths
from fire_toolkit.tables import check_qrels

T, F = 0.8, 0.1
Outcomes = dict[tuple[str, str], Outcome]
RATES = np.array([T, F]).reshape(2, 1, 1)


def small(seed: int, *, n_queries: int = 30) -> Lists:
    world = World(seed, n_queries=n_queries, n_docs=25, depth=12)
    return lists_of(world.runs, world.original, depth=12, most_queries=1000, seed=0)


def outcomes(lists: Lists, design: Design, positive: np.ndarray, *names: str) -> Outcomes:
    """Return a design's outcomes where the truth is known, by measure and estimate."""
    return planned(lists, lists, design, Truths(positive[None], RATES), *names)[1]


def one_query() -> tuple[Lists, np.ndarray]:
    """Two runs rank three docs each, of which they share two; a and d are positives, d of q2 an original."""
    runs = [run_in_order(name, {"q1": docs, "q2": docs}) for name, docs in (("r1", "abc"), ("r2", "bda"))]
    originals = qrels_of({("q1", "z"): 1, ("q2", "d"): 1})
    lists = lists_of(runs, originals, depth=3, most_queries=9, seed=0).top(3)
    return lists, lists.is_original | lists.pairs["doc_id"].isin(list("ad")).to_numpy()


def labels_of(policy: str, votes: tuple[bool, bool, bool]) -> bool:
    first, second, third = votes
    if policy == "one":
        return first
    return first and (second or third) if policy == "verify" else (first if first == second else third)


@pytest.mark.parametrize("policy", ["one", "verify", "doubled"])
def test_bias_and_variances_are_those_of_all_votes_that_can_be_cast(policy: str) -> None:
    """Every combination of votes on four docs, with its chance: C@2, P@2 of both runs and both queries."""
    lists, positive = one_query()
    found = outcomes(lists, Design(2, policy, overlap=0.0), positive, "C@2", "P@2")
    patterns = list(itertools.product((True, False), repeat=3))

    def chance_of_label(rate: float) -> float:
        votes = np.array([each for each in patterns if labels_of(policy, each)])
        return float(np.where(votes, rate, 1 - rate).prod(axis=1).sum())

    chance_of = {rate: chance_of_label(rate) for rate in (T, F)}
    tops = {"r1": "ab", "r2": "bd"}
    right, mean, squares, cross = ({name: np.zeros((2, 2)) for name in ("C@2", "P@2")} for _ in range(4))
    for query, original in enumerate(("z", "d")):
        for labels in itertools.product((0, 1), repeat=4):
            labelled = dict(zip("abcd", labels, strict=True))
            chance = 1.0
            for doc, label in labelled.items():
                rate = chance_of[T if doc in "ad" else F]
                chance *= rate if label else 1 - rate
            labelled[original] = 1
            gains = [[labelled[doc] for doc in top] for top in tops.values()]
            values = {"C@2": list(map(max, gains)), "P@2": list(map(np.mean, gains))}
            for name, (one, two) in values.items():
                mean[name][query] += chance * np.array([one, two])
                squares[name][query] += chance * np.array([one, two]) ** 2
                cross[name][query] += chance * np.array([(one - two) ** 2, one != two])
        for name in right:
            true = [[doc in "ad" for doc in top] for top in tops.values()]
            right[name][query] = [(max if name == "C@2" else np.mean)(each) for each in true]
    for name in right:
        outcome = found[name, "labelled"]
        assert outcome.bias[0] == pytest.approx((mean[name] - right[name]).mean(axis=0))
        variance = (squares[name] - mean[name] ** 2).mean(axis=0) / 2
        assert outcome.noise[0] == pytest.approx(np.sqrt(variance))
        spread = cross[name][:, 0].mean() - (mean[name][:, 0] - mean[name][:, 1]).mean() ** 2
        assert outcome.spread[0] == pytest.approx(np.sqrt(spread))
        if name == "C@2":
            assert outcome.differing[0] == pytest.approx(cross[name][:, 1].mean())


def test_half_of_the_queries_add_the_error_of_a_sample() -> None:
    queries = [f"q{number:04}" for number in range(400)]
    run = rank_run(pd.DataFrame({"run_id": "r", "query_id": queries, "doc_id": "a", "score": 1.0}))
    originals = check_qrels(pd.DataFrame({"query_id": queries, "doc_id": "b", "relevance": 1}))
    lists = lists_of(run, originals, depth=1, most_queries=400, seed=0).top(1)
    positive = lists.query % 4 == 0
    found = outcomes(lists, Design(1, overlap=0.0, queries=0.5), positive, "C@1")["C@1", "labelled"]
    rng = np.random.default_rng(0)
    means = []
    for _ in range(4000):
        sample = rng.permutation(400)[:200]
        means.append((rng.random(200) < np.where(positive[sample], T, F)).mean())
    assert found.noise[0, 0] == pytest.approx(np.std(means), rel=0.05)
    assert found.bias[0, 0] == pytest.approx(np.mean(means) - 0.25, abs=0.003)


@pytest.mark.slow
def test_corrected_scores_have_no_bias_and_the_error_that_simulated_votes_have() -> None:
    """40,000 simulated sets of votes, corrected with the right rates and with rates that they tell."""
    lists = small(4, n_queries=60).top(5)
    rng = np.random.default_rng(2)
    positive = lists.is_original | (rng.random(len(lists.query)) < 0.2)
    found = outcomes(lists, Design(5, "doubled", overlap=1.0), positive, "C@5", "P@5")
    t, f = (rate**2 * (3 - 2 * rate) for rate in (T, F))
    relevance = (rng.random((4000, len(positive))) < np.where(positive, t, f)) * 1.0
    relevance = np.where(lists.is_original, 1.0, (relevance - f) / (t - f))
    truth = positive * 1.0
    for name in ("C@5", "P@5"):
        own = found[name, "corrected"]
        assert own.bias == pytest.approx(np.zeros((1, 3)), abs=1e-12)
        for run in range(3):
            values = [score(name, lists, each, run) for each in (*relevance, truth)]
            spread = np.std(np.array(values[:-1]) - values[-1])
            assert own.noise[0, run] >= 0.95 * spread  # the rates' own error comes on top
            assert np.mean(values[:-1]) == pytest.approx(values[-1], abs=4 * spread / 60)


def score(name: str, lists: Lists, relevance: np.ndarray, run: int) -> float:
    inside = lists.ranks[:, run] <= 5
    if name == "P@5":
        return float(relevance[inside].sum()) / 5 / lists.n_queries
    rest = np.ones(lists.n_queries)
    np.multiply.at(rest, lists.query[inside], 1 - relevance[inside])
    return float(1 - rest.mean())


@pytest.mark.parametrize("name", ["doubled", "verify"])
def test_rates_are_as_uncertain_as_simulated_votes_leave_them(name: str) -> None:
    n, share, t, f = 4000, 0.3, 0.85, 0.06
    rng = np.random.default_rng(1)
    found = []
    for _ in range(1500):
        votes = rng.random((3, n)) < np.where(np.arange(n) < share * n, t, f)
        first, second, third = votes
        if name == "doubled":
            one, split = (first.mean() + second.mean()) / 2, ((first != second) & third).mean() / 2
        else:
            one, split = first.mean(), (first & ~second & third).mean()
        both = (first & second).mean()
        total = (both - split - one * both) / (both - one**2)
        root = np.sqrt(total**2 - 4 * (total * one - both))
        found.append([(total + root) / 2, (total - root) / 2])
    expected = np.cov(np.array(found).T)
    covariance = rate_covariance(name, n, share, np.array([t]), np.array([f]))
    assert np.diag(covariance[0]) == pytest.approx(np.diag(expected), rel=0.2)
    assert covariance[0, 0, 1] == pytest.approx(expected[0, 1], rel=0.25)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("settles", [False, True])
def test_open_pairs_are_those_of_a_loop_over_pairs(settles: bool, seed: int) -> None:
    """Votes never err here, so that a positive is confirmed when it is asked."""
    lists = small(seed, n_queries=8)
    positive = lists.is_original | (np.random.default_rng(seed).random(len(lists.query)) < 0.3)
    truths = Truths(positive[None], np.array([1.0, 0.0]).reshape(2, 1, 1))
    found = open_pairs(lists, truths, 5, settles=settles, seed=0)[0]
    tops = [(run, k) for run in range(3) for k in ((5,) if settles else (1, 5, 10))]
    fused = [sum(1 / (60 + rank) for rank in ranks if rank <= lists.depth) for ranks in lists.ranks]
    for query in range(8):
        pairs = [int(pair) for pair in np.flatnonzero(lists.query == query)]
        confirmed = [pair for pair in pairs if lists.is_original[pair] and min(lists.ranks[pair]) <= 5]
        first = {pair: -sum(lists.ranks[pair] <= 5) if settles else min(lists.ranks[pair]) for pair in pairs}
        asked = [pair for pair in pairs if min(lists.ranks[pair]) <= 5]
        for pair in sorted(asked, key=lambda pair: (first[pair], -fused[pair], pair)):
            is_open = any(
                lists.ranks[pair][run] <= k and not any(lists.ranks[each][run] <= k for each in confirmed)
                for run, k in tops
            )
            assert found[pair] == is_open
            if is_open and positive[pair] and not lists.is_original[pair]:
                confirmed.append(pair)


def test_votes_a_design_takes_are_those_that_are_cast() -> None:
    lists = small(1).top(5)
    positive = lists.is_original | (np.random.default_rng(3).random(len(lists.query)) < 0.3)
    truths = Truths(positive[None], RATES)
    rng = np.random.default_rng(5)
    first, second = (rng.random((3000, len(positive))) < np.where(positive, T, F) for _ in range(2))
    cast = {
        "one": 1.0 * np.ones_like(first),
        "verify": 1 + (first * 1 + (first & ~second)) * ~lists.is_original,  # originals are taken as right
        "doubled": 2 + (first != second),
    }
    for policy, votes in cast.items():
        cost = cost_of(lists, lists, Design(5, policy, overlap=0.0), truths, seed=0)
        assert cost.n_pairs == len(positive)
        assert cost.n_judgments == pytest.approx(votes.sum(axis=1).mean(), rel=0.002)


def test_what_is_predicted_reads_no_more_than_is_judged() -> None:
    c_1, c_10, p_10, ap, rr = parse_measures(["C@1", "C@10", "P@10", "AP", "RR@10"])
    whole, settled = Design(10), Design(10, "verify", is_settled=True)
    assert [whole.predicts(each) for each in (c_1, c_10, p_10, ap, rr)] == [True, True, True, False, False]
    assert [settled.predicts(each) for each in (c_1, c_10, p_10)] == [False, True, False]
    assert not Design(5).predicts(c_10)
    assert Design(10, n_deep=40).serves(ap)


# n = [z√p_d + z√(p_d − Δ²)]² / Δ² at 80% power and 5% two-sided, worked out apart from this project.
@pytest.mark.parametrize(
    ("share", "queries"),
    [(0.1, [7847, 1960, 870, 312]), (0.2, [15696, 3923, 1742, 626]), (0.3, [23545, 5885, 2614, 940])],
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
