"""A file is a path on a disk: pipes, devices and addresses are refused, since they would be read twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import run

from examples import cases


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "x.run").write_text("q0 Q0 d1 1 2.0 clip\n")
    (here / "q.txt").write_text("q0 0 d1 1\n")
    return here


@cases("words")
def test_commands_refuse_a_pipe_and_an_address(words: tuple[str, ...], folder: Path) -> None:
    os.mkfifo("p")
    pipe = "a pipe or a device, expected a file; save its output as one first"
    address = "an address, expected a file; download it first"
    places = {"p": pipe, "/dev/zero": pipe}
    places |= dict.fromkeys(("s3://lab/runs/clip.npy", "gs://lab/clip.npy", "https://host/clip.npy"), address)
    for place, said in places.items():
        named = [word.replace("p", place) if word in ("p", "m=p") else word for word in words]
        assert run(*named, code=1).stderr.endswith(f"error: {place}: {said}\n")
    assert sorted(path.name for path in folder.iterdir()) == ["p", "q.txt", "x.run"]


@cases("words", "name")
def test_standard_input_is_read_as_the_file_would_be(words: tuple[str, ...], name: str, folder: Path) -> None:
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\nq0,d2,relevant,1\n")
    answers = "A,q0,d1,relevant\nB,q0,d1,relevant\nA,q0,d2,irrelevant\nB,q0,d2,relevant\n"
    (folder / "judgments.csv").write_text("annotator_id,query_id,doc_id,label\n" + answers)
    by_name = run(*[name if word == "-" else word for word in words])
    piped = run(*words, stdin=(folder / name).read_bytes())
    assert piped.stdout == by_name.stdout
    if (folder / "new.txt").is_file():
        assert "q0 0 d2 1\n" in (folder / "new.txt").read_text()


def test_what_is_printed_into_a_file_is_utf_8_whatever_the_locale_is(folder: Path) -> None:
    code = "from fire_toolkit.cli import main; main(['measures', 'RBP'])"
    environ = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ, check=True)
    assert "(1 \N{MINUS SIGN} p) \N{GREEK CAPITAL LETTER SIGMA} p^(rank" in done.stdout.decode()
