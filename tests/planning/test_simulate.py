"""What designs get wrong, beside arithmetic and slow loops that share no code with the simulation."""

import numpy as np
import pandas as pd
import pytest
from small_world import World

from examples import seeds
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import parse_measures
from fire_toolkit.planning.answers import Votes, answer, draw_votes
from fire_toolkit.planning.designs import POLICIES, Design, within_budget
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.plan import plan_worlds
from fire_toolkit.planning.relevance import RelevanceModel, assumed_model, fit_model
from fire_toolkit.planning.simulate import simulate
from fire_toolkit.tables import check_qrels


def small(seed: int, *, n_queries: int = 30) -> Lists:
    world = World(seed, n_queries=n_queries, n_docs=25, depth=12)
    return lists_of(world.runs, world.original, depth=12, most_queries=1000, seed=0)


def one_doc_a_query(n_queries: int) -> Lists:
    """Each query's only ranked doc is at rank 1 of one run, and its original is nowhere."""
    queries = [f"q{number:04}" for number in range(n_queries)]
    run = rank_run(pd.DataFrame({"run_id": "r", "query_id": queries, "doc_id": "a", "score": 1.0}))
    original = check_qrels(pd.DataFrame({"query_id": queries, "doc_id": "b", "relevance": 1}))
    return lists_of(run, original, depth=1, most_queries=n_queries, seed=0)


def test_bias_and_error_of_one_vote_are_those_of_arithmetic() -> None:
    lists = one_doc_a_query(400)
    positive = lists.is_original | (lists.query % 4 == 0)  # a quarter of the ranked docs
    model = RelevanceModel(0.0, np.zeros(1), true_positive_rate=0.8, false_positive_rate=0.1)
    design = Design(depth=1, overlap=0.0)
    measures = parse_measures(["C@1"])
    (found,) = simulate(lists, [design], measures, model, n_repeats=400, seed=1, truth=positive)
    bias = 0.75 * 0.1 - 0.25 * 0.2  # false positives of the others, positives missed
    noise = np.sqrt((0.75 * 0.1 * 0.9 + 0.25 * 0.2 * 0.8) / 400)
    assert found.bias[0, 0] == pytest.approx(bias, abs=4 * noise / 20)
    assert found.noise[0, 0] == pytest.approx(noise, rel=0.02)
    assert (found.n_asked, found.n_votes) == (400, 400)


def test_half_of_the_queries_add_the_error_of_a_sample() -> None:
    lists = one_doc_a_query(400)
    positive = lists.is_original | (lists.query % 4 == 0)
    model = RelevanceModel(0.0, np.zeros(1), true_positive_rate=1.0, false_positive_rate=0.0)
    design = Design(depth=1, overlap=0.0, queries=0.5)
    (found,) = simulate(lists, [design], parse_measures(["C@1"]), model, n_repeats=2, seed=1, truth=positive)
    drawn = [np.random.default_rng(s).permutation(lists.n_queries)[:200] % 4 == 0 for s in range(4000)]
    assert found.noise[0, 0] == pytest.approx(np.std([one.mean() for one in drawn]), rel=0.05)
    assert (found.n_queries, found.n_asked) == (200, 200)


def test_settling_gives_every_run_the_score_of_the_whole_pool() -> None:
    lists = small(3)
    measures = parse_measures(["C@1", "C@5"])
    positive = np.random.default_rng(5).random(len(lists.query)) < 0.15
    votes = draw_votes(positive, (1.0, 0.0), np.random.default_rng(0))
    for place, k in enumerate((1, 5)):
        pools = [Design("depth", k, "verify", 0.0), Design(f"settle(C@{k})", policy="verify", overlap=0.0)]
        whole, settled = (answer(lists, pool, votes) for pool in pools)
        scores = [lists.score(each.is_asked, each.is_positive, measures)[place] for each in (whole, settled)]
        np.testing.assert_array_equal(*scores)
        assert settled.is_asked.sum() < whole.is_asked.sum()


@pytest.mark.parametrize("seed", seeds(6))
def test_until_confirmed_asks_as_a_loop_over_pairs_does(seed: int) -> None:
    lists = small(seed, n_queries=8)
    rng = np.random.default_rng(seed)
    votes = draw_votes(rng.random(len(lists.query)) < 0.3, (0.8, 0.2), rng)
    found = answer(lists, Design("depth", 10, "until-confirmed", 0.0), votes)
    tops = [(run, k) for run in range(3) for k in (1, 5, 10)]
    for query in range(8):
        pairs = [int(p) for p in np.flatnonzero(lists.query == query)]
        confirmed = [p for p in pairs if lists.is_original[p]]
        asked = [p for p in pairs if min(lists.ranks[p]) <= 10]
        for p in sorted(asked, key=lambda p: (min(lists.ranks[p]), -lists.rrf[p], p)):
            is_open = any(
                lists.ranks[p][run] <= k and not any(lists.ranks[c][run] <= k for c in confirmed)
                for run, k in tops
            )
            said = [bool(v[p]) for v in (votes.first, votes.second, votes.third)]
            n_votes = 1 if not (is_open and said[0]) else 2 if said[1] else 3
            label = said[0] if not is_open else sum(said[:n_votes]) >= 2
            assert (found.n_votes[p], found.is_positive[p]) == (n_votes, label or lists.is_original[p])
            if is_open and label and not lists.is_original[p]:
                confirmed.append(p)


