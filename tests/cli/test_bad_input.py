"""Bad input gives one clear line and its exit code, and leaves nothing half-written."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command import Fire

import fire_toolkit
from examples import cases


def error_line(result: Result) -> str:
    lines = [line for line in result.stderr.splitlines() if line.lower().startswith("error: ")]
    assert len(lines) == 1, result.output
    return lines[0]


RELEASE = Path(__file__).parents[1] / "golden/fire-release/release.json"


@cases("typed", "said", "code")
def test_what_cannot_be_typed_is_refused(fire: Fire, folder: Path, typed: str, said: str, code: int) -> None:
    before = sorted(folder.iterdir())
    assert said in error_line(fire(*shlex.split(typed.replace("RELEASE", str(RELEASE))), code=code))
    assert sorted(folder.iterdir()) == before


def test_a_bad_qrels_file(fire: Fire, folder: Path) -> None:
    for text, expected in (("1 0 a\n", "q.txt:1: 3 fields, expected 4 or 5"), ("", "q.txt: empty file")):
        (folder / "q.txt").write_text(text)
        assert expected in error_line(fire("score", "clip.run", "--qrels", "q.txt", "-m", "C@1", code=1))


@cases("content", "expected")
@pytest.mark.parametrize("command", ["pool", "score"])
def test_a_bad_run_file(fire: Fire, folder: Path, content: str, expected: str, command: str) -> None:
    (folder / "run").write_bytes(content.encode("latin-1"))
    options = ("--qrels", "qrels.txt", *(("--out", "out") if command == "pool" else ("-m", "C@1")))
    assert expected in error_line(fire(command, "run", *options, code=1))
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("sims", "ids", "expected"),
    [
        (np.ones((4, 2)), "abc", "shape 4 × 2, but 2 query ids and 3 doc ids; expected queries × docs"),
        (np.ones((2, 3)), "aba", "'a' is given twice"),
        (np.ones((2, 3)), "", "no query ids and doc ids"),
        ([[1, 1, 1], [1, 1, np.nan]], "abc", "1 score is NaN (the first at query 2, doc c)"),
    ],
)
def test_a_matrix_that_is_no_run(fire: Fire, folder: Path, sims: object, ids: str, expected: str) -> None:
    named = {"query_ids": ["1", "2"], "doc_ids": list(ids)} if ids else {}
    np.savez(folder / "m.npz", sims=sims, **named)
    assert expected in error_line(fire("pool", "m.npz", "--out", "out", code=1))


def test_a_cut_off_matrix(fire: Fire, folder: Path) -> None:
    np.save(folder / "m.npy", np.ones((2, 3)))
    np.savez(folder / "m.npz", sims=np.ones((2, 3)), query_ids=["1", "2"], doc_ids=["a", "b", "c"])
    (folder / "m.query_ids.txt").write_text("1\n2\n")
    (folder / "m.doc_ids.txt").write_text("a\nb\nc\n")
    for name, lost, expected in (("m.npy", 5, "truncated"), ("m.npz", 50, "m.npz: damaged")):
        (folder / name).write_bytes((folder / name).read_bytes()[:-lost])
        assert expected in error_line(fire("pool", name, "--out", "out", code=1))


def test_a_label_that_the_guideline_does_not_know(fire: Fire, folder: Path) -> None:
    judged = (folder / "judgments.csv").read_text()
    (folder / "judgments.csv").write_text(judged.replace("irrelevant", "unrelated"))
    for command in (["resolve", "judgments.csv", "--out", "out"], ["agree", "judgments.csv"]):
        line = error_line(fire(*command, code=1))
        assert "unrelated" in line
        assert "caption-relevance-v1" in line
    assert not (folder / "out").exists()


def test_labels_of_no_guideline_can_be_compared_but_not_resolved(fire: Fire, folder: Path) -> None:
    answers = "1,a,x,cat\n1,a,y,cat\n1,b,x,dog\n1,b,y,dog\n"
    (folder / "j.csv").write_text("query_id,doc_id,annotator_id,label\n" + answers)
    assert ",alpha,nominal,1.0,2,2,2," in fire("agree", "j.csv", "--format", "csv").stdout
    assert "a column guideline, or --guideline" in error_line(
        fire("resolve", "j.csv", "--out", "out", code=1)
    )


def test_an_id_that_joins_nothing(fire: Fire, folder: Path) -> None:
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\nother,a,relevant,1\n")
    files = ("--qrels", "qrels.txt", "--labels", "labels.csv", "--out", "out.txt")
    told = error_line(fire("augment", *files, code=1))
    assert "not in the original qrels (other)" in told
    assert "bring these queries back, or give labels without them, as in --labels FILE" in told
    fire("pool", "clip.run", "--out", "pool")
    (folder / "queries.tsv").write_text("query_id\ttext\n1\tone\n")
    options = ("--queries", "queries.tsv", "--out", "tasks.json")
    assert "queries: 1 of 2 pooled ids are not in it (2)" in error_line(
        fire("tasks", "pool", *options, code=1)
    )
    assert not (folder / "out.txt").exists()
    assert not (folder / "tasks.json").exists()


def test_what_stood_there_is_kept_when_a_command_fails(fire: Fire, folder: Path) -> None:
    fire("pool", "clip.run", "--out", "out")
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    (folder / "clip.run").write_text("1 Q0 a\n")
    fire("pool", "clip.run", "--out", "out", code=1)
    assert before == {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_every_range_refuses_nan() -> None:
    own = Path(fire_toolkit.__file__).parent
    assert [path.name for path in own.rglob("*.py") if "type=click.FloatRange" in path.read_text()] == []
