"""Public functions tell what they were given in the place of what they take."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from small_world import make_qrels

import fire_toolkit as fire
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.public.arguments import MADE_BY, SPECS, kinds_of
from fire_toolkit.tables import check_disputes, check_judgments, check_labels, check_pool, check_queries

GRADES = {"irrelevant": 0, "relevant": 1}
RUN = fire.run([[0.9, 0.1], [0.2, 0.7]], "clip", query_ids=["1", "2"], doc_ids=["a", "b"])
LATER = fire.run([[0.1, 0.9], [0.2, 0.7]], "later", query_ids=["1", "2"], doc_ids=["a", "b"])
QRELS = make_qrels({"1": {"a": 1}, "2": {"a": 1}})
PAIRS = QRELS[["query_id", "doc_id"]]
LABELS = check_labels(PAIRS.assign(label="relevant", relevance=1))
JUDGMENTS = check_judgments(PAIRS.assign(annotator_id="ann", label="relevant"))
QUERIES = check_queries(PAIRS[["query_id"]].assign(text=["a dog", "a cat"]))
POOL = check_pool(PAIRS)
DISPUTES = check_disputes(PAIRS[:0].assign(reason=""))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"1": {"a": 1}}, "qrels is a dict, expected a Qrels table; fire_toolkit.qrels makes one of"),
        ("qrels.txt", "qrels is the text 'qrels.txt', expected a Qrels table"),
        (Path("q.txt"), "qrels is the path 'q.txt', expected a Qrels table"),
        ((QRELS, 0), "qrels is a tuple, expected a Qrels table"),
        ([QRELS], "qrels is a list, expected a Qrels table"),
        (np.zeros((2, 2)), "qrels is a numpy array, expected a Qrels table"),
        (None, "qrels is None, expected a Qrels table"),
        (LABELS, "qrels is a Labels table, expected a Qrels table"),
        (RUN, "qrels is a Run table, expected a Qrels table"),
        (JUDGMENTS, "qrels is a Judgments table, expected a Qrels table"),
        (pd.DataFrame({"q": [1]}), "qrels is a table with the columns q, expected a Qrels table"),
        (fire.augment_qrels(QRELS, LABELS), "qrels is a"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_qrels_is_told_by_name(given: Any, words: str) -> None:
    told = refused(words, fire.score, RUN, given, measures=["C@1"], by=UsageError)
    assert told.startswith(f"score: {words}")


def calls() -> list[tuple[Callable[[], object], str]]:
    guideline = fire.read_guideline("caption-relevance-v1")
    some: Any = fire  # what is wrong here is wrong on purpose
    return [
        (lambda: some.augment_qrels(LABELS, QRELS), "original is a Labels table, expected a Qrels table"),
        (lambda: some.augment_qrels(QRELS, QRELS), "labels is a Qrels table, expected a Labels table"),
        (lambda: some.score(QRELS, RUN), "runs is a Qrels table, expected a Run table"),
        (lambda: some.score([RUN, "b.run"], QRELS), "runs[1] is the text 'b.run'"),
        (lambda: some.score(np.eye(2), QRELS), "run makes one of a file, a matrix"),
        (lambda: some.resolve(LABELS, grades=GRADES), "judgments is a Labels table"),
        (lambda: some.resolve(JUDGMENTS, grades=guideline), "grades is a Guideline"),
        (lambda: some.agree((JUDGMENTS, 0)), "judgments makes one of a file"),
        (lambda: some.make_tasks(QRELS, QUERIES, guideline=guideline), "pool is a Qrels table"),
        (lambda: some.make_tasks(POOL, QUERIES, guideline="g"), "guideline is the text 'g'"),
        (lambda: some.orders(RUN, {"a": LABELS}), "labellings['a'] is a Labels table"),
        (lambda: some.tasks_to_json(POOL, "g"), "tasks is a Pool table, expected a Tasks table"),
        (
            lambda: some.judgments_from_export([], guideline="g"),
            "guideline is the text 'g', expected a Guideline",
        ),
        (lambda: some.machine_check(QRELS, LABELS), "machine is a Qrels table, expected a MachineJudgments"),
        (lambda: some.plan(RUN, QRELS, seconds=-1), "seconds is -1, expected above 0, and at most 86400"),
        (lambda: some.plan(RUN, QRELS, seed=-1), "plan: seed is -1, expected 0 or more"),
        (lambda: some.compare(RUN, depth=[1, 0]), "compare: depth is [1, 0], expected 1 or more"),
        (lambda: some.read_pool(QRELS), "path is a Qrels table, expected a text or path"),
        (lambda: some.table_text([1]), "table is a list, expected a table"),
    ]


@pytest.mark.parametrize("place", range(19))
def test_a_wrong_object_is_told_by_name(place: int) -> None:
    call, words = calls()[place]
    refused(words, call, by=UsageError)


def test_a_table_made_by_hand_is_checked_where_it_comes_in_and_rows_may_be_out_of_order() -> None:
    expected = fire.score(RUN, QRELS, measures=["C@1", "AP"]).scores
    shuffled: Any = RUN.iloc[[3, 0, 2, 1]]
    pd.testing.assert_frame_equal(fire.score(shuffled, QRELS, measures=["C@1", "AP"]).scores, expected)
    plain = QRELS[["query_id", "doc_id", "relevance"]].astype(object)
    by_hand = RUN.iloc[::-1].astype(dict.fromkeys(("run_id", "query_id", "doc_id"), object))
    found = fire.score(by_hand, plain, measures=["C@1", "AP"]).scores  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(found, expected)
    odd, said = plain.assign(query_id=[1, 2]), "score: qrels: query_id is not text in UTF-8 (2 of 2; row 1: 1"
    refused(said, fire.score, RUN, odd, measures=["C@1"], by=TableError)


def test_values_of_numpy_and_pandas_are_taken_as_those_of_python() -> None:
    measures = np.array(["C@1", "AP"])
    expected = fire.difference([RUN, LATER], QRELS, measures=["C@1", "AP"], clusters="text", queries=QUERIES)
    by_query = QUERIES.set_index("query_id")["text"]
    found = fire.difference([RUN, LATER], QRELS, measures=measures, clusters=by_query)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(found.table, expected.table)
    pooled = fire.pool(RUN, QRELS, depth=np.int64(1))  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(pooled.pool, fire.pool(RUN, QRELS, depth=1).pool)


def test_rows_that_were_joined_of_checked_tables_are_checked_again() -> None:
    """Two of one pair halved AP, and each answer counted twice."""
    for call, twice in (
        (lambda table: fire.score(RUN, table, measures=["AP"]), QRELS),
        (lambda table: fire.score(table, QRELS, measures=["AP"]), RUN),
        (fire.resolve, JUDGMENTS),
        (lambda table: fire.augment_qrels(QRELS, table), LABELS),
    ):
        refused("given twice (", call, pd.concat([twice, twice]).sort_index(ignore_index=True), by=TableError)
    refused(
        "score is not finite (1 of 4", fire.score, RUN.assign(score=[1, 1, 1, np.nan]), QRELS, by=TableError
    )


def test_a_result_can_be_copied_and_kept() -> None:
    result = fire.score(RUN, QRELS, measures=["AP"])
    for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        pd.testing.assert_frame_equal(same.scores, result.scores)


def test_tables_as_a_csv_is_read_with_all_as_text_are_those_that_they_spell() -> None:
    judgments = JUDGMENTS.assign(round=[1, 2])
    expected, as_text = fire.resolve(judgments).labels, fire.resolve(judgments.astype(str)).labels
    pd.testing.assert_frame_equal(as_text, expected)
    assert as_text["rounds"].tolist() == ["1", "2"]
    for run in (RUN, RUN.astype(object)):
        assert fire.drop_own_items(run, {"1": "a"})["doc_id"].tolist() == ["b", "b", "a"]
    planned = fire.plan_round(JUDGMENTS, LABELS, DISPUTES, grades=GRADES, ask=["dispute"], original=None)
    assert len(planned.pool) == 0


@pytest.mark.parametrize("index", [[5, 9, 12, 30], [0, 0, 1, 1]], ids=["rows of a larger table", "joined"])
def test_the_index_of_a_table_says_nothing(index: list[int]) -> None:
    pairs = PAIRS.loc[[0, 0, 1, 1]].reset_index(drop=True)
    judgments = check_judgments(pairs.assign(annotator_id=[*"abab"], label=[*"1000"], round=[1, 1, 1, 2]))
    for function in (fire.annotator_profiles, fire.leave_one_out, lambda table: fire.agree(table).table):
        expected, found = function(judgments), function(judgments.set_axis(index))
        pd.testing.assert_frame_equal(found, expected)


def test_a_checked_function_is_still_itself_and_knows_tables_by_their_columns() -> None:
    assert fire.score is fire.score
    assert pickle.loads(pickle.dumps(fire.score)) is fire.score
    with pytest.raises(TypeError, match="score: missing a required argument: 'qrels'"):
        fire.score(RUN)  # type: ignore[call-arg]
    assert set(SPECS) == set(MADE_BY)
    for kind, table in {"Run": RUN, "Qrels": QRELS, "Labels": LABELS, "Judgments": JUDGMENTS}.items():
        assert kinds_of(table) == [kind]
    assert "Pool" in kinds_of(POOL.assign(label="x", relevance=1))
