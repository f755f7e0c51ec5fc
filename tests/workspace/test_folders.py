"""A folder is written whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from fire_toolkit.errors import FireError
from fire_toolkit.workspace.manifests import write_files, write_folder


def test_a_folder_has_its_files_alone_and_one_that_is_there_is_not_touched(tmp_path: Path) -> None:
    write_folder(tmp_path / "made" / "1.0", [("a.txt", b"a"), ("data/b.txt", b"b")])
    assert (tmp_path / "made/1.0/data/b.txt").read_bytes() == b"b"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["1.0", "a.txt", "b.txt", "data", "made"]
    (tmp_path / "1.0").mkdir()
    with pytest.raises(FireError, match=r"1\.0: already exists, and is not overwritten"):
        write_folder(tmp_path / "1.0", [("a.txt", b"a")])
    assert list((tmp_path / "1.0").iterdir()) == []


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FireError, match="cannot be written"):
        write_folder(tmp_path / "1.0", [("a", b"a"), ("a/b", b"b")])  # a is a file, and was to be a folder
    assert list(tmp_path.iterdir()) == []


KILLED_ANYWHERE = """
import os, signal, sys
from pathlib import Path
from fire_toolkit.workspace import manifests
from fire_toolkit.workspace.manifests import Manifest, MANIFEST, write_folder
out, can_exchange = Path(sys.argv[1]), sys.argv[2] == "exchange"
if not can_exchange:
    manifests.exchange = lambda one, other: False

def write(words):
    names = {"index.html": words, f"data/{words}.js": words}
    manifest = Manifest("gallery", "1", {}, {}, dict.fromkeys(names, ""))
    contents = [(name, text.encode()) for name, text in names.items()]
    write_folder(out, [*contents, (MANIFEST, manifest.as_bytes())], replaces="gallery")

def found():
    if not out.exists():
        return "none"
    text = (out / "index.html").read_text()
    assert sorted(os.listdir(out / "data")) == [f"{text}.js"], os.listdir(out / "data")
    return text

def killed_at(step):
    child = os.fork()
    if child == 0:
        seen = 0
        def watch(event, arguments):
            nonlocal seen
            if event in STEPS and str(out.parent) in str(arguments):
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(watch)
        write("new")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

STEPS = {"open", "os.mkdir", "os.rename", "os.rmdir", "os.remove", "os.scandir", "shutil.rmtree"}
states, step, is_killed = [], 1, True
write("old")
while is_killed:
    is_killed = killed_at(step)
    states.append(found())
    write("old")
    assert found() == "old" and os.listdir(out.parent) == [out.name], os.listdir(out.parent)
    step += 1
print(" ".join(states))
"""


def states_after_kills(place: Path, way: str) -> list[str]:
    command = [sys.executable, "-c", KILLED_ANYWHERE, str(place / "gallery"), way]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_a_folder_killed_at_any_step_is_the_old_or_the_new(tmp_path: Path) -> None:
    states = states_after_kills(tmp_path, "exchange")
    n_old = states.count("old")
    assert states == ["old"] * n_old + ["new"] * (len(states) - n_old)
    assert n_old > 5
    assert len(states) - n_old > 3  # killed while what was before is removed, and not at all


@pytest.mark.slow
def test_without_an_exchange_the_next_writer_puts_the_old_folder_back(tmp_path: Path) -> None:
    states = states_after_kills(tmp_path, "renames")
    assert states.count("none") == 1  # between the two renames
    assert states[-1] == "new"


def test_what_a_killed_writer_moved_away_is_put_back_and_files_are_written_beside_it(tmp_path: Path) -> None:
    moved = tmp_path / ".gallery-999999999.moved.tmp"
    moved.mkdir()
    (moved / "index.html").write_text("old")
    (tmp_path / ".report-999999999.tmp").mkdir()
    write_files({tmp_path / "report.html": b"report"})
    write_folder(tmp_path / "other", [("a", b"a")])
    assert (tmp_path / "gallery/index.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gallery", "other", "report.html"]
