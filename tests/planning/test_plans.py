"""A plan from a pilot, from assumptions, and for a budget."""

import math

import numpy as np
import pandas as pd
import pytest
from planned import planned
from small_world import World

from fire_toolkit.errors import UsageError
from fire_toolkit.measures import parse_measures
from fire_toolkit.planning.designs import Design, designs_for, within_budget
from fire_toolkit.planning.lists import Lists, draw_pilot, lists_of
from fire_toolkit.planning.plan import plan_lists
from fire_toolkit.planning.relevance import Truths, assumed_parameters, draw_truths, fitted_parameters
from fire_toolkit.planning.words import Wish, plan_text
from fire_toolkit.tables.columns import pair_rows

T, F = 0.9, 0.05


@pytest.fixture(scope="module")
def lists() -> Lists:
    world = World(2, n_queries=300, n_docs=25, depth=12)
    return lists_of(world.runs, world.original, depth=12, most_queries=1000, seed=0)


def clustered(lists: Lists, rng: np.random.Generator) -> np.ndarray:
    """Return positives that gather in some queries and near the top; not by the model that plans fit."""
    of_query = rng.beta(0.5, 1.5, lists.n_queries)[lists.query]
    return lists.is_original | (rng.random(len(of_query)) < of_query / np.sqrt(lists.best_rank))


