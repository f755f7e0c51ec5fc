"""TREC text to the letter: order of lines, comments above the first, ids with #, strata, trailing fields."""

import gzip
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused
from command import run
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FileNote, FireError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs import trec
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.trec import is_trec_run, read_trec_qrels, read_trec_run, trec_qrels_text
from fire_toolkit.tables import check_qrels

pytestmark = pytest.mark.usefixtures("here")
PLAIN = "q1 Q0 a 1 0.9 m\nq1 Q0 b 2 0.8 m\nq2 Q0 a 1 0.7 m\n"
LONGER = "".join(f"{line} 0.5 x\n" for line in PLAIN.splitlines())
COMMENTED = "# made by a script\n#run\n\n  # of six fields in it all\n" + PLAIN
QRELS = "q1 0 a 1\nq2 0 a 0\n"
FAST_OR_BY_LINE = pytest.mark.parametrize("separator", [" ", "  "])  # Arrow refuses the second as it lies


@pytest.fixture(scope="module")
def lines() -> list[str]:
    rng = np.random.default_rng(40)
    return [
        f"q{query:02d} Q0 d{doc} {rank} {rng.random():.4f} m\n"
        for query in range(40)
        for rank, doc in enumerate(rng.permutation(50)[: rng.integers(1, 20)], 1)
    ]


@FAST_OR_BY_LINE
def test_the_order_of_lines_and_the_size_of_blocks_change_nothing(
    lines: list[str], separator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_trec_run(put("a.trec", "".join(lines)))
    shuffled = "".join(np.random.default_rng(0).permutation(lines)).replace(" ", separator)
    pd.testing.assert_frame_equal(whole, read_trec_run(put("b.trec", shuffled)))
    monkeypatch.setattr(trec, "_BLOCK_BYTES", 200)  # a query's lines are in several
    in_order = put("a.trec", "".join(lines).replace(" ", separator))
    pd.testing.assert_frame_equal(whole, read_trec_run(in_order))


def test_a_second_run_id_deep_in_the_file_is_seen(lines: list[str]) -> None:
    path = put("a.trec", "".join([*lines[:200], lines[200].replace(" m\n", " other\n"), *lines[201:]]))
    refused("2 run ids in one file (m, other)", read_trec_run, path)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (COMMENTED, "left out 3 lines that start with #"),
        (COMMENTED.replace("in it all", "in it"), "left out 3 lines that start with #"),
        (LONGER, "left out the fields past the sixth on 3 lines"),
        (LONGER + "q2 Q0 b 2 0.6 m\n", "left out the fields past the sixth on 3 lines"),
        ("# x\n" + LONGER, "left out 1 lines that start with # and the fields past the sixth on 3 lines"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_runs(text: str, note: str, pack: Callable[[bytes], bytes]) -> None:
    expected = read_run(put("plain.run", PLAIN if "q2 Q0 b" not in text else PLAIN + "q2 Q0 b 2 0.6 m\n"))
    with pytest.warns(FileNote, match=note):
        found = read_run(put("a.run", pack(text.encode())))
    assert found.astype({"run_id": str}).equals(expected.astype({"run_id": str}))
    assert is_trec_run(text.encode(), Path("a.run"))


def test_qrels() -> None:
    with pytest.warns(FileNote, match="q.txt: left out 3 lines that start with #"):
        found = read_qrels(put("q.txt", "# query 0 doc grade\n#\n# q9 0 a 1\n" + QRELS))
    assert found.equals(read_qrels(put("plain.txt", QRELS)))


def test_commands_say_it_once() -> None:
    result = run("score", put("a.run", COMMENTED), "--qrels", put("q.txt", QRELS), "-m", "C@1")
    assert result.stderr.count("a.run: left out 3 lines that start with #") == 1


@FAST_OR_BY_LINE
def test_ids_with_a_hash_stay_ids_and_are_said(separator: str) -> None:
    text = "#cats 0 a 1\n# 0 a 1\nq 0 #a 1\n##dogs 0 a 1\n".replace(" ", separator)
    with pytest.warns(FileNote, match="3 lines start with # and have the fields of data"):
        found = read_qrels(put("q.txt", text))
    expected = {("#cats", "a"), ("#", "a"), ("q", "#a"), ("##dogs", "a")}
    assert {*zip(found["query_id"], found["doc_id"], strict=True)} == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace("q2", "# the rest\nq2", 1), "f:3: 3 fields, expected 6"),  # a comment below a row
        ("q Q0 a 1 0.9 m x\nq two Q0 b 1 0.8 m\n", "f:2: 7 fields, expected 6"),
        ("q1 Q0 my doc 1 0.9 m\n", "7 fields, expected 6"),
        ("# made by a script\n", "nothing but comments"),
    ],
)
@FAST_OR_BY_LINE
@pytest.mark.filterwarnings("ignore::fire_toolkit.errors.FileNote")
def test_what_is_wrong_in_a_run_is_told_by_line(text: str, said: str, separator: str) -> None:
    refused(said, read_run, put("f", text.replace(" ", separator)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1 0 a 1\n# the rest\nq2 0 a 1\n", "f:2: 3 fields, expected 4 as on the first line"),
        ("q 0 a 1 1\nq 0 b 1\n", "f:2: 4 fields, expected 5 as on the first line"),
        ("q1 0 my doc a 1\n", ""),
        ("q 0 a 1\nq 0 b\x1b 1\n", r"f:2: 'b\x1b' holds control characters, expected ids"),
        ("q 0 a 1\nq 0 b " + "9" * 25, f"f:2: relevance '{'9' * 25}', expected a whole number below 10"),
        ("q 0 a " + "9" * 400 + "\n", f"f:1: relevance '{'9' * 60}', expected a whole number"),
        ("q 0 a 1\nq 0 b " + "9" * 17, f"f:2: relevance '{'9' * 17}', expected a whole number below 10"),
        ("q 0 a 1\nq 0 b 0x10\n", "f:2: relevance '0x10', expected a whole number"),
        ("q 0 a 1_0\n", "relevance '1_0', expected a whole number"),
        ("q 0 a x\n", "relevance 'x', expected a whole number"),
        ("q 0 a 1\nq 0 a 0\n", "given twice"),
    ],
)
@FAST_OR_BY_LINE
def test_what_is_wrong_in_qrels_is_told_by_line_or_row(text: str, said: str, separator: str) -> None:
    refused(said, read_qrels, put("f", text.replace(" ", separator)), by=FireError)