def test_each_policy_asks_as_many_votes_as_it_says() -> None:
    lists = one_doc_a_query(8)
    ranked = ~lists.is_original
    said = {name: np.zeros(len(ranked), dtype=bool) for name in ("first", "second", "third")}
    for place, answers in enumerate(("111", "110", "101", "100", "011", "010", "001", "000")):
        for name, vote in zip(said, answers, strict=True):
            said[name][np.flatnonzero(ranked)[place]] = vote == "1"
    votes = Votes(**said, draw=np.ones(len(ranked)))
    labels = {"one": "11110000", "verify": "11100000", "until-confirmed": "11100000", "doubled": "11101000"}
    cost = {"one": "11111111", "verify": "22331111", "until-confirmed": "22331111", "doubled": "22333322"}
    for policy in POLICIES:
        found = answer(lists, Design("depth", 1, policy, 0.0), votes)
        assert "".join(map(str, found.is_positive[ranked].astype(int))) == labels[policy]
        assert "".join(map(str, found.n_votes[ranked])) == cost[policy]


def test_an_assumption_holds_in_the_pool_of_depth_10() -> None:
    lists = small(1, n_queries=300)
    model = assumed_model(lists, 2.0, rates=(0.9, 0.05))
    in_pool = (lists.best_rank <= 10) & ~lists.is_original
    drawn = [model.draw(lists, np.random.default_rng(seed))[in_pool].sum() / 300 for seed in range(10)]
    assert np.mean(drawn) == pytest.approx(2.0, rel=0.05)
    with pytest.raises(UsageError, match="40 missing positives a query assumed; the runs' top 10 hold"):
        assumed_model(lists, 40, rates=(0.9, 0.05))


def test_a_pilot_finds_the_level_that_its_votes_were_drawn_with() -> None:
    lists = small(2, n_queries=400)
    right = RelevanceModel(-2.0, np.array([0.5, 0.3, 0.2]), 0.3, 1.0, 0.9, 0.05)
    rng = np.random.default_rng(4)
    positive = right.draw(lists, rng)
    pair = rng.choice(np.flatnonzero(~lists.is_original), 3000, replace=False)
    votes = np.where(positive, *right.rates) > rng.random((3, len(positive)))
    found = fit_model(lists, pair, votes.sum(axis=0)[pair], np.full(len(pair), 3), rates=(0.85, 0.1))
    drawn, expected = (np.mean([m.draw(lists, rng).mean() for _ in range(20)]) for m in (found, right))
    assert drawn == pytest.approx(expected, rel=0.08)
    assert found.rates == pytest.approx(right.rates, abs=0.02)


def test_the_interval_of_a_pilot_holds_the_error_that_the_right_model_expects() -> None:
    lists = small(2, n_queries=300)
    right = RelevanceModel(-2.0, np.array([0.4, 0.3, 0.2]), 0.3, 0.8, 0.9, 0.05)
    designs, measures = [Design(depth=5, policy="verify", overlap=0.0)], parse_measures(["P@5", "AP"])
    (expected,) = simulate(lists, designs, measures, right, n_repeats=20, seed=1)
    is_held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        positive = right.draw(lists, rng)
        pair = rng.choice(np.flatnonzero(~lists.is_original), 200, replace=False)
        votes = (np.where(positive, *right.rates) > rng.random((3, len(positive)))).sum(axis=0)[pair]
        model = fit_model(lists, pair, votes, np.full(len(pair), 3), rates=(0.9, 0.05))
        rows = plan_worlds(lists, {"pilot": model}, measures, designs=designs, n_repeats=4).designs
        rows = rows[rows["estimate"] == "as labelled"]
        assert (rows["error_low"] * rows["error_high"]).tolist() == pytest.approx(
            (rows["error"] ** 2).tolist()
        )
        low, high = rows["error_low"].to_numpy(), rows["error_high"].to_numpy()
        right_error = expected.root_mean_square[: len(rows)]
        is_held.append((low <= right_error) & (right_error <= high))
    shares = np.mean(is_held, axis=0)
    assert (shares >= 0.8).all()  # 95% expected; 20 pilots
    assert rows["error_high"].iloc[0] < 5 * rows["error"].iloc[0]


def test_an_assumption_leaves_no_interval() -> None:
    lists = small(3)
    model = assumed_model(lists, 1.0, rates=(0.9, 0.05))
    table = plan_worlds(lists, {"mine": model}, ["C@1"], designs=[Design(depth=5)], n_repeats=2).designs
    assert table[["error_low", "error_high"]].isna().all(axis=None)


def test_a_budget_cuts_queries_and_an_impossible_one_is_refused() -> None:
    designs = [Design(depth=5), Design(depth=10), Design(deep_share=0.1)]
    kept = within_budget(designs, [800.0, 2000.0, 3000.0], 1000.0, 200)
    assert [(design.depth, design.queries) for design in kept] == [(5, 1.0), (10, 0.5)]
    with pytest.raises(
        UsageError, match="a budget of 10 is too small: 40 queries of the cheapest design take 160"
    ):
        within_budget(designs, [800.0, 2000.0, 3000.0], 10.0, 200)


def test_strategies_that_need_answers_or_a_number_of_pairs_are_refused() -> None:
    with pytest.raises(UsageError, match="strategy move-to-front waits for answers, and plan has none"):
        Design("move-to-front", per_query=10)
    with pytest.raises(UsageError, match="strategy rrf: how many pairs of a query"):
        Design("rrf")
    with pytest.raises(UsageError, match="pooling strategy 'deepest' is unknown"):
        Design("deepest", per_query=3)
