"""Pipes are read whole wherever a command reads a file; functions that would read them twice refuse them."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_bytes, sha256_of
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.trec import read_trec_run

# More than a pipe holds at once (64 KiB), so that a reader that opens it twice gets the rest only.
RUN = "".join(
    f"q{query} Q0 a-document-of-a-long-name-{doc} {doc + 1} {query + 1 / (doc + 1)!r} clip\n"
    for query in range(20)
    for doc in range(100)
)
QRELS = "".join(f"q{query} 0 a-document-of-a-long-name-{query % 2} 1\n" for query in range(20))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.run").write_text(RUN)
    (tmp_path / "q.txt").write_text(QRELS)
    return tmp_path


def pipe(path: str, content: bytes) -> str:
    """A FIFO of that name, into which `content` is written once."""
    os.mkfifo(path)
    threading.Thread(target=lambda: Path(path).write_bytes(content), daemon=True).start()
    return path


def done(*arguments: str) -> tuple[str, str]:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_a_piped_run_is_read_whole(folder: Path) -> None:
    done("add-run", "x.run", "--out", "named")
    _, said = done("add-run", pipe("p", gzip.compress(RUN.encode())), "--out", "piped")
    assert "p: a TREC run" in said
    assert "20 queries, 2,000 rows" in said
    assert Path("piped/clip.parquet").read_bytes() == Path("named/clip.parquet").read_bytes()
    inputs = json.loads(Path("piped/clip.parquet.manifest.json").read_text())["inputs"]
    assert list(inputs) == ["p"]


def test_runs_and_qrels_from_pipes_give_the_scores_of_the_files(folder: Path) -> None:
    from_files, _ = done("score", "m=x.run", "--qrels", "q.txt", "-m", "C@1", "--format", "csv")
    runs, qrels = pipe("r", RUN.encode()), pipe("q", QRELS.encode())
    from_pipes, _ = done("score", f"m={runs}", "--qrels", qrels, "-m", "C@1", "--format", "csv")
    assert "m,original,all,C@1,0.5\n" in from_files
    assert from_pipes == from_files


def test_ids_of_a_matrix_may_come_from_a_pipe(folder: Path) -> None:
    import numpy as np

    np.save("m.npy", np.array([[1.0, 2.0]]))
    done(
        "add-run", "m.npy", "--query-ids", pipe("q", b"a\n"), "--doc-ids", pipe("d", b"x\ny\n"), "--out", "o"
    )
    run = read_run("o/m.parquet")
    assert list(zip(run["query_id"], run["doc_id"], strict=True)) == [("a", "y"), ("a", "x")]


def test_an_error_names_the_pipe_and_nothing_is_left_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "kept").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "kept"))
    result = CliRunner().invoke(main, ["score", pipe("p", b"q Q0 d 1\n"), "--qrels", "q.txt"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: p:1: 4 fields")
    assert list((folder / "kept").iterdir()) == []


@pytest.mark.parametrize(
    "read",
    [read_run, read_trec_run, read_qrels, read_bytes, sha256_of, lambda path: read_collection([path])],
)
def test_functions_refuse_a_pipe_rather_than_read_the_rest_of_it(
    read: Callable[[Path], object], folder: Path
) -> None:
    os.mkfifo("p")
    with pytest.raises(FireError, match=r"p: a pipe or a device, expected a file"):
        read(Path("p"))


def test_a_device_without_an_end_is_refused() -> None:
    with pytest.raises(FormatError, match=r"/dev/zero: a pipe or a device"):
        read_run("/dev/zero")