def test_qrels_of_four_and_of_five_columns_are_read_to_the_letter_and_written_back() -> None:
    own, four = ["query_id", "doc_id", "relevance", "source"], "q 0 a 1\nq 0 b 0\n"
    five = "1501 0 shot1_2 1 1\n1501 0 shot1_3 02 -1\n1502 0 shot9_1 all 0\n"
    for text, columns in ((four, own), (five, [*own, "stratum"])):
        qrels = read_trec_qrels(put("qrels", text))
        assert set(qrels.columns) == set(columns)
        assert trec_qrels_text(qrels) == text
    assert list(qrels["stratum"]) == ["1", "02", "all"]
    assert list(qrels["relevance"]) == [1, -1, 0]
    table = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "stratum": ["1", None]})
    assert trec_qrels_text(check_qrels(table)) == "q 0 a 1 1\nq 0 b - 1\n"


def rows_of(read: Callable[[Path], Any], text: str, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a file with this text, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNote)
        found = read(put(Path(folder) / "f", text))
    return [*found[list(columns)].astype(dict.fromkeys(columns[:2], str)).itertuples(index=False, name=None)]


FIELDS = st.one_of(
    st.sampled_from(["q1", "007", "NA", "日本", '"', "a,b", "é", "1", "-1", "0", "1.0", "x y", "\u00a0", ""]),
    st.text(st.characters(codec="utf-8"), max_size=3),
)
LINES = st.lists(st.lists(FIELDS, min_size=3, max_size=6), max_size=5)


@given(LINES, st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=examples(300))
def test_what_is_read_is_what_stands_between_white_space(
    lines: list[list[str]], between: str, end: str, has_mark: bool
) -> None:
    text = end.join(between.join(line) for line in lines)
    try:
        found = rows_of(read_trec_qrels, "\ufeff" * has_mark + text, "query_id", "doc_id", "relevance")
    except FireError:
        return
    rows = [fields for line in text.split("\n") if (fields := line.split())]
    assert sorted((fields[0], fields[2], int(fields[-1])) for fields in rows) == sorted(found)


IDS = st.sampled_from(["#", "##x", "#1", "NA", "null", "007", '"', 'a"b', "'x'", "q", "é", "日"]) | st.text(
    '#"a0-,;', min_size=1, max_size=3
)


@given(
    st.dictionaries(st.tuples(IDS, IDS), st.integers(-9, 9), min_size=1, max_size=6),
    st.none() | st.lists(st.sampled_from(["", "s1", "#"]), min_size=6, max_size=6),
)
def test_qrels_with_hostile_ids_read_back_to_the_same_rows(
    grades: dict[tuple[str, str], int], strata: list[str] | None
) -> None:
    columns = dict(zip(("query_id", "doc_id"), zip(*grades, strict=True), strict=True))
    table = pd.DataFrame({**columns, "relevance": list(grades.values())})
    qrels = check_qrels(table if strata is None else table.assign(stratum=strata[: len(table)]))
    names = ["query_id", "doc_id", "relevance"]
    expected = [*qrels[names].itertuples(index=False, name=None)]
    assert rows_of(read_qrels, trec_qrels_text(qrels), *names) == expected


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6, unique=True))
def test_runs_with_hostile_ids_keep_every_row(pairs: list[tuple[str, str]]) -> None:
    lines = [f"{query} Q0 {doc} {n} {9 - n}.5 m\n" for n, (query, doc) in enumerate(pairs)]
    assert {*rows_of(read_run, "# a comment\n" + "".join(lines), "query_id", "doc_id")} == {*pairs}
