"""Pools: the union of the top K and where it came from; what strata and deep queries draw, and how often."""

import numpy as np
import pandas as pd
import pytest
from brought import refused
from hypothesis import example, given
from hypothesis import strategies as st
from small_world import made, make_qrels, run_in_order
from small_world import qrels_of as qrels
from small_world import run_in_order as run

from examples import cases
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.pooling.candidates import Candidates
from fire_toolkit.pooling.draws import design_queries, draw_candidates, draw_ids
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.pooling.strata import parse_strata
from fire_toolkit.pooling.words import changes_in_words
from fire_toolkit.tables import check_labels, check_pool

NAMES = [f"q{n}" for n in range(1332)]


@cases("text", "message")
def test_malformed_strata_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_strata(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def drawn_pairs(queries: list[str], docs: list[str], *, seed: int) -> np.ndarray:
    query, doc = (part.ravel() for part in np.indices((len(queries), len(docs))))
    ids = (pd.Index(each, dtype="str") for each in (queries, docs, ["m"]))
    run, rank = np.zeros_like(query), np.ones_like(query)
    candidates = Candidates(*ids, query, doc, run, rank, -rank, seed=seed)
    return draw_candidates(candidates, np.arange(len(query)))


def test_a_pair_is_drawn_as_often_as_its_rate_says_whatever_it_is_drawn_with() -> None:
    # 600² pairs: five standard deviations of the share below .1 are .0025
    drawn = drawn_pairs(NAMES[:600], NAMES[:600], seed=0)
    assert 0 <= drawn.min() < drawn.max() < 1
    assert (drawn < 0.1).mean() == pytest.approx(0.1, abs=0.0025)
    by_query = (drawn < 0.1).reshape(600, 600).sum(axis=1)
    assert by_query.std() == pytest.approx((600 * 0.1 * 0.9) ** 0.5, rel=0.1)  # as independent draws
    alone = drawn_pairs(["q7"], ["q599"], seed=0)
    assert alone[0] == drawn.reshape(600, 600)[7, 599]
    assert drawn_pairs(["q7"], ["q599"], seed=1)[0] != alone[0]


def test_a_draw_is_the_same_on_every_machine() -> None:
    # sha256 of the id, first 8 bytes, little endian; SplitMix64 of it plus (seed + 1) steps; in whole numbers
    import hashlib

    word = int.from_bytes(hashlib.sha256(b"q7").digest()[:8], "little")
    state = (word + 3 * 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    assert draw_ids(["q7"], seed=2)[0] == ((state ^ (state >> 31)) >> 11) / 2**53


def draw_queries(names: list[str], *, share: float, seed: int = 0) -> np.ndarray:
    design = design_queries(names, share=share, depth=0, deep=1, seed=seed)
    return design["is_sampled"].to_numpy(dtype=bool)


def test_a_tenth_of_the_queries_is_drawn_never_below_forty_and_a_larger_sample_contains_the_smaller() -> None:
    expected = [*(134, 100, 41), *(40, 40, 12)]
    assert [int(draw_queries(NAMES[:n], share=0.1).sum()) for n in (1332, 1000, 401, 399, 40, 12)] == expected
    tenth, fifth = draw_queries(NAMES, share=0.1, seed=3), draw_queries(NAMES, share=0.2, seed=3)
    assert not (tenth & ~fifth).any()
    assert (tenth != draw_queries(NAMES, share=0.1, seed=4)).any()
    assert draw_queries(NAMES[::-1], share=0.1, seed=3)[::-1].tolist() == tenth.tolist()
    over_seeds = sum(draw_queries(NAMES[:100], share=0.5, seed=seed) for seed in range(100)) / 100
    assert np.abs(over_seeds - 0.5).max() < 0.25  # 5 standard deviations of 100 draws


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"depth": 1, "deep_queries": 0.5, "deep_depth": 2},
            {("a", "shallow", 1.0): 80, ("b", "deep", 0.5): 40, ("z", "shallow", 1.0): 80},
        ),
        (
            {"depth": 2, "strategy": "strata(1:1:1,2:2:1)"},
            {("a", "1:1:1", 1.0): 80, ("b", "2:2:1", 1.0): 80, ("z", "original", 1.0): 80},
        ),
    ],
    ids=["deep", "strata"],
)
def test_each_pair_of_a_pool_has_the_chance_that_its_design_gave_it(options, expected) -> None:
    """80 queries of which 40 are drawn, each with the docs a, b, c and an original z that no run found."""
    run = run_in_order("m", {f"q{n:02}": "abc" for n in range(80)})
    originals = make_qrels({f"q{n:02}": {"z": 1} for n in range(80)})
    pool = pool_runs(run, originals=originals, include_originals=True, **options).pool
    assert pool[["doc_id", "stratum", "inclusion_probability"]].value_counts().to_dict() == expected


