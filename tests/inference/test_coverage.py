"""What pairs that nobody judged leave open, who found what, and what is left without a run's own labels."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from brought import refused
from small_world import World, made, qrels_of

from examples import seeds, some
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.evidence.qrels import augment_qrels, change_counts
from fire_toolkit.inference.bounds import coverage
from fire_toolkit.inference.leave_out import contributions, leave_out
from fire_toolkit.inference.orders import kendall_tau
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import check_labels, check_pool_sources, check_qrels

LEFT_OUT = ["C@3", "R@8", "AP@8", "MedR", "bpref", "infAP", "C@3:condensed", "RBP_residual(p=0.8)"]
FOUND = [("q", doc, run, 1) for run, docs in {"m": "abcf", "n": "adef"}.items() for doc in docs]
SOURCES = made(check_pool_sources, "query_id doc_id run_id rank", *FOUND)
GIVEN = [("q", doc, "x", int(doc in "abf")) for doc in "abcdf"]
LABELS = made(check_labels, "query_id doc_id label relevance", *GIVEN)
ORIGINAL = qrels_of({("q", "a"): 1, ("q", "d"): 1})


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("measure", some(["C@5", "RR", "DCG@5", "P@5", "MnR"], 2))
def test_judging_the_pairs_settles_the_score(seed: int, measure: str) -> None:
    """Whatever the answers are, no bound is left open; and without one of the pairs some would be."""
    world = World(seed, n_docs=20)
    first = coverage(world.runs, world.original, world.augmented, [measure])
    run_id = "r2"
    pairs = first.pairs[first.pairs["run_id"] == run_id]
    own = first.summary[first.summary["run_id"] == run_id].iloc[0]
    assert len(pairs) == own["n_pairs"]
    assert (own["n_pairs"] == 0) == (own["lower"] == own["upper"])
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.5, 1.0):
        relevance = (rng.random(len(pairs)) < share).astype(int)
        answers = pairs[["query_id", "doc_id"]].assign(label="x", relevance=relevance)
        labels = check_labels(pd.concat([world.labels, answers], ignore_index=True))
        after, _ = augment_qrels(world.original, labels)
        settled = coverage(world.runs, world.original, after, [measure]).summary
        row = settled[settled["run_id"] == run_id].iloc[0]
        assert row["n_open"] == 0
        assert row["lower"] == pytest.approx(row["upper"])
        assert own["lower"] - 1e-12 <= row["augmented"] <= own["upper"] + 1e-12


def test_the_first_positives_are_the_least_cost() -> None:
    """Two open queries with three unjudged docs above anything judged: one positive each would do."""
    rows = [("m", query, f"d{place}", float(-place)) for query in "xyz" for place in range(4)]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    qrels = check_qrels(pd.DataFrame({"query_id": list("xyz"), "doc_id": ["d3", "d3", "d0"], "relevance": 1}))
    found = coverage(run, qrels, qrels, ["C@3", "P@3"], seconds=36, labels_per_pair=1.5)
    first, second = found.summary.to_dict("records")
    assert (first["n_open"], first["n_pairs"], first["n_least"]) == (2, 6, 2)
    assert (first["lower"], first["upper"]) == (pytest.approx(1 / 3), 1.0)
    assert first["hours"] == pytest.approx(6 * 1.5 * 36 / 3600)
    assert (second["n_open"], second["n_pairs"], second["n_least"]) == (3, 8, 8)
    expected = [[1, pytest.approx(1 / 3)], [5, 0.25], [10, 0.25]]
    assert found.judged[["k", "judged"]].to_numpy().tolist() == expected
    own = found.pairs[(found.pairs["measure"] == "C@3") & (found.pairs["query_id"] == "x")]
    assert own["doc_id"].tolist() == ["d0", "d1", "d2"]
    assert own["rank"].tolist() == [1, 2, 3]


def test_scores_and_judged_are_those_of_score_runs() -> None:
    world = World(5)
    found = coverage(world.runs, world.original, world.augmented, ["DCG@5"])
    scores = score_runs(world.runs, world.original, ["DCG@5", "Judged@5"], augmented=world.augmented).scores
    known = {(s.run_id, s.measure): s.value for s in scores.itertuples() if s.qrels == "augmented"}
    for row in found.summary.itertuples():
        assert known[row.run_id, "DCG@5"] == row.augmented
        assert known[row.run_id, "Judged@5"] == row.judged
    assert np.isnan(found.summary["hours"]).all()


def test_bad_arguments_are_refused() -> None:
    world = World(6)
    with pytest.raises(UsageError, match="Judged@5 has no bounds; it measures how much is judged"):
        coverage(world.runs, world.original, world.original, ["Judged@5"])
    for name in ("AP@3", "nDCG@3", "C@3:condensed"):
        with pytest.raises(UsageError, match=f"{name} has .*; take C@k, or P@k for all docs of the top k"):
            coverage(world.runs, world.original, world.original, [name])


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("families", [None, {"r1": "old", "r3": "old"}])
def test_leaving_out_is_scoring_anew_without_the_labels(seed: int, families: dict[str, str] | None) -> None:
    world = World(seed)
    tables = (world.runs, world.original, world.augmented)
    found = leave_out(*tables, LEFT_OUT, sources=world.sources, families=families)
    groups = {"old": {"r1", "r3"}, "r2": {"r2"}} if families else {r: {r} for r in world.run_ids}
    assert set(found.scores["left_out"]) == set(groups)
    with_all = world.means_without(set(), LEFT_OUT)
    for name, members in groups.items():
        without = world.means_without(members, LEFT_OUT)
        for row in found.scores[found.scores["left_out"] == name].itertuples():
            assert with_all[row.run_id, row.measure] == pytest.approx(row.all, abs=1e-12)
            assert without[row.run_id, row.measure] == pytest.approx(row.without, abs=1e-12)
            assert row.is_left_out == (row.run_id in members)


def test_orders_say_how_far_places_move() -> None:
    world = World(2)
    found = leave_out(world.runs, world.original, world.augmented, ["AP@8", "MnR"], sources=world.sources)
    for row in found.orders.itertuples():
        part = found.scores.query("left_out == @row.left_out and measure == @row.measure")
        assert kendall_tau(part["all"].to_numpy(), part["without"].to_numpy()) == row.tau
        assert part["change"].abs().max() == row.largest_change
        best = part.loc[part["place_without"] == 1, "without"]
        extreme = part["without"].min() if row.measure == "MnR" else part["without"].max()
        assert (best == extreme).all()


def test_a_family_of_nobody_is_refused() -> None:
    world = World(3)
    with pytest.raises(UsageError, match="families: run 'r9' pooled nothing; expected some of r1, r2, r3"):
        leave_out(
            world.runs, world.original, world.original, ["C@1"], sources=world.sources, families={"r9": "x"}
        )


def test_each_run_is_credited_with_what_became_of_its_pairs() -> None:
    m, n = contributions(SOURCES, LABELS, ORIGINAL).runs.to_dict("records")
    assert m == {
        "run_id": "m", "n_pooled": 4, "n_positive": 3, "confirmed": 1, "rejected": 0, "new": 2,
        "irrelevant": 1, "not_judged": 0, "n_own": 2, "own_positive": 1, "own_new": 1, "own_share": 0.5,
    }  # fmt: skip
    assert (n["rejected"], n["not_judged"], n["n_own"], n["own_positive"], n["new"]) == (1, 1, 2, 0, 1)
    dropped = made(check_pool_sources, "query_id doc_id run_id rank", *FOUND, ("unusable", "a", "m", 1))
    assert contributions(dropped, LABELS, ORIGINAL).runs.to_dict("records") == [m, n]


def test_sets_of_runs_split_the_pool() -> None:
    table = contributions(SOURCES, LABELS, ORIGINAL).sets
    assert table["runs"].tolist() == ["m", "m & n", "n"]
    assert table["n_pairs"].tolist() == [2, 2, 2]
    assert table["n_positive"].tolist() == [1, 2, 0]
    assert table[["confirmed", "new"]].to_numpy().tolist() == [[0, 1], [1, 1], [0, 0]]


def test_thousands_of_sets_are_counted_in_little_memory() -> None:
    pairs = [("q", f"d{n:04}") for n in range(4096)]
    brought = [(*pair, f"r{run:02}", 1) for n, pair in enumerate(pairs) for run in range(12) if n >> run & 1]
    sources = made(check_pool_sources, "query_id doc_id run_id rank", *brought)
    labels = made(check_labels, "query_id doc_id label relevance", *((*pair, "x", 1) for pair in pairs[1:]))
    tracemalloc.start()
    try:
        sets = contributions(sources, labels, ORIGINAL).sets
        assert tracemalloc.get_traced_memory()[1] < 40e6  # pairs × sets would be 134 MB
    finally:
        tracemalloc.stop()
    assert (len(sets), {*sets["n_pairs"]}, sets["new"].sum()) == (4095, {1}, 4095)


def test_the_counts_over_sets_are_those_of_the_changes() -> None:
    world = World(1)
    table = contributions(world.sources, world.labels, world.original).sets
    counts = change_counts(augment_qrels(world.original, world.labels)[1])
    for kind in ("confirmed", "rejected", "new", "irrelevant"):
        assert counts[kind] == table[kind].sum()
    assert table["n_pairs"].sum() == len(world.labels)


def test_labels_of_another_pool_are_refused() -> None:
    other = check_labels(LABELS.assign(query_id="other"))
    refused("labels: none is on a pair of the pool", contributions, SOURCES, other, ORIGINAL, by=JoinError)
    runs = contributions(SOURCES, check_labels(LABELS[:0]), ORIGINAL).runs  # all of it is in dispute, say
    assert (runs["not_judged"] == runs["n_pooled"]).all()
