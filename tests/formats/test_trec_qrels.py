"""TREC qrels of four and of five columns are read and written as they are."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.trec import read_trec_qrels, trec_qrels_text
from fire_toolkit.tables import check_qrels

FIVE = "1501 0 shot1_2 1 1\n1501 0 shot1_3 02 -1\n1502 0 shot9_1 all 0\n"


def test_strata_are_read_to_the_letter_and_written_back(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(FIVE)
    qrels = read_trec_qrels(tmp_path / "qrels")
    assert list(qrels["stratum"]) == ["1", "02", "all"]
    assert list(qrels["relevance"]) == [1, -1, 0]
    assert trec_qrels_text(qrels) == FIVE


def test_four_columns_stay_four(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    qrels = read_trec_qrels(tmp_path / "qrels")
    assert list(qrels.columns) == ["query_id", "doc_id", "relevance", "source"]
    assert trec_qrels_text(qrels) == "q 0 a 1\nq 0 b 0\n"


def test_a_pair_of_no_stratum_has_a_dash() -> None:
    table = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "stratum": ["1", None]})
    assert trec_qrels_text(check_qrels(table)) == "q 0 a 1 1\nq 0 b - 1\n"


def test_columns_that_come_and_go_are_refused(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1 1\nq 0 b 1\n")
    with pytest.raises(FormatError, match="qrels:2: 4 fields, expected 5 as on the first line"):
        read_trec_qrels(tmp_path / "qrels")


def test_a_control_character_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b\x1b 1\n")
    with pytest.raises(FormatError, match=r"qrels:2: 'b\\x1b' holds control characters, expected ids"):
        read_trec_qrels(tmp_path / "qrels")


FIELDS = st.one_of(
    st.sampled_from(["q1", "007", "NA", "日本", '"', "a,b", "é", "1", "-1", "0", "1.0", "x y", "\u00a0", ""]),
    st.text(st.characters(codec="utf-8"), max_size=3),
)
LINES = st.lists(st.lists(FIELDS, min_size=3, max_size=6), max_size=5)


@given(LINES, st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_is_what_stands_between_white_space(
    tmp_path: Path, lines: list[list[str]], between: str, end: str, has_mark: bool
) -> None:
    text = end.join(between.join(line) for line in lines)
    (tmp_path / "qrels").write_bytes(("\ufeff" * has_mark + text).encode())
    try:
        found = read_trec_qrels(tmp_path / "qrels")
    except FireError:
        return
    rows = [fields for line in text.split("\n") if (fields := line.split())]
    expected = sorted((fields[0], fields[2], int(fields[-1])) for fields in rows)
    assert sorted(zip(found["query_id"], found["doc_id"], found["relevance"], strict=True)) == expected


WHOLE = st.tuples(st.sampled_from(["q1", "007", "é"]), st.sampled_from(["a", "NA", "日"]), st.integers(-9, 9))


@given(st.lists(WHOLE, min_size=1, unique_by=lambda row: row[:2]))
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_well_formed_qrels_are_read(tmp_path: Path, rows: list[tuple[str, str, int]]) -> None:
    path = tmp_path / "qrels"
    path.write_text("".join(f"{query} 0 {doc} {relevance}\n" for query, doc, relevance in rows))
    found = read_qrels(path)
    assert sorted(rows) == list(zip(found["query_id"], found["doc_id"], found["relevance"], strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q 0 a 1\nq 0 b " + "9" * 25 + "\n", ":2: relevance '9{25}', expected a whole number below 10"),
        ("q 0 a " + "9" * 400 + "\n", ":1: relevance '9{60}', expected a whole number"),
        ("q 0 a 1\nq 0 b " + "9" * 17 + "\n", ":2: relevance '9{17}', expected a whole number below 10"),
        ("q 0 a 1\nq 0 b 0x10\n", ":2: relevance '0x10', expected a whole number"),
        ("q 0 a 1_0\n", "relevance '1_0', expected a whole number"),
        ("q 0 a x\n", "relevance 'x', expected a whole number"),
        ("q 0 a 1\nq 0 a 0\n", "given twice"),
    ],
)
def test_what_is_wrong_is_told_by_line_or_row(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(FireError, match=said):
        read_qrels(tmp_path / "qrels")