def test_a_design_says_how_deep_each_query_is_judged() -> None:
    design = design_queries(NAMES, share=0.1, depth=0, deep=50, seed=3)
    assert design["query_id"].tolist() == NAMES
    assert design["depth"].tolist() == np.where(design["is_sampled"], 50, 0).tolist()
    assert design["inclusion_probability"].unique().tolist() == [134 / 1332]
    for wrong in ({"share": 0.0}, {"share": 1.5}, {"deep": 10}, {"seed": -1}):
        with pytest.raises(UsageError, match=", expected "):
            design_queries(NAMES, **({"share": 0.1, "depth": 10, "deep": 50} | wrong))  # type: ignore[arg-type]


CLIP = run("clip", {"1": "abc", "2": "xyz"})
SSB = run("ssb", {"1": "cde", "2": "xwv", "3": "k"})


def test_each_pair_stands_once_with_its_best_rank_and_number_of_runs() -> None:
    pool = pool_runs([CLIP, SSB], depth=2).pool
    expected = [
        ("1", "a", 1, 1), ("1", "b", 2, 1), ("1", "c", 1, 1), ("1", "d", 2, 1),
        ("2", "w", 2, 1), ("2", "x", 1, 2), ("2", "y", 2, 1), ("3", "k", 1, 1),
    ]  # fmt: skip
    found = pool[["query_id", "doc_id", "best_rank", "n_runs"]].itertuples(index=False, name=None)
    assert expected == list(found)
    assert pool["is_original"].isna().all()
    assert set(pool["round"]) == {1}


def test_originals_are_marked_and_their_queries_are_the_universe() -> None:
    result = pool_runs([CLIP, SSB], depth=2, originals=qrels({("1", "a"): 1, ("1", "z"): 1, ("2", "q"): 0}))
    pool = result.pool.set_index(["query_id", "doc_id"])
    assert pool["is_original"].sum() == 1
    assert pool.loc[("1", "a"), "is_original"]
    assert "3" not in pool.index.get_level_values("query_id")
    assert result.counts["extra_queries"] == 1
    assert (result.counts["originals"], result.counts["originals_in_pool"]) == (2, 1)


def test_originals_that_no_run_found_join_when_asked() -> None:
    originals = qrels({("1", "z"): 1, ("2", "q"): 0})
    pool = pool_runs([CLIP], depth=1, originals=originals, include_originals=True).pool
    z = pool[pool["doc_id"] == "z"].iloc[0]
    assert pd.isna(z["best_rank"])
    assert (z["n_runs"], bool(z["is_original"])) == (0, True)
    assert "q" not in set(pool["doc_id"])


def test_pairs_judged_before_are_marked_and_the_others_are_of_the_next_round() -> None:
    judged = pd.DataFrame({"query_id": ["1", "2"], "doc_id": ["a", "nowhere"], "round": [1, 3]})
    result = pool_runs([CLIP], depth=1, judged=judged)
    told = result.pool.set_index("doc_id")[["is_judged", "round"]]
    assert told.loc["a"].tolist() == [True, 1]
    assert told.loc["x"].tolist() == [False, 4]
    assert (result.counts["judged_before"], result.counts["to_ask"], result.counts["round"]) == (1, 1, 4)


asked_pairs = st.tuples(st.sampled_from("123"), st.sampled_from("abcdwxyzk"), st.integers(1, 3))
asked_before = st.lists(asked_pairs, max_size=12)


