"""Comments and trailing fields in TREC text, as trec_eval 10 takes them, and what is said of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from fire_toolkit import read_qrels, read_run
from fire_toolkit.cli import main
from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.formats.runs.trec import is_trec_run

PLAIN = "q1 Q0 a 1 0.9 m\nq1 Q0 b 2 0.8 m\nq2 Q0 a 1 0.7 m\n"
LONGER = "".join(f"{line} 0.5 x\n" for line in PLAIN.splitlines())
COMMENTED = "# made by a script\n#run\n" + PLAIN.replace("q2", "  # of six fields in it all\nq2", 1)
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
    (tmp_path / "q.txt").write_text("# query 0 doc grade\n#\n" + QRELS + "# a 0 b\n")
    with pytest.warns(FileNote, match="q.txt: left out 3 lines that start with #"):
        found = read_qrels(tmp_path / "q.txt")
    assert found.equals(read_qrels(tmp_path / "plain.txt"))


def test_ids_with_a_hash_stay_ids_and_are_said(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("#cats 0 a 1\n#dogs 0 a 1\n")
    with pytest.warns(FileNote, match="2 lines start with # and have the fields of data"):
        assert list(read_qrels(tmp_path / "q.txt")["query_id"]) == ["#cats", "#dogs"]


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
    result = CliRunner().invoke(main, ["score", names[0], "--qrels", names[1], "-m", "C@1"])
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("a.run: left out 3 lines that start with #") == 1


def test_nothing_but_comments_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "m.run").write_text("# made by a script\n")
    with pytest.warns(FileNote), pytest.raises(FormatError, match="nothing but comments"):
        read_run(tmp_path / "m.run")
