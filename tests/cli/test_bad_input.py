"""Bad input gives one clear line and exit code 1, and leaves nothing half-written."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command import Fire

import fire_toolkit


def error_line(result: Result) -> str:
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, result.output
    return lines[0]


RUN_FILES = {
    "empty": (b"", "run: empty file, expected at least one line"),
    "five fields": (b"1 Q0 a 1 9 m\n1 Q0 b 2 m\n", "run:2: 5 fields, expected 6 (query_id Q0 doc_id"),
    "a space in an id": (b"1 Q0 a b 1 9 m\n", "run:1: 7 fields, expected 6"),
    "NaN": (b"1 Q0 a 1 nan m\n", "run:1: score 'nan', expected a finite number"),
    "infinity": (b"1 Q0 a 1 9 m\n1 Q0 b 2 -inf m\n", "run:2: score '-inf', expected a finite number"),
    "words": (b"1 Q0 a 1 high m\n", "run:1: score 'high' is not a number"),
    "twice": (b"1 Q0 a 1 9 m\n1 Q0 a 2 8 m\n", "run: run_id, query_id, doc_id given twice (1 rows; m 1 a)"),
    "two runs": (b"1 Q0 a 1 9 m\n1 Q0 b 2 8 n\n", "2 run ids in one file (m, n), expected one"),
    "not UTF-8": (b"1 Q0 \xff 1 9 m\n", "run:1: byte 0xff is not UTF-8"),
    "cut gzip": (b"\x1f\x8b\x08\x00abc", "run: damaged gzip file"),
    "NUL": (b"1 Q0 a\x00 1 9 m\n", "run:1: a NUL byte"),
    "another collection": (b"x Q0 a 1 9 m\n", "is it a run for another "),
}


@pytest.mark.parametrize("name", RUN_FILES)
@pytest.mark.parametrize("command", ["pool", "score"])
def test_a_bad_run_file(fire: Fire, folder: Path, name: str, command: str) -> None:
    content, expected = RUN_FILES[name]
    (folder / "run").write_bytes(content)
    options = ("--qrels", "qrels.txt", *(("--out", "out") if command == "pool" else ("-m", "C@1")))
    line = error_line(fire(command, "run", *options, code=1))
    assert expected in line
    assert not (folder / "out").exists()


def test_a_matrix_with_nan(fire: Fire, folder: Path) -> None:
    sims = np.ones((2, 3))
    sims[1, 2] = np.nan
    np.savez(folder / "m.npz", sims=sims, query_ids=["1", "2"], doc_ids=["a", "b", "c"])
    line = error_line(fire("pool", "m.npz", "--out", "out", code=1))
    assert "row 1, column 2" in line
    assert "query 2, doc c" in line


@pytest.mark.parametrize(
    ("shape", "ids", "expected"),
    [
        ((4, 2), "abc", "shape 4 × 2, but 2 query ids and 3 doc ids; expected queries × docs"),
        ((2, 3), "aba", "'a' is given twice"),
        ((2, 3), "", "no query ids and doc ids"),
    ],
)
def test_a_matrix_that_does_not_fit_its_ids(
    fire: Fire, folder: Path, shape: tuple[int, int], ids: str, expected: str
) -> None:
    named = {"query_ids": ["1", "2"], "doc_ids": list(ids)} if ids else {}
    np.savez(folder / "m.npz", sims=np.ones(shape), **named)
    assert expected in error_line(fire("pool", "m.npz", "--out", "out", code=1))


def test_a_cut_off_matrix(fire: Fire, folder: Path) -> None:
    np.save(folder / "m.npy", np.ones((2, 3)))
    (folder / "m.npy").write_bytes((folder / "m.npy").read_bytes()[:-5])
    (folder / "m.query_ids.txt").write_text("1\n2\n")
    (folder / "m.doc_ids.txt").write_text("a\nb\nc\n")
    assert "truncated" in error_line(fire("pool", "m.npy", "--out", "out", code=1))
    np.savez(folder / "m.npz", sims=np.ones((2, 3)), query_ids=["1", "2"], doc_ids=["a", "b", "c"])
    (folder / "m.npz").write_bytes((folder / "m.npz").read_bytes()[:-50])
    assert "m.npz: damaged" in error_line(fire("pool", "m.npz", "--out", "out", code=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 0 a\n", "q.txt:1: 3 fields, expected 4 or 5"),
        ("1 0 a 1\n1 0 b x\n", "q.txt:2: relevance 'x', expected a whole number"),
        ("1 0 a 1\n1 0 a 1\n", "query_id, doc_id given twice"),
        ("1 0 a 1\n1 0 b 0 1\n", "q.txt:2: 5 fields, expected 4 as on the first line"),
        ("", "q.txt: empty file"),
    ],
)
def test_bad_qrels(fire: Fire, folder: Path, text: str, expected: str) -> None:
    (folder / "q.txt").write_text(text)
    line = error_line(fire("score", "clip.run", "--qrels", "q.txt", "-m", "C@1", code=1))
    assert expected in line


def test_an_unknown_measure(fire: Fire) -> None:
    line = error_line(fire("score", "clip.run", "--qrels", "qrels.txt", "-m", "nDGC@10", code=1))
    assert "did you mean" in line


def test_a_label_that_the_guideline_does_not_know(fire: Fire, folder: Path) -> None:
    text = (folder / "judgments.csv").read_text().replace("irrelevant", "unrelated")
    (folder / "judgments.csv").write_text(text)
    for command in (["resolve", "judgments.csv", "--out", "out"], ["agree", "judgments.csv"]):
        line = error_line(fire(*command, code=1))
        assert "unrelated" in line
        assert "caption-relevance-v1" in line
    assert not (folder / "out").exists()


def test_labels_of_no_guideline_can_be_compared_but_not_resolved(fire: Fire, folder: Path) -> None:
    (folder / "j.csv").write_text(
        "query_id,doc_id,annotator_id,label\n1,a,x,cat\n1,a,y,cat\n1,b,x,dog\n1,b,y,dog\n"
    )
    assert ",alpha,nominal,1.0,2,2,2," in fire("agree", "j.csv", "--format", "csv").stdout
    assert "name their guideline" in error_line(fire("resolve", "j.csv", "--out", "out", code=1))


def test_an_id_that_joins_nothing(fire: Fire, folder: Path) -> None:
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\nother,a,relevant,1\n")
    files = ("--qrels", "qrels.txt", "--labels", "labels.csv", "--out", "out.txt")
    assert "not in the original qrels (other)" in error_line(fire("augment", *files, code=1))
    fire("pool", "clip.run", "--out", "pool")
    (folder / "queries.tsv").write_text("query_id\ttext\n1\tone\n")
    options = ("--queries", "queries.tsv", "--out", "tasks.json")
    assert "1 of 2" in error_line(fire("tasks", "pool", *options, code=1))
    assert not (folder / "out.txt").exists()
    assert not (folder / "tasks.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("export.json", '[{"id": 1, "caption": "x", "relevance": "relevant"}]', "JSON_MIN"),
        ("export.csv", "id,caption,relevance\n1,x,relevant\n", "it leaves out skips, drafts"),
        ("export.json", '{"tasks": []}', "expected"),
        ("export.json", '[{"id": 1, "data": {"caption": "x"}, "annotations": []}]', "pair_id"),
    ],
)
def test_an_export_of_another_form(fire: Fire, folder: Path, name: str, content: str, expected: str) -> None:
    (folder / name).write_text(content)
    assert expected in error_line(fire("import", name, "--out", "j.csv", code=1))
    assert not (folder / "j.csv").exists()


def test_files_and_folders_that_are_not_there_or_not_what_was_meant(fire: Fire, folder: Path) -> None:
    assert "none.run: no such file" in error_line(fire("pool", "none.run", "--out", "out", code=1))
    (folder / "out").write_text("a file")
    assert "out: is a file, expected a folder" in error_line(fire("pool", "clip.run", "--out", "out", code=1))
    (folder / "dir").mkdir()
    line = error_line(fire("score", "clip.run", "--qrels", "qrels.txt", "--out", "dir", code=1))
    assert "dir: is a folder" in line


def test_a_folder_that_cannot_be_written(fire: Fire, folder: Path) -> None:
    line = error_line(fire("pool", "clip.run", "--out", "/proc/nowhere/pool", code=1))
    assert "cannot be written" in line


def test_what_stood_there_is_kept_when_a_command_fails(fire: Fire, folder: Path) -> None:
    fire("pool", "clip.run", "--out", "out")
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    (folder / "clip.run").write_text("1 Q0 a\n")
    fire("pool", "clip.run", "--out", "out", code=1)
    assert before == {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_values_out_of_range_are_usage_errors(fire: Fire) -> None:
    fire("pool", "clip.run", "--depth", -1, "--out", "out", code=2)
    nothing = fire("pool", "clip.run", "--depth", 0, "--out", "out", code=1)
    assert error_line(nothing) == "error: depth 0, expected 1 or more"
    fire("tasks", "pool", "--overlap", 1.5, "--out", "t.json", code=2)
    assert "strictly between 0 and 1" in error_line(
        fire("compare", "clip.run", "ssb.run", "--rbo-p", 1.0, code=1)
    )


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--tell", "nan"),
        ("plan", "--within", "nan"),
        ("pool", "--deep-queries", "nan"),
        ("tasks", "pool", "--overlap", "NaN"),
    ],
)
def test_nan_is_in_no_range(fire: Fire, words: tuple[str, ...]) -> None:
    done = fire(*words, code=2)
    assert "is not a number" in done.stderr


def test_every_range_refuses_nan() -> None:
    own = Path(fire_toolkit.__file__).parent
    assert [path.name for path in own.rglob("*.py") if "type=click.FloatRange" in path.read_text()] == []