def votes_on(lists: Lists, positive: np.ndarray, pair: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    votes = rng.random((3, len(pair))) < np.where(positive[pair], T, F)
    differ = votes[0] != votes[1]
    return pd.DataFrame(
        {"pair": pair, "n_positive": votes[:2].sum(axis=0) + (differ & votes[2]), "n_votes": 2 + differ}
    )


def test_a_pilot_finds_how_many_positives_there_are_and_how_votes_err(lists: Lists) -> None:
    rng = np.random.default_rng(4)
    positive = clustered(lists, rng)
    votes = votes_on(lists, positive, rng.choice(len(positive), 3000, replace=False), rng)
    parameters = fitted_parameters(lists, votes, (0.85, 0.1), n_draws=60, rng=rng)
    found = draw_truths(lists, parameters, rng)
    assert found.positive.mean() == pytest.approx(positive.mean(), rel=0.08)
    assert np.median(found.rates[0]) == pytest.approx(T, abs=0.02)
    assert np.median(found.rates[1]) == pytest.approx(F, abs=0.02)


@pytest.mark.slow
def test_intervals_of_pilots_hold_what_the_right_positives_give(lists: Lists) -> None:
    """The interval is of the error that a world has whose positives the model did not draw."""
    designs = [Design(5, policy) for policy in ("one", "verify")]
    is_held = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        positive = clustered(lists, rng)
        pool = draw_pilot(lists, 300, depth=5, seed=seed)
        votes = votes_on(lists, positive, pair_rows(pool, lists.pairs), rng)
        table = plan_lists(lists, ["C@5", "P@5"], votes=votes, n_draws=40, seed=seed).designs
        table = table.set_index(["policy", "measure", "estimate"])
        read = lists.top(5)
        truths = Truths(positive[None, lists.best_rank <= 5], np.array([T, F]).reshape(2, 1, 1))
        for design in designs:
            for right in planned(read, lists, design, truths, "C@5", "P@5", seed=seed)[1].values():
                error = float(np.sqrt((right.bias**2 + right.noise**2).mean()))
                row = table.loc[design.policy, right.measure.name, right.estimate]
                is_held.append(row["error_low"] <= error <= row["error_high"])
                assert row["error_low"] < row["error"] < row["error_high"]
    assert len(is_held) == 128
    assert np.mean(is_held) >= 0.88


def test_an_assumption_holds_as_many_positives_as_it_says(lists: Lists) -> None:
    top = (lists.best_rank <= 10) & ~lists.is_original
    for missing in (0.6, 3.4):
        parameters = np.tile(assumed_parameters(lists, [missing], (T, F)), (40, 1))
        drawn = draw_truths(lists, parameters, np.random.default_rng(0)).positive
        assert drawn[:, top].sum(axis=1).mean() / 300 == pytest.approx(missing, rel=0.05)
    with pytest.raises(UsageError, match=r"40 missing positives a query assumed; the runs' top 10 hold"):
        assumed_parameters(lists, [40], (T, F))


def test_before_anybody_judged_there_are_ranges_that_say_they_are_assumed(lists: Lists) -> None:
    plan = plan_lists(lists, ["C@5", "AP"])
    known = plan.designs[plan.designs["measure"] == "C@5"]
    assert known["error"].isna().all()
    assert (known["error_low"] <= known["error_high"]).all()
    assert plan.said[0].startswith("If 0.6 to 3.4 positives a query are missing, as in other benchmarks")
    assert "AP is not known before pairs are judged; judge 40 queries deep to know it" in plan.said[2]
    assert plan.said[2].endswith("nothing was judged, so all of this rests on assumptions.")


@pytest.mark.parametrize("names", [["AP"], ["nDCG@5", "C@5", "R@5"]])
def test_what_hangs_on_deeper_positives_has_no_figure_anywhere(names: list[str], lists: Lists) -> None:
    rng = np.random.default_rng(0)
    votes = votes_on(lists, clustered(lists, rng), rng.choice(len(lists.query), 300, replace=False), rng)
    plan = plan_lists(lists, names, votes=votes)
    unknown = plan.designs[plan.designs["measure"] != "C@5"]
    assert (unknown["estimate"] == "not known").all()
    numbers = ["bias", "error", "error_low", "error_high", "chance_within", "least_difference"]
    assert unknown[numbers].isna().all(axis=None)
    shown = plan_text(plan.designs, "table")
    assert not any(f"{name} off by" in shown for name in ("AP", "nDCG@5", "R@5"))
    said = " ".join(plan.said)
    assert "not known from 300 pairs; judge 40 queries deep to know" in said
    assert len(plan.said) == 3
    chosen = plan.best if len(plan.best) else plan.designs.tail(1)
    assert set(chosen["design"]) == {f"depth {5 if 'C@5' in names else 10} + 40 deep"}


def test_queries_that_a_pilot_judged_deep_are_named(lists: Lists) -> None:
    rng = np.random.default_rng(0)
    pair = np.flatnonzero(lists.query < 40)
    plan = plan_lists(lists, ["AP"], votes=votes_on(lists, clustered(lists, rng), pair, rng))
    assert plan.said[2] == ("AP is not planned: 40 queries were judged deep, so `score` estimates it.")


def test_a_design_is_the_cheapest_that_does_what_is_asked(lists: Lists) -> None:
    rng = np.random.default_rng(0)
    votes = votes_on(lists, clustered(lists, rng), rng.choice(len(lists.query), 600, replace=False), rng)
    easy = plan_lists(lists, ["C@5"], votes=votes, wish=Wish(within=0.5))
    assert easy.best["n_judgments"].unique().tolist() == [easy.designs["n_judgments"].min()]
    shown = easy.designs.sort_values("n_judgments").groupby(["design", "policy"], sort=False).tail(1)
    wish = Wish(tell=float(shown["least_difference"].min()) + 1e-9)
    strict = plan_lists(lists, ["C@5"], votes=votes, wish=wish)
    chosen = strict.best.iloc[0]
    assert chosen["least_difference"] == pytest.approx(float(shown["least_difference"].min()))
    never = plan_lists(lists, ["C@5"], votes=votes, wish=Wish(within=1e-6))
    assert never.best.empty
    assert "No design here gets every run's C@5 right to 0.0001 points for sure (95%)" in never.said[0]


def test_a_budget_cuts_queries_and_what_costs_nothing_is_left_whole() -> None:
    designs = [Design(5), Design(10), Design(10, n_deep=40), Design(10, "verify", is_settled=True)]
    costs = [800.0, 2000.0, 3000.0, 0.0]
    found = within_budget(designs, costs, 1000.0, 200)
    assert {place: design.queries for place, design in found.items()} == {0: 1.0, 1: 0.5, 3: 1.0}
    assert [each.queries for each in within_budget(designs, costs, math.inf, 200).values()] == [1.0] * 4
    with pytest.raises(
        UsageError, match="a budget of 10 judgments is too small: 40 queries of the cheapest "
    ):
        within_budget(designs[:3], costs[:3], 10.0, 200)


def test_pools_are_as_deep_as_the_measures_read() -> None:
    def pools(*names: str) -> list[str]:
        known = parse_measures(names)
        found = designs_for(known, n_queries=1332, most=50)
        return list(dict.fromkeys(design.pool for design in found))

    assert pools("C@1", "C@10") == ["depth 10"]
    assert pools("C@5") == ["depth 5", "settle(C@5)"]
    assert pools("P@20", "nDCG@10") == ["depth 20", "depth 20 + 134 deep"]
