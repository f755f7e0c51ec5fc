"""Orders of runs and differences of their scores, and how sure each is."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from small_world import World

from examples import some
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.differences import changes_of_scores, holm, score_differences
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.orders import compare_orders, kendall_p, kendall_tau, tau_ap
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import check_qrels, check_run


def orders(world: Any, measures: tuple[str, ...] = ("C@3", "AP@3", "MnR"), **options: Any) -> Any:
    labellings = {"original": world.original, "augmented": world.augmented}
    return compare_orders(world.runs, labellings, measures, **options)


def test_tau_counts_pairs() -> None:
    # One of six pairs reversed: (5 − 1) / 6.
    assert kendall_tau([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(4 / 6)
    # A tie in one list: 5 concordant pairs of sqrt(6 · 5).
    assert kendall_tau([4, 3, 2, 1], [4, 3, 1, 1]) == pytest.approx(5 / np.sqrt(30))
    assert np.isnan(kendall_tau([1, 1], [1, 2]))


def test_the_p_of_tau_is_counted_over_all_orders() -> None:
    base = [1, 2, 3, 4, 5, 6]
    taus = np.array([kendall_tau(base, list(order)) for order in permutations(base)])
    for order in ([1, 2, 3, 4, 6, 5], [2, 1, 4, 3, 6, 5], [6, 5, 4, 3, 1, 2]):
        expected = np.mean(np.abs(taus) >= abs(kendall_tau(base, order)) - 1e-12)
        assert expected == pytest.approx(kendall_p(base, order))


def test_the_p_of_tau_is_refused_below_five_runs_and_with_ties() -> None:
    assert np.isnan(kendall_p([1, 2, 3, 4], [1, 2, 3, 4]))
    assert np.isnan(kendall_p([1, 2, 3, 4, 4], [1, 2, 3, 4, 5]))
    assert kendall_p([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]) == pytest.approx(2 / 120)


def test_tau_ap_weighs_the_top() -> None:
    # Yilmaz et al. 2008: 2/(N−1) Σ C(i)/(i−1) − 1.
    assert tau_ap([4, 3, 2, 1], [4, 3, 2, 1]) == 1.0
    assert tau_ap([4, 3, 2, 1], [1, 2, 3, 4]) == -1.0
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)


def test_places_and_differences_are_those_of_the_scores() -> None:
    world = World(1)
    found = orders(world)
    scores = score_runs(world.runs, world.original, ["C@3", "AP@3", "MnR"], augmented=world.augmented).scores
    known = {(s.qrels, s.measure, s.run_id): s.value for s in scores.itertuples()}
    for row in found.scores.itertuples():
        assert known[row.labelling, row.measure, row.run_id] == pytest.approx(row.value)
    for (_, measure), part in found.scores.groupby(["labelling", "measure"]):
        best = part["value"].min() if measure == "MnR" else part["value"].max()
        assert (part.loc[part["place"] == 1, "value"] == best).all()
    for row in found.swaps.itertuples():
        sign = -1 if row.measure == "MnR" else 1
        difference = known["original", row.measure, row.run_a] - known["original", row.measure, row.run_b]
        assert row.difference_a == pytest.approx(sign * difference)
        assert row.swapped == (row.difference_a * row.difference_b < 0)


def test_a_labelling_against_itself_never_swaps() -> None:
    world = World(2, n_queries=40)
    found = compare_orders(world.runs, {"a": world.original, "b": world.original}, ["AP@8"])
    assert found.agreement["tau"].tolist() == [1.0]
    assert found.agreement["n_swaps"].tolist() == [0]
    assert found.swaps["p_swap"].tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    assert found.swaps["p_reversed_a"].tolist() == found.swaps["p_reversed_b"].tolist()


def test_a_wide_difference_is_never_reversed_and_none_is_a_coin() -> None:
    queries = [f"q{number:03}" for number in range(200)]
    qrels = check_qrels(pd.DataFrame({"query_id": queries, "doc_id": "a", "relevance": 1}))
    rows = []
    for number, query in enumerate(queries):
        for run_id, is_right in (("good", number % 10 > 0), ("even", number % 2 == 0), ("odd", number % 2)):
            rows += [(run_id, query, "a", 1.0 if is_right else 0.0), (run_id, query, "b", 0.5)]
    runs = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    found = compare_orders(runs, {"x": qrels, "y": qrels}, ["C@1"]).swaps
    reversed_ = {(row.run_a, row.run_b): row.p_reversed_a for row in found.itertuples()}
    assert reversed_["even", "good"] < 1e-9
    assert reversed_["even", "odd"] == 0.5


@pytest.mark.parametrize("is_clustered", some([True, False], 1))
def test_chances_are_those_of_a_bootstrap(is_clustered: bool) -> None:
    """Of 20,000 resamples of 240 queries, or of 60 clusters of four, written out."""
    world, rng, n = World(6, n_queries=240), np.random.default_rng(1), 240
    queries = sorted(world.original["query_id"].unique())
    of = np.arange(n) // 4 if is_clustered else np.arange(n)
    clusters = pd.Series(of, index=queries) if is_clustered else None
    scores = score_runs(
        world.runs, world.original, ["C@3", "AP@3"], augmented=world.augmented, per_query=True
    ).scores
    own, columns = scores[scores["query_id"] != "all"], ["qrels", "measure", "run_id"]
    table = own.pivot_table(index="query_id", columns=columns, values="value")
    drawn = rng.multinomial(of.max() + 1, np.full(of.max() + 1, 1 / (of.max() + 1)), size=20_000)
    means = pd.DataFrame(drawn[:, of] @ table.to_numpy() / n, columns=table.columns)
    for row in orders(world, ("C@3", "AP@3"), clusters=clusters).swaps.itertuples():
        a, b = (
            np.sign((means[name, row.measure, row.run_a] - means[name, row.measure, row.run_b]).round(12))
            for name in ("original", "augmented")
        )
        assert row.p_swap == pytest.approx(((1 - a * b) / 2).mean(), abs=0.02)
        for side, known, found in (
            (a, row.difference_a, row.p_reversed_a),
            (b, row.difference_b, row.p_reversed_b),
        ):
            assert found == pytest.approx(((1 - side * np.sign(known)) / 2).mean(), abs=0.02)


def test_runs_are_ordered_by_medians_too() -> None:
    world = World(4)
    found = orders(world, ("MedR",))
    scores = score_runs(world.runs, world.original, ["MedR"]).scores
    original = found.scores["labelling"] == "original"
    assert found.scores.loc[original, "value"].tolist() == scores["value"].tolist()
    assert found.swaps[["p_swap", "p_reversed_a", "p_reversed_b"]].isna().all(axis=None)


MEASURES = ["C@1", "AP@3", "MedR"]


def differences(world: Any, measures: list[str] = MEASURES, **options: Any) -> pd.DataFrame:
    options = {"augmented": world.augmented} | options
    return score_differences(world.runs, world.original, measures, **options).table


def test_rows_stand_by_qrels_measure_and_pair() -> None:
    table = differences(World(1))
    found = table[["qrels", "measure", "run_a", "run_b"]].to_numpy().tolist()
    pairs = [("r1", "r2"), ("r1", "r3"), ("r2", "r3")]
    assert found == [
        [name, measure, *pair]
        for name, measure, pair in product(("original", "augmented", "delta"), MEASURES, pairs)
    ]


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # Holm 1979: sorted .01 .02 .03 .04 times 4 3 2 1 gives .04 .06 .06 .06.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    corrected = holm([0.02, np.nan, 0.03])
    assert np.isnan(corrected[1])
    assert corrected[[0, 2]].tolist() == [0.04, 0.04]


def test_families_are_corrected_together() -> None:
    world = World(2)
    small = differences(world, ["C@1", "C@3"])
    part = small[(small["qrels"] == "original") & (small["measure"] == "C@1")]
    assert holm(part["p"].to_numpy()).tolist() == part["p_holm"].tolist()


def test_a_median_has_an_interval_but_no_test() -> None:
    table = differences(World(4, n_queries=30))
    median = table[table["measure"] == "MedR"]
    assert median[["p", "p_holm", "effect"]].isna().all(axis=None)
    assert (median["low"] <= median["difference"]).all()
    assert (median["difference"] <= median["high"]).all()
    assert (median["low"] < median["high"]).any()


def test_changes_from_one_labelling_to_another_have_the_interval_of_the_queries_own_changes() -> None:
    world, names = World(3, n_queries=200), ["C@1", "R@3"]
    qrels = world.original, world.augmented
    joined = join_runs(world.runs, *qrels)
    found = changes_of_scores(joined, *qrels, names, run_ids=["r2"])
    scores = score_runs(world.runs, world.original, names, augmented=world.augmented, per_query=True).scores
    own = scores[(scores["run_id"] == "r2") & (scores["query_id"] != "all")]
    values = own.pivot_table(index="query_id", columns=["qrels", "measure"], values="value")
    change = values["augmented"] - values["original"]
    assert found["change"].tolist() == pytest.approx(change.mean().tolist())
    half = 1.97196 * change["R@3"].std() / np.sqrt(200)  # t(.975, 199) in any table
    centre = change["R@3"].mean()
    assert found.loc[1, ["low", "high"]].tolist() == pytest.approx([centre - half, centre + half], abs=1e-6)
    nobody = changes_of_scores(joined, *qrels, names, run_ids=[])
    assert (list(nobody.columns), len(nobody)) == (list(found.columns), 0)


def test_less_is_better_for_ranks() -> None:
    table = differences(World(4), ["MnR", "RR"])
    ranks = table[(table["measure"] == "MnR") & (table["qrels"] == "augmented")].reset_index()
    inverse = table[(table["measure"] == "RR") & (table["qrels"] == "augmented")].reset_index()
    for name in ("n_better", "superiority"):
        assert ranks[name].tolist() == inverse[name].tolist()


def test_pooled_and_fresh_runs_are_marked() -> None:
    world = World(6)
    sources = world.sources[world.sources["run_id"] != "r3"]
    found = score_differences(world.runs, world.original, ["C@1"], sources=sources)
    expected = [["yes", "yes"], ["yes", "no"], ["yes", "no"]]
    assert found.table[["pooled_a", "pooled_b"]].to_numpy().tolist() == expected
    assert sum("fed the pool" in note for note in found.notes) == 2
    assert found.notes[0].startswith("r1 fed the pool and r3 did not")


def test_one_alone_is_refused() -> None:
    world, said = World(5), "found 1 {}; expected two or more"
    one = check_run(world.runs[world.runs["run_id"] == "r1"])
    refused(said.format("run"), score_differences, one, world.original, ["C@1"], by=UsageError)
    for runs, qrels, what in ((world.runs, ["a"], "labelling"), (one, ["a", "b"], "run")):
        labellings = dict.fromkeys(qrels, world.original)
        refused(said.format(what), compare_orders, runs, labellings, ["C@1"], by=UsageError)
