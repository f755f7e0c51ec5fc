from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from small_world import World, made, qrels_of, run_in_order

from examples import seeds, some
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.differences import score_differences
from fire_toolkit.inference.honest import scores_with_uncertainty
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.orders import compare_orders
from fire_toolkit.reporting.paper import by_length
from fire_toolkit.tables import check_labels, check_qrels, check_queries

MEASURES = ["C@1", "C@3", "R@3", "AP@3", "nDCG@3", "MnR", "bpref", "Judged@3"]


def honest(world: Any, measures: list[str] = MEASURES, **options: Any) -> pd.DataFrame:
    options = {"sources": world.sources} | options
    return scores_with_uncertainty(world.runs, world.original, world.labels, measures, **options).scores


@pytest.mark.parametrize("policy", some(["override", "union", "drop"], 1))
@pytest.mark.parametrize("seed", seeds(5))
def test_scores_are_those_of_score_runs_with_and_without_the_own_labels(seed: int, policy: str) -> None:
    """By brute force: drop the labels of pairs that only this run pooled, augment and score anew."""
    world = World(seed)
    table = honest(world, policies=[policy])
    names = [*MEASURES, *(f"{name}:condensed" for name in MEASURES)]
    expected = world.means_without(set(), names, policy)
    without = {run_id: world.means_without({run_id}, MEASURES, policy) for run_id in world.run_ids}
    for row in table.itertuples():
        assert expected[row.run_id, row.measure] == row.augmented
        assert expected[row.run_id, f"{row.measure}:condensed"] == row.condensed
        assert row.delta == row.augmented - row.original
        assert without[row.run_id][row.run_id, row.measure] == row.without_own
        assert row.own_change == row.without_own - row.augmented


def test_a_pooled_run_judged_to_its_depth_has_no_room_left() -> None:
    """But for what divides by the positives of the collection: such a score can only fall."""
    table = honest(World(1, pool_depth=3), ["C@3", "P@3", "R@3", "nDCG@3"])
    assert table["judged"].tolist() == [1.0] * 12
    is_settled = table["measure"].isin(["C@3", "P@3"])
    settled, others = table[is_settled], table[~is_settled]
    assert settled["lower"].tolist() == settled["augmented"].tolist() == settled["upper"].tolist()
    assert set(settled["bounds"]) == {"exact"}
    assert others["augmented"].tolist() == pytest.approx(others["upper"].tolist())
    gain = others[others["measure"] == "nDCG@3"]
    assert (gain["lower"] <= gain["augmented"]).all()
    assert (gain["lower"] < gain["augmented"]).any()
    assert others.loc[others["measure"] == "R@3", "bounds"].str.startswith("no lower bound; ").all()


def test_originals_are_counted_beside_each_score() -> None:
    original = qrels_of(dict.fromkeys(zip("1234", "abcd", strict=True), 1))
    rows = [("1", "a", "l", 1), ("2", "b", "l", 0), ("2", "x", "l", 1)]
    labels = made(check_labels, "query_id doc_id label relevance", *rows)
    run = run_in_order("m", {"1": "a", "2": "x", "3": "c"})
    known = Background(disputes=pd.DataFrame({"query_id": ["3", "3"], "doc_id": ["c", "x"]}))
    row = scores_with_uncertainty(run, original, labels, ["C@1"], known).scores.iloc[0]
    counted = ("confirmed", "rejected", "disputed", "never_judged", "new")
    assert [row[name] for name in counted] == [1, 1, 1, 1, 1]
    assert row["n_queries"] == 4
    assert (row["original"], row["augmented"], row["pooled"]) == (0.5, 0.75, "")
    assert np.isnan(row["without_own"])


