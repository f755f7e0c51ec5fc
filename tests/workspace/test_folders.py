"""A folder is written whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from fire_toolkit.errors import FireError
from fire_toolkit.workspace.manifests import write_folder


def test_files_and_subfolders_are_there_and_nothing_else(tmp_path: Path) -> None:
    write_folder(tmp_path / "made" / "1.0", {"a.txt": b"a", "data/b.txt": b"b"})
    assert (tmp_path / "made/1.0/data/b.txt").read_bytes() == b"b"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["1.0", "a.txt", "b.txt", "data", "made"]


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "1.0").mkdir()
    with pytest.raises(FireError, match=r"1\.0: is there already, and is not overwritten"):
        write_folder(tmp_path / "1.0", {"a.txt": b"a"})
    assert list((tmp_path / "1.0").iterdir()) == []


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FireError, match="cannot be written"):
        write_folder(tmp_path / "1.0", {"a": b"a", "a/b": b"b"})  # a is a file, and was to be a folder
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_kill_leaves_no_half_of_it_and_the_next_writer_clears_up(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from fire_toolkit.workspace.manifests import write_folder
class Killing(dict):
    def items(self):
        yield "a.txt", b"a"
        os.kill(os.getpid(), signal.SIGKILL)
write_folder(Path(sys.argv[1]), Killing())
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "1.0")], capture_output=True)
    assert done.returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".1.0-")
    write_folder(tmp_path / "1.0", {"a.txt": b"a"})
    assert [path.name for path in tmp_path.iterdir()] == ["1.0"]
