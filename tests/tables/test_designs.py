"""What is no probability, two samples in one table, or a failure with a number is refused in one line."""

from pathlib import Path

import pandas as pd
import pytest
from brought import put, refused

from fire_toolkit.errors import TableError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_query_design
from fire_toolkit.machines.scores import one_answer_per_pair
from fire_toolkit.tables import check_machine_judgments, check_pool, check_qrels, check_query_design

DESIGN = pd.DataFrame({"query_id": [*"rqs"], "depth": [10, 50, 10], "is_sampled": [False, True, False]})
DESIGN = DESIGN.assign(inclusion_probability=1 / 3, seed=4)
PAIRS = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "stratum": "11:50:0.1"})


def test_a_design_is_read_as_it_was_written_in_the_order_of_the_qrels(tmp_path: Path) -> None:
    file = tmp_path / "query_design.csv"
    file.write_text(delimited_text(check_query_design(DESIGN)))
    assert file.read_text().splitlines()[:3] == [
        "query_id,depth,is_sampled,inclusion_probability,seed",
        "r,10,False,0.3333333333333333,4",
        "q,50,True,0.3333333333333333,4",
    ]
    pd.testing.assert_frame_equal(read_query_design(tmp_path), check_query_design(DESIGN))


@pytest.mark.parametrize("bad", [0, -0.1, 1.01, float("nan"), "often"])
def test_what_is_no_probability_is_refused(bad: object) -> None:
    with pytest.raises(TableError, match=r"inclusion_probability is (no|not|missing).*\(3 of 3"):
        check_query_design(DESIGN.assign(inclusion_probability=bad))
    if not pd.isna(bad):
        with pytest.raises(TableError, match="inclusion_probability is no"):
            check_pool(PAIRS.assign(inclusion_probability=bad))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("seed", [4, 5, 4], "seed 4 and 5, expected one; a sample of two designs"),
        ("inclusion_probability", [0.1, 0.2, 0.3], "inclusion_probability 0.1 and 0.2, …, expected one"),
        ("depth", [10, 50, 11], "depth of the other queries 10 and 11, expected one"),
        ("depth", [10, 10, 10], "the sample are judged to depth 10, the others to 10; expected a greater"),
    ],
)
def test_two_designs_in_one_file_are_refused(column: str, values: list[object], message: str) -> None:
    refused(message, check_query_design, DESIGN.assign(**{column: values}), by=TableError)


def test_two_samples_in_one_pool_or_qrels_are_refused() -> None:
    mixed = PAIRS.assign(inclusion_probability=[0.1, 0.2])
    said = "stratum 11:50:0.1: inclusion_probability 0.1 and 0.2"
    refused(f"pool: {said}", check_pool, mixed, by=TableError)
    refused(f"qrels: {said}", check_qrels, mixed.assign(relevance=1), by=TableError)
    refused("seed 1 and 2, expected one", check_pool, PAIRS.assign(seed=[1, 2]), by=TableError)
    partly = {"stratum": ["", "11:50:0.1"], "inclusion_probability": [None, 0.1]}
    sound = check_qrels(PAIRS.assign(relevance=1, **partly))
    assert sound["inclusion_probability"].tolist()[1:] == [0.1]


def test_strata_that_overlap_are_of_two_samples(tmp_path: Path) -> None:
    mixed = PAIRS.assign(stratum=["1:10:1", "6:50:0.2"], inclusion_probability=[1.0, 0.2])
    refused("pool: strata 1:10:1 and 6:50:0.2 overlap", check_pool, mixed, by=TableError)
    side_by_side = mixed.assign(stratum=["1:5:1", "6:50:0.2"])
    assert check_pool(side_by_side)["stratum"].tolist() == ["1:5:1", "6:50:0.2"]
    odd = mixed.assign(stratum=["1:10:1", "deep"])
    refused("strata 1:10:1 and deep; a sample of two designs", check_pool, odd, by=TableError)
    for one, other, said in (("1:10:1", "6:50:0.2", "overlap"), ("shallow", "1:10:1", "1:10:1 and shallow")):
        text = put(tmp_path / "qrels.txt", f"q 0 a {one} 1\nq 0 b {other} 0\n")  # of five columns
        refused(said, read_qrels, text, by=TableError)


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"judge_id": "j", "query_id": "q", "doc_id": ["b", "a"], **columns})


def test_query_and_doc_and_a_score_are_enough() -> None:
    checked = check_machine_judgments(table(score=["", "-3.5"], label=["relevant", ""]))
    assert checked[["doc_id", "label", "sample_number", "status"]].values.tolist() == [
        ["a", "", 1, "ok"],
        ["b", "relevant", 1, "ok"],
    ]
    assert checked["score"].tolist()[0] == -3.5
    assert checked["score"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"score": [1, None]}, "neither score nor label in an answer that is ok (1 of 2; q a)"),
        ({"score": [1, 0], "status": ["ok", "failed"]}, "a score or a label ... that failed (1 of 2; q a)"),
        ({"score": [1, 0], "status": "done"}, "status 'done', expected ok or failed"),
        ({"score": [1, "inf"]}, "score is not finite"),
        ({"score": [1, 0], "doc_id": "a"}, "judge_id, query_id, doc_id, sample_number given twice"),
    ],
)
def test_what_is_refused(columns: dict[str, object], said: str) -> None:
    asked = {"where": "machine.csv"}
    refused(f"machine.csv:  ... {said}", check_machine_judgments, table(**columns), **asked, by=TableError)


def test_samples_of_one_pair_are_rows_of_their_own_and_no_row_at_all_is_a_table() -> None:
    checked = check_machine_judgments(table(score=[0.5, 0.25], doc_id="a", sample_number=[2, 1]))
    assert checked["score"].tolist() == [0.25, 0.5]
    assert check_machine_judgments(table(score=1.0).iloc[:0]).empty


def test_a_tie_of_samples_is_no_label_and_failures_count_for_nothing() -> None:
    rows = [("a", 1, 0.9, "yes"), ("a", 2, 0.2, "no"), ("b", 1, 0.4, ""), ("b", 2, None, "")]
    samples = pd.DataFrame(rows, columns=["doc_id", "sample_number", "score", "label"])
    samples = samples.assign(judge_id="j", query_id="q", status=["ok", "ok", "ok", "failed"])
    found = one_answer_per_pair(check_machine_judgments(samples))
    assert found.drop(columns=["judge_id", "query_id"]).values.tolist() == [
        ["a", pytest.approx(0.55), "", 2],
        ["b", 0.4, "", 1],
    ]
    assert one_answer_per_pair(check_machine_judgments(samples.iloc[:0])).empty