def test_a_run_that_fed_no_pool_is_marked() -> None:
    world = World(4)
    sources = world.sources[world.sources["run_id"] != "r3"].reset_index(drop=True)
    found = scores_with_uncertainty(world.runs, world.original, world.labels, ["C@3"], sources=sources)
    assert found.scores["pooled"].tolist() == ["yes", "yes", "no"]
    assert found.scores["own_change"].iloc[2] == 0
    assert any(note.startswith("r3: fed no pool") for note in found.notes)


def test_the_order_of_rows_and_the_inputs_stay() -> None:
    world = World(5)
    before = [table.copy() for table in (world.runs, world.original, world.labels, world.sources)]
    first = honest(world, ["C@1", "AP@3"])
    for table, copy in zip((world.runs, world.original, world.labels, world.sources), before, strict=True):
        pd.testing.assert_frame_equal(copy, table)
    world.labels = world.labels.sample(frac=1, random_state=1)
    world.sources = world.sources.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(first, honest(world, ["C@1", "AP@3"]))


def test_who_waits_is_told_what_is_being_worked_on() -> None:
    world, told = World(5), list[str]()
    tables = (world.runs, world.original, world.labels)
    found = scores_with_uncertainty(*tables, ["C@1", "AP"], tell=told.append)
    assert [words for words in told if words.startswith("bounds")] == [
        f"bounds of {name}: {run_id} ({place} of 6)"
        for place, (run_id, name) in enumerate(product(world.run_ids, ["C@1", "AP"]), 1)
    ]
    pd.testing.assert_frame_equal(found.scores, scores_with_uncertainty(*tables, ["C@1", "AP"]).scores)
    score_differences(world.runs, world.original, ["C@1"], tell=told.append)
    assert told[-1] == "original: 3 runs"
    qrels = {"a": world.original, "b": world.original}
    compare_orders(world.runs, qrels, ["C@1", "AP"], tell=told.append)
    assert told[-1] == "orders by AP (2 of 2)"


def test_bad_arguments_are_refused() -> None:
    world = World(8)
    refused("no policy given", honest, world, policies=[], by=UsageError)
    refused("policy 'both' is unknown", honest, world, policies=["both"], by=UsageError)
    with pytest.raises(JoinError, match=r"clusters: 5 of 6 queries have none \(q01, q02, q03\)"):
        honest(world, clusters=pd.Series({"q00": "v"}))
    some = pd.Series(["v", *[""] * 5], index=world.original["query_id"].unique())  # as files have it
    with pytest.raises(JoinError, match=r"clusters: 5 of 6 queries have none \(q01, q02, q03\)"):
        honest(world, clusters=some)
    with pytest.raises(UsageError, match=r"clusters: all queries are in one \('v'\)"):
        honest(world, clusters=pd.Series("v", index=world.original["query_id"]))


def test_runs_joined_once_give_what_runs_give() -> None:
    world = World(3)
    joined = join_runs(world.runs, world.original, world.labels, world.augmented)
    labellings = {"original": world.original, "augmented": world.augmented}
    queries = check_queries(world.original[["query_id"]].assign(text="a b"))

    names = ["C@1", "AP@3", "MnR", "bpref"]

    def tables(runs: Any) -> list[pd.DataFrame]:
        return [
            scores_with_uncertainty(runs, world.original, world.labels, names).scores,
            score_differences(runs, world.original, names, augmented=world.augmented).table,
            compare_orders(runs, labellings, names).swaps,
            by_length(runs, world.original, world.augmented, queries, names),
        ]

    for expected, found in zip(tables(world.runs), tables(joined), strict=True):
        pd.testing.assert_frame_equal(expected, found)


def test_what_was_not_joined_is_refused() -> None:
    world = World(3)
    joined = join_runs(world.runs, world.original)
    fewer = check_qrels(world.original.iloc[1:].reset_index(drop=True))
    refused("joined with those of other queries", score_differences, joined, fewer, MEASURES, by=JoinError)
    with pytest.raises(JoinError, match="not joined with query 'q00' and doc"):
        score_differences(joined, world.original, MEASURES, augmented=world.augmented)