@given(asked_before, asked_before)
@example([("1", "a", 2), ("1", "a", 3)], [("1", "a", 1)])
def test_a_pair_keeps_the_first_of_its_rounds_in_either_table(
    pairs: list[tuple[str, str, int]], known: list[tuple[str, str, int]]
) -> None:
    judged = pd.DataFrame(pairs, columns=["query_id", "doc_id", "round"]).astype({"round": "int64"})
    judged.index = judged.index[::-1]  # rows belong together by where they stand
    once = {(query, doc): number for query, doc, number in known}
    rows = [(query, doc, number) for (query, doc), number in once.items()]
    previous = check_pool(pd.DataFrame(rows, columns=["query_id", "doc_id", "round"]))
    first: dict[tuple[str, str], int] = {}
    for query, doc, number in [*rows, *pairs]:
        first[query, doc] = min(number, first.get((query, doc), number))
    result = pool_runs([CLIP, SSB], depth=2, judged=judged, previous=previous)
    pooled = list(zip(result.pool["query_id"], result.pool["doc_id"], strict=True))
    new = 1 + max(first.values(), default=0)
    assert result.pool["round"].tolist() == [first.get(pair, new) for pair in pooled]
    if pairs:
        is_judged = [pair in {(query, doc) for query, doc, _ in pairs} for pair in pooled]
        assert result.pool["is_judged"].tolist() == is_judged
    if first:
        assert result.counts["to_ask"] == sum(pair not in first for pair in pooled)
        assert result.counts["round"] == max(result.pool["round"])


def test_a_round_that_is_no_whole_number_is_refused() -> None:
    judged = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "round": [1.5]})
    refused("round is not a whole number", pool_runs, [CLIP], depth=1, judged=judged, by=TableError)


def test_a_pool_without_earlier_judgments_says_nothing_of_them() -> None:
    result = pool_runs([CLIP], depth=1, judged=pd.DataFrame({"query_id": [], "doc_id": []}))
    assert "is_judged" not in result.pool.columns
    assert "to_ask" not in result.counts
    assert set(result.pool["round"]) == {1}


def test_changes_of_runs_are_counted() -> None:
    before, now = (
        pool_runs(runs, depth=depth)
        for runs, depth in (([CLIP, SSB], 2), ([CLIP, run("late", {"1": "ab"})], 1))
    )
    judged = before.pool_sources.loc[before.pool_sources["run_id"] == "ssb", ["query_id", "doc_id"]].head(1)
    tops = {"clip": {"1a", "1b", "2x", "2y"}, "ssb": {"1c", "1d", "2x", "2w", "3k"}}
    left = tops["clip"] & {"1a", "2x"}
    n_alone = len(tops["ssb"] - tops["clip"])
    changed = f"clip: ranked as before; {len(left)} pairs, {len(tops['clip'])} before; 0 new, 2 gone"
    withdrawn = f"ssb: withdrawn; it had pooled {len(tops['ssb'])} pairs, {n_alone} of them alone (1 judged"
    told = "late: new, 1 pair"
    lost = "1 judged pair no longer in the pool; their judgments stay in labels and qrels"
    given = before.pool_sources, now.pool, now.pool_sources
    positive = made(
        check_labels, "query_id doc_id label relevance", ("1", "d", "yes", 1), ("2", "w", "no", 0)
    )
    for labels, known in ((None, ")"), (positive, ", 1 relevant)")):
        found = changes_in_words(*given, judged=judged, labels=labels, is_whole=True)
        assert list(found) == [changed, told, withdrawn + known, lost]
    found = changes_in_words(*given, judged=judged, labels=None, is_whole=False)  # others chosen, not brought
    assert list(found) == [told, withdrawn + ")", lost]
    unchanged = changes_in_words(given[0], before.pool, given[0], judged=judged, labels=None, is_whole=True)
    assert list(unchanged) == []


def test_runs_of_other_collections_are_refused() -> None:
    other = run("other", {"100": "ab"})
    with pytest.raises(JoinError, match="run 'clip' has no query in common with the other runs"):
        pool_runs([CLIP, other], depth=1)
    with pytest.raises(JoinError, match="'other' has none of the 1 queries of the original qrels"):
        pool_runs([other], depth=1, originals=qrels({("1", "a"): 1}))


def test_arguments_out_of_range_are_refused() -> None:
    refused("depth 0", pool_runs, [CLIP], depth=0, by=UsageError)
    with pytest.raises(UsageError, match="only when the original qrels are given"):
        pool_runs([CLIP], include_originals=True)
    refused("no run given", pool_runs, [], by=UsageError)
