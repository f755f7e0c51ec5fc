"""One command at a time writes in a workspace, also where the one before was killed."""

import errno
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fire_toolkit.campaign.store import Store
from fire_toolkit.workspace import locks
from fire_toolkit.workspace.database import content_sha256
from fire_toolkit.workspace.locks import LOCK, Busy, hold_workspace

HOLD = """
import sys
from pathlib import Path
from fire_toolkit.workspace.locks import hold_workspace
with hold_workspace(Path(sys.argv[1]), "push"):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(root: Path) -> subprocess.Popen[str]:
    """Start a process that holds the workspace until its stdin is closed."""
    command = [sys.executable, "-c", HOLD, str(root)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()


def test_a_second_one_is_refused_with_who_holds_it_and_a_kill_frees_it(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    try:
        with pytest.raises(Busy) as caught, hold_workspace(tmp_path, "pull", wait_s=0):
            pytest.fail("both are in")
        words = rf"push` \(pid {holder.pid} on \S+, since \d{{4}}-\d\d-\d\d [\d:]{{8}} UTC\) is writing here"
        assert re.search(words, str(caught.value))
        assert caught.value.exit_code == 1
        assert "\n" not in str(caught.value)
    finally:
        end(holder)
    assert (tmp_path / LOCK).read_text() != ""  # what the killed one wrote, which holds nobody back
    with hold_workspace(tmp_path, "pull", wait_s=0):
        pass
    assert (tmp_path / LOCK).read_text() == ""


def test_a_second_one_waits_and_says_once_for_whom(tmp_path: Path) -> None:
    holder, said = start_holder(tmp_path), list[str]()

    def report(words: str) -> None:
        said.append(words)
        assert holder.stdin is not None
        holder.stdin.close()

    try:
        with hold_workspace(tmp_path, "pull", wait_s=1e6, report=report):
            assert holder.wait() == 0
    finally:
        end(holder)
    assert len(said) == 1
    assert said[0].startswith(f"waiting for `fire-toolkit push` (pid {holder.pid} on ")


def test_many_threads_and_nested_commands_are_in_one_after_another(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with hold_workspace(tmp_path, "a", wait_s=1e6), hold_workspace(tmp_path / ".", "b", wait_s=0):
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.02)
            inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 6


def test_a_folder_that_cannot_be_locked_is_said_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", refuse)
    said: list[str] = []
    with hold_workspace(tmp_path, "push", report=said.append):
        pass
    assert said == ["note: the file system keeps no locks here; run one command at a time"]


def test_a_damaged_lock_still_refuses(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    try:
        (tmp_path / LOCK).write_text('{"pid": ')
        with pytest.raises(Busy, match="another command is writing here"):
            hold_workspace(tmp_path, "pull", wait_s=0).__enter__()
    finally:
        end(holder)


@pytest.mark.slow
def test_killed_again_and_again_it_never_stays_locked(tmp_path: Path) -> None:
    for _ in range(10):
        end(start_holder(tmp_path))
        with hold_workspace(tmp_path, "pull", wait_s=0):
            pass


READ = """
import sys, pathlib
from fire_toolkit.campaign.store import Store
Store(pathlib.Path(sys.argv[1])).close()
"""


@pytest.mark.slow
def test_what_is_written_after_another_process_closed_the_record_is_there(tmp_path: Path) -> None:
    """To open and close the file ends SQLite's locks; the other process would then delete the log."""
    path = tmp_path / "campaign.sqlite"
    record = {"kind": "consent", "annotator": "A01", "key": "k1"}
    with Store(path) as first:
        first.add_page_record(record)
    with Store(path) as held:
        held.page_records()
        with Store(path) as again:
            again.page_records()
        content_sha256(path)
        subprocess.run([sys.executable, "-c", READ, str(path)], check=True)
        held.add_page_record(record | {"key": "k2"})
        with Store(path) as other:
            seen = [each["key"] for each in other.page_records()]
        subprocess.run([sys.executable, "-c", READ, str(path)], check=True)
    assert seen == ["k1", "k2"]
