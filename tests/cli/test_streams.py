"""A file is a path on a disk: pipes, devices and addresses are refused, since they would be read twice."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command import run

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_bytes, sha256_of
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.trec import read_trec_run

RUN = "q0 Q0 d1 1 2.0 clip\n"
QRELS = "q0 0 d1 1\n"


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "x.run").write_text(RUN)
    (here / "q.txt").write_text(QRELS)
    return here


@pytest.mark.parametrize(
    "words",
    [
        ("add-run", "p", "--out", "runs"),
        ("score", "m=p", "--qrels", "q.txt"),
        ("score", "x.run", "--qrels", "p"),
        ("add-collection", "p", "--out", "made"),
    ],
)
def test_commands_refuse_a_pipe_and_an_address(words: tuple[str, ...], folder: Path) -> None:
    os.mkfifo("p")
    refused = run(*words, code=1)
    assert refused.stderr.endswith(
        "error: p: a pipe or a device, expected a file; save what it gives in a file first\n"
    )
    for address in ("s3://lab/runs/clip.npy", "gs://lab/clip.npy", "https://host/clip.npy"):
        named = [word.replace("p", address) if word in ("p", "m=p") else word for word in words]
        refused = run(*named, code=1)
        assert refused.stderr.endswith(f"error: {address}: an address, expected a file; download it first\n")
    assert sorted(path.name for path in folder.iterdir()) == ["p", "q.txt", "x.run"]


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


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("score", "-", "--qrels", "q.txt", "-m", "C@1"), "x.run"),
        (("score", "x.run", "--qrels", "-", "-m", "C@1"), "q.txt"),
        (("augment", "--qrels", "q.txt", "--labels", "-", "--out", "new.txt"), "labels.csv"),
        (("agree", "-"), "judgments.csv"),
    ],
)
def test_standard_input_is_read_as_the_file_would_be(words: tuple[str, ...], name: str, folder: Path) -> None:
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\nq0,d2,relevant,1\n")
    answers = "A,q0,d1,relevant\nB,q0,d1,relevant\nA,q0,d2,irrelevant\nB,q0,d2,relevant\n"
    (folder / "judgments.csv").write_text("annotator_id,query_id,doc_id,label\n" + answers)
    by_name = run(*[name if word == "-" else word for word in words])
    piped = run(*words, stdin=(folder / name).read_bytes())
    assert piped.stdout == by_name.stdout
    if (folder / "new.txt").is_file():
        assert "q0 0 d2 1\n" in (folder / "new.txt").read_text()
