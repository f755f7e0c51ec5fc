"""What a machine judge said: a failure is a failure, and no number stands in its place."""

import pandas as pd
import pytest

from fire_toolkit.errors import TableError
from fire_toolkit.machines.scores import one_answer_per_pair
from fire_toolkit.tables import check_machine_judgments


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
    ("columns", "message"),
    [
        ({"score": [1, None]}, "neither score nor label in an answer that is ok (1 of 2; q a)"),
        (
            {"score": [1, 0], "status": ["ok", "failed"]},
            "a score or a label in an answer that failed (1 of 2; q a)",
        ),
        ({"score": [1, 0], "status": "done"}, "status 'done', expected ok or failed"),
        ({"score": [1, "inf"]}, "score is not finite"),
        ({"score": [1, 0], "doc_id": "a"}, "judge_id, query_id, doc_id, sample_number given twice"),
    ],
)
def test_what_is_refused(columns: dict[str, object], message: str) -> None:
    with pytest.raises(TableError) as found:
        check_machine_judgments(table(**columns), where="machine.csv")
    assert str(found.value).startswith("machine.csv: ")
    assert message in str(found.value)


def test_samples_of_one_pair_are_rows_of_their_own() -> None:
    checked = check_machine_judgments(table(score=[0.5, 0.25], doc_id="a", sample_number=[2, 1]))
    assert checked["score"].tolist() == [0.25, 0.5]


def test_no_row_at_all_is_a_table() -> None:
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
