"""Depth-K pooling: the union of the top K, each pair once, and where it came from."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import qrels_of as qrels
from small_world import run_in_order as run

from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.pooling import pool_runs, source_changes
from fire_toolkit.tables import check_pool

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


def test_a_later_model_leaves_the_sources_whole_and_the_first_pairs_in_their_round() -> None:
    first = pool_runs([CLIP], depth=2)
    both = pool_runs([CLIP, SSB], depth=2, previous=first.pool, judged=first.pool)
    at_once = pool_runs([CLIP, SSB], depth=2)
    pd.testing.assert_frame_equal(at_once.sources, both.sources)
    pd.testing.assert_frame_equal(
        at_once.pool.drop(columns="round"), both.pool.drop(columns=["round", "is_judged"])
    )
    asked = set(zip(first.pool["query_id"], first.pool["doc_id"], strict=True))
    for row in both.pool.itertuples():
        is_old = (row.query_id, row.doc_id) in asked
        assert (row.is_judged, row.round) == (is_old, 1 if is_old else 2)


asked_before = st.lists(
    st.tuples(st.sampled_from("123"), st.sampled_from("abcdwxyzk"), st.integers(1, 3)), max_size=12
)


@given(asked_before, asked_before)
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
    if first:
        assert result.counts["to_ask"] == sum(pair not in first for pair in pooled)
        assert result.counts["round"] == max(result.pool["round"])


def test_a_round_that_is_no_whole_number_is_refused() -> None:
    judged = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "round": [1.5]})
    with pytest.raises(TableError, match="round is not a whole number"):
        pool_runs([CLIP], depth=1, judged=judged)


def test_a_pool_without_earlier_judgments_says_nothing_of_them() -> None:
    result = pool_runs([CLIP], depth=1, judged=pd.DataFrame({"query_id": [], "doc_id": []}))
    assert "is_judged" not in result.pool.columns
    assert "to_ask" not in result.counts
    assert set(result.pool["round"]) == {1}


def test_changes_of_runs_are_counted() -> None:
    before = pool_runs([CLIP, SSB], depth=2).sources
    now = pool_runs([CLIP, run("late", {"1": "ab"})], depth=1).sources
    judged = before.loc[before["run_id"] == "ssb", ["query_id", "doc_id"]].head(1)
    found = source_changes(before, now, judged=judged).set_index("run_id")

    def pairs(sources: pd.DataFrame, run_id: str) -> set[tuple[str, str]]:
        own = sources[sources["run_id"] == run_id]
        return set(zip(own["query_id"], own["doc_id"], strict=True))

    for run_id in ("clip", "ssb", "late"):
        old, new = pairs(before, run_id), pairs(now, run_id)
        others = set().union(*(pairs(before, other) for other in ("clip", "ssb") if other != run_id))
        row = found.loc[run_id]
        assert [len(old), len(new), len(old - new), len(new - old), len(old - others)] == [
            row[name] for name in ("n_before", "n_now", "n_gone", "n_new", "n_own_before")
        ]
        own_judged = (old - others) & set(zip(judged["query_id"], judged["doc_id"], strict=True))
        assert len(own_judged) == row["n_own_judged"]
    assert found["n_own_relevant"].isna().all(), "without labels nobody knows"


def test_runs_of_other_collections_are_refused() -> None:
    other = run("other", {"100": "ab"})
    with pytest.raises(JoinError, match="run 'clip' has no query in common with the other runs"):
        pool_runs([CLIP, other], depth=1)
    with pytest.raises(JoinError, match="'other' has none of the 1 queries of the original qrels"):
        pool_runs([other], depth=1, originals=qrels({("1", "a"): 1}))


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="depth 0"):
        pool_runs([CLIP], depth=0)
    with pytest.raises(UsageError, match="only when the original qrels are given"):
        pool_runs([CLIP], include_originals=True)
    with pytest.raises(UsageError, match="no run given"):
        pool_runs([])
