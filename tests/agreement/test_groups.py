import pandas as pd
import pytest
from small_judgments import judged

from fire_toolkit.agreement.groups import join_columns
from fire_toolkit.agreement.table import agreement
from fire_toolkit.errors import JoinError, TableError
from fire_toolkit.tables import check_judgments, first_round

ROWS = [("a", "u", "1"), ("a", "v", "0"), ("a", "w", "1"), ("b", "u", "1"), ("b", "v", "1")]


def test_only_each_pairs_first_round_is_kept() -> None:
    # b was pooled for the second round, so its first answers are of round 2
    kept = first_round(judged(ROWS, round=[1, 1, 2, 2, 3]))
    assert kept[["doc_id", "annotator_id"]].to_numpy().tolist() == [["a", "u"], ["a", "v"], ["b", "u"]]


def test_answers_that_nobody_asked_for_do_not_count_as_first() -> None:
    kept = first_round(judged(ROWS, round=[1, 1, 2, 1, 1], kind=["task", "unassigned", "task", "task", ""]))
    assert kept[["doc_id", "annotator_id"]].to_numpy().tolist() == [["a", "u"], ["b", "u"], ["b", "v"]]


def test_without_a_column_round_all_judgments_are_kept() -> None:
    assert len(ROWS) == len(first_round(judged(ROWS)))
    assert len(first_round(judged([]))) == 0


def test_a_pair_that_two_runs_pooled_is_in_both_groups() -> None:
    sources = pd.DataFrame({"query_id": "q", "doc_id": ["a", "a", "b"], "run_id": ["x", "y", "x"]})
    table = agreement(join_columns(judged(ROWS), sources, by="run_id"), by="run_id")
    alpha = table[table["statistic"] == "percent_agreement"]
    assert alpha[["group", "n_units"]].to_numpy().tolist() == [["x", 2], ["y", 1]]
    expected = [(1 / 3 + 1) / 2, 1 / 3]
    assert expected == pytest.approx(alpha["value"].tolist())


def test_queries_bring_the_length_of_their_text_in_the_order_of_numbers() -> None:
    queries = pd.DataFrame({"query_id": ["q", "r"], "text": ["one two", "w " * 12]})
    both = pd.concat([judged(ROWS), judged(ROWS).assign(query_id="r")])
    joined = join_columns(check_judgments(both), queries, by="text_words")
    table = agreement(joined, by="text_words", statistics=["unanimous"])
    assert table["group"].tolist() == ["1-5", "11-15"]


def test_a_pair_without_a_partner_is_in_the_group_of_the_empty_text() -> None:
    joined = join_columns(judged(ROWS), pd.DataFrame({"doc_id": ["a"], "stratum": ["s"]}))
    table = agreement(joined, by="stratum", statistics=["alpha"])
    assert table["group"].tolist() == ["", "s"]


def test_columns_that_judgments_have_stay_as_they_are() -> None:
    pool = pd.DataFrame({"doc_id": ["a", "b"], "round": [7, 7], "is_original": [True, False]})
    joined = join_columns(judged(ROWS, round=[1, 1, 2, 1, 1]), pool)
    assert joined["round"].tolist() == [1, 1, 2, 1, 1]
    assert joined["is_original"].tolist() == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ({"video": ["a"]}, TableError, "expected some of query_id, doc_id, annotator_id"),
        ({"doc_id": ["a"]}, TableError, "a column that judgments do not have"),
        ({"doc_id": ["z"], "stratum": ["s"]}, JoinError, "no judgment has its doc_id"),
    ],
)
def test_a_table_that_does_not_belong_is_an_error(
    table: dict[str, list[str]], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        join_columns(judged(ROWS), pd.DataFrame(table))
