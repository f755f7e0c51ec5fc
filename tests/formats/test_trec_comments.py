"""Comments above the first row of TREC text, ids with #, trailing fields, and what is said of them."""

import gzip
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from command import run
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.trec import is_trec_run, trec_qrels_text
from fire_toolkit.tables import check_qrels

PLAIN = "q1 Q0 a 1 0.9 m\nq1 Q0 b 2 0.8 m\nq2 Q0 a 1 0.7 m\n"
LONGER = "".join(f"{line} 0.5 x\n" for line in PLAIN.splitlines())
COMMENTED = "# made by a script\n#run\n\n  # of six fields in it all\n" + PLAIN
QRELS = "q1 0 a 1\nq2 0 a 0\n"


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
def test_runs(tmp_path: Path, text: str, note: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "plain.run").write_text(PLAIN if "q2 Q0 b" not in text else PLAIN + "q2 Q0 b 2 0.6 m\n")
    (tmp_path / "a.run").write_bytes(pack(text.encode()))
    with pytest.warns(FileNote, match=note):
        found = read_run(tmp_path / "a.run")
    expected = read_run(tmp_path / "plain.run")
    assert found.astype({"run_id": str}).equals(expected.astype({"run_id": str}))
    assert is_trec_run(text.encode(), tmp_path)


def test_qrels(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text(QRELS)
    (tmp_path / "q.txt").write_text("# query 0 doc grade\n#\n# q9 0 a 1\n" + QRELS)
    with pytest.warns(FileNote, match="q.txt: left out 3 lines that start with #"):
        found = read_qrels(tmp_path / "q.txt")
    assert found.equals(read_qrels(tmp_path / "plain.txt"))


@pytest.mark.parametrize("separator", [" ", "  "])  # read fast, and line by line
def test_ids_with_a_hash_stay_ids_and_are_said(tmp_path: Path, separator: str) -> None:
    rows = ["#cats 0 a 1", "# 0 a 1", "q 0 #a 1", "##dogs 0 a 1"]
    (tmp_path / "q.txt").write_text("".join(f"{row}\n" for row in rows).replace(" ", separator))
    with pytest.warns(FileNote, match="3 lines start with # and have the fields of data"):
        found = read_qrels(tmp_path / "q.txt")
    assert {*zip(found["query_id"], found["doc_id"], strict=True)} == {
        ("#cats", "a"), ("#", "a"), ("q", "#a"), ("##dogs", "a"),
    }  # fmt: skip


@pytest.mark.parametrize("separator", [" ", "  "])
def test_a_comment_below_the_first_row_is_refused_with_its_line(tmp_path: Path, separator: str) -> None:
    (tmp_path / "q.txt").write_text("q1 0 a 1\n# the rest\nq2 0 a 1\n".replace(" ", separator))
    with pytest.raises(FormatError, match=r"q\.txt:2: 3 fields, expected 4 as on the first line"):
        read_qrels(tmp_path / "q.txt")
    (tmp_path / "a.run").write_text(PLAIN.replace("q2", "# the rest\nq2", 1).replace(" ", separator))
    with pytest.raises(FormatError, match=r"a\.run:3: 3 fields, expected 6"):
        read_run(tmp_path / "a.run")


IDS = st.sampled_from(["#", "##x", "#1", "NA", "null", "007", '"', 'a"b', "'x'", "q", "é"]) | st.text(
    '#"a0-,;', min_size=1, max_size=3
)


@given(
    st.dictionaries(st.tuples(IDS, IDS), st.integers(-1, 3), min_size=1, max_size=6),
    st.none() | st.lists(st.sampled_from(["", "s1", "#"]), min_size=6, max_size=6),
)
def test_qrels_with_hostile_ids_read_back_to_the_same_rows(
    grades: dict[tuple[str, str], int], strata: list[str] | None
) -> None:
    columns = dict(zip(("query_id", "doc_id"), zip(*grades, strict=True), strict=True))
    table = pd.DataFrame({**columns, "relevance": list(grades.values())})
    qrels = check_qrels(table if strata is None else table.assign(stratum=strata[: len(table)]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNote)
        path = Path(folder) / "q.txt"
        path.write_text(trec_qrels_text(qrels))
        found = read_qrels(path)
        rows = [*zip(*(qrels[name] for name in ("query_id", "doc_id", "relevance")), strict=True)]
        assert [*zip(*(found[name] for name in ("query_id", "doc_id", "relevance")), strict=True)] == rows


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6, unique=True))
def test_runs_with_hostile_ids_keep_every_row(pairs: list[tuple[str, str]]) -> None:
    lines = [f"{query} Q0 {doc} {n} {9 - n}.5 m\n" for n, (query, doc) in enumerate(pairs)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNote)
        path = Path(folder) / "a.run"
        path.write_text("# a comment\n" + "".join(lines))
        run = read_run(path)
    assert {*zip(run["query_id"].astype(str), run["doc_id"].astype(str), strict=True)} == {*pairs}


def test_an_id_with_a_space_is_no_trailing_field(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 my doc 1 0.9 m\n")
    with pytest.raises(FormatError, match="7 fields, expected 6"):
        read_run(tmp_path / "a.run")
    (tmp_path / "q.txt").write_text("q1 0 my doc a 1\n")
    with pytest.raises(FormatError):
        read_qrels(tmp_path / "q.txt")


def test_commands_say_it_once(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(COMMENTED)
    (tmp_path / "q.txt").write_text(QRELS)
    names = [str(tmp_path / name) for name in ("a.run", "q.txt")]
    result = run("score", names[0], "--qrels", names[1], "-m", "C@1")
    assert result.stderr.count("a.run: left out 3 lines that start with #") == 1


def test_nothing_but_comments_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "m.run").write_text("# made by a script\n")
    with pytest.warns(FileNote), pytest.raises(FormatError, match="nothing but comments"):
        read_run(tmp_path / "m.run")
