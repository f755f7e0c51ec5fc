"""Pairs that ask the same, judged once: who is asked, who takes the label, and what dissolves it."""

import pandas as pd
import pytest

from fire_toolkit.collections.sharing import share_among_alike
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.pooling import PoolingResult, pool_runs
from fire_toolkit.pooling.judge_once import Alike, group_alike, judge_once
from fire_toolkit.qrels import augment_qrels, change_counts
from fire_toolkit.tables import Labels, Run, check_labels, check_qrels


def run(lists: dict[str, str]) -> Run:
    rows = [("m", q, doc, -float(place)) for q, docs in lists.items() for place, doc in enumerate(docs)]
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


def alike(*pairs: str, is_equal: bool = False) -> Alike:
    return group_alike(pd.DataFrame({"id": list(pairs), "other_id": "", "is_equal": is_equal}).assign(
        id=[pair[0] for pair in pairs], other_id=[pair[1] for pair in pairs]))  # fmt: skip


def labels(known: dict[str, int]) -> Labels:
    rows = [(pair[0], pair[1], "x", relevance) for pair, relevance in known.items()]
    return check_labels(pd.DataFrame(rows, columns=["query_id", "doc_id", "label", "relevance"]))


def asked(pool: PoolingResult) -> list[str]:
    return (pool.pool["query_id"] + pool.pool["doc_id"]).tolist()


RUN = run({"1": "abc", "2": "bax", "3": "b"})
ORIGINAL = check_qrels(pd.DataFrame({"query_id": ["1", "2", "3"], "doc_id": ["c", "a", "z"], "relevance": 1}))


def test_chains_join_groups_and_are_counted_apart_from_whole_ones() -> None:
    assert alike("12", "23", "13", "45") == Alike(dict(zip("12345", "11144", strict=True)), 2, 3, 0)
    assert alike("12", "23") == Alike({"1": "1", "2": "1", "3": "1"}, 1, 3, 1)
    assert alike("21", "31", is_equal=True).n_chained == 0  # the same text all three
    links = pd.DataFrame({"id": ["1", "2"], "other_id": ["2", "3"], "is_equal": [True, False]})
    assert group_alike(links).n_chained == 0  # 1 and 2 are one text, and near 3 both


def test_of_a_group_the_originals_and_else_the_best_ranked_pair_are_asked() -> None:
    pool = pool_runs([RUN], depth=3, originals=ORIGINAL)
    once = judge_once(pool, queries=alike("12", "23"))
    # 2a is an original: asked, 1a takes its label. 2b and 3b rank first: 2b by id, 1b ranks second.
    assert asked(once.result) == ["1c", "2a", "2b", "2x"]
    assert once.result.counts["pairs"] == 4
    assert once.result.counts["judged_once"] == 3
    assert once.pairs.to_numpy().tolist() == [
        ["1", "a", 1, False], ["1", "b", 2, False], ["2", "a", 1, True], ["2", "b", 2, True],
        ["3", "b", 2, False],
    ]  # fmt: skip
    assert once.result.sources.equals(pool.sources)


def test_items_that_are_alike_count_too_and_both_at_once() -> None:
    once = judge_once(pool_runs([RUN], depth=2), queries=alike("12"), docs=alike("ab"))
    assert asked(once.result) == ["1a", "3b"]  # 1a, 1b, 2a, 2b ask one thing


def test_what_was_asked_or_judged_before_stays_and_serves_in_the_pool_or_not() -> None:
    first = judge_once(pool_runs([RUN], depth=2), queries=alike("12")).result
    judged = pd.DataFrame({"query_id": ["1", "2"], "doc_id": ["b", "c"]})
    later = pool_runs([RUN], depth=3, previous=first.pool, judged=judged)
    once = judge_once(later, queries=alike("12"), judged=judged)
    # 2c, judged and out of the pool, speaks for 1c; 1b was judged and 2b asked: both stay
    assert asked(once.result) == ["1a", "1b", "2b", "2x", "3b"]
    assert once.result.counts["to_ask"] == 1  # 2x
    assert once.pairs[~once.pairs["is_asked"]][["query_id", "doc_id"]].to_numpy().tolist() == [
        ["1", "c"], ["2", "a"]
    ]  # fmt: skip


def test_pairs_of_a_sample_are_each_asked() -> None:
    sample = pool_runs([RUN], depth=2, strategy="strata(1:2:0.5)")
    with pytest.raises(UsageError, match="each pair of a sample stands for itself"):
        judge_once(sample, queries=alike("12"))


PAIRS = pd.DataFrame(
    [("1", "a", 1, True), ("2", "a", 1, False), ("3", "a", 1, False), ("4", "a", 1, False),
     ("1", "b", 2, True), ("2", "b", 2, False)],
    columns=["query_id", "doc_id", "group", "is_asked"],
)  # fmt: skip


def test_a_label_is_shared_unless_the_pair_was_judged_or_disputed_itself() -> None:
    disputed = pd.DataFrame({"query_id": ["3"], "doc_id": ["a"]})
    shared = share_among_alike(labels({"1a": 1, "2a": 1}), PAIRS, disputed=disputed)
    rows = shared.labels[shared.labels["shared_from"] != ""]
    assert rows[["query_id", "doc_id", "relevance", "n_judgments", "shared_from"]].to_numpy().tolist() == [
        ["4", "a", 1, 0, "1 a"]
    ]
    assert (shared.n_shared, shared.n_positive, shared.n_own, shared.n_differ) == (1, 1, 2, 0)
    assert (shared.n_waiting, shared.n_conflicts) == (1, 0)  # 2b


def test_where_labels_of_a_group_differ_each_keeps_its_own_and_nothing_is_shared() -> None:
    shared = share_among_alike(labels({"1a": 1, "2a": 0, "1b": 0}), PAIRS, disputed=PAIRS[:0])
    assert shared.labels["query_id"].tolist() == ["1", "1", "2", "2"]  # 1b gives 2b its label
    assert (shared.n_shared, shared.n_own, shared.n_differ, shared.n_conflicts) == (1, 1, 1, 2)


def test_shared_labels_have_a_source_and_counts_of_their_own() -> None:
    shared = share_among_alike(labels({"1a": 1, "1b": 0}), PAIRS, disputed=PAIRS[:0])
    original = check_qrels(pd.DataFrame({"query_id": list("1234"), "doc_id": "o", "relevance": 1}))
    qrels, changes = augment_qrels(original, shared.labels)
    sources = dict(zip(qrels["query_id"] + qrels["doc_id"], qrels["source"], strict=True))
    assert [sources[pair] for pair in ("1a", "2a", "1b", "2b")] == ["new", "shared", "irrelevant", "shared"]
    counts = change_counts(changes)
    assert (counts["new"], counts["irrelevant"], counts["shared"], counts["shared_positive"]) == (1, 1, 4, 3)
