"""One command at a time writes in a workspace, also where the one before was killed."""

import errno
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from unittest.mock import Mock

import pytest

from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FireError
from fire_toolkit.workspace.database import content_sha256
from fire_toolkit.workspace.locks import LOCK, hold_workspace

HOLD = """
import sys
from pathlib import Path
from fire_toolkit.workspace.locks import hold_workspace
with hold_workspace(Path(sys.argv[1]), "push"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the workspace until its stdin is closed."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_is_told_of_the_first_a_kill_frees_it(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    lock = tmp_path / LOCK
    with pytest.raises(FireError) as caught, hold_workspace(tmp_path, "pull", wait_s=0):
        pytest.fail("both are in")
    words = rf"push` \(pid {holder.pid} on \S+, since \d{{4}}-\d\d-\d\d [\d:]{{8}} UTC\) is writing here"
    assert re.search(words, str(caught.value))
    assert (caught.value.exit_code, "\n" in str(caught.value)) == (1, False)
    lock.write_text("`fire-toolkit pu")  # damaged, it still refuses
    with pytest.raises(FireError, match="another command is writing here"):
        hold_workspace(tmp_path, "pull", wait_s=0).__enter__()
    holder.kill()
    holder.wait()
    assert lock.read_text() != ""  # what the killed one left, which holds nobody back
    with hold_workspace(tmp_path, "pull", wait_s=0):
        pass
    assert lock.read_text() == ""


def test_a_second_one_waits_and_says_once_for_whom(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    said: list[str] = []

    def report(words: str) -> None:
        said.append(words)
        assert holder.stdin is not None
        holder.stdin.close()

    with hold_workspace(tmp_path, "pull", wait_s=1e6, report=report):
        assert holder.wait() == 0
    assert len(said) == 1
    assert said[0].startswith(f"waiting for `fire-toolkit push` (pid {holder.pid} on ")


def test_many_threads_and_nested_commands_are_in_one_after_another(tmp_path: Path) -> None:
    inside: list[int] = []

    def work(number: int) -> int:
        with hold_workspace(tmp_path, "a", wait_s=1e6), hold_workspace(tmp_path / ".", "b", wait_s=0):
            inside.append(number)
            most = len(inside)
            time.sleep(0.02)
            inside.remove(number)
        return most

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(work, range(6))) == [1] * 6


def test_a_folder_without_locks_is_said_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    with hold_workspace(tmp_path, "push", report=said.append):
        pass
    assert said == ["note: the file system keeps no locks here; run one command at a time"]


@pytest.mark.slow
def test_what_is_written_after_another_process_closed_the_record_is_there(tmp_path: Path) -> None:
    """To open and close the file ends SQLite's locks; the other process would then delete the log."""
    path = tmp_path / "campaign.sqlite"
    code = f"import pathlib, fire_toolkit.campaign.store as s; s.Store(pathlib.Path({str(path)!r})).close()"
    read = [sys.executable, "-c", code]
    record = {"kind": "consent", "annotator": "A01", "key": "k1"}
    with Store(path) as first:
        first.add_page_records(record)
    with Store(path) as held:
        held.page_records()
        with Store(path) as again:
            again.page_records()
        content_sha256(path)
        subprocess.run(read, check=True)
        held.add_page_records(record | {"key": "k2"})
        with Store(path) as other:
            seen = [each["key"] for each in other.page_records()]
        subprocess.run(read, check=True)
    assert seen == ["k1", "k2"]
