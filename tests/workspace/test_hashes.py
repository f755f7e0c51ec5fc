"""Kept hashes: never another sha256 than the file's, and a file that lies as it lay is read once."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fire_toolkit import files
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FormatError
from fire_toolkit.workspace import hashes
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.hashes import KEPT, kept_hashes

LONG_AGO = (1_700_000_000, 1_700_000_000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("one")
    os.utime(tmp_path / "a", LONG_AGO)
    return tmp_path / "a"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are read, where the last change counts as settled at once."""
    found: list[Path] = []
    real = hashes.content_sha256
    monkeypatch.setattr(hashes, "content_sha256", lambda path: found.append(path) or real(path))
    monkeypatch.setattr(files, "_SETTLED_S", -9)
    return found


def is_told(file: Path) -> bool:
    with kept_hashes(file.parent) as hash_of:
        told = [hash_of(file), hash_of(file)]
    return told == [hashlib.sha256(file.read_bytes()).hexdigest()] * 2


def replaced(file: Path) -> None:
    file.with_name("other").write_text("two")
    file.with_name("other").replace(file)


def edited_in_secret(file: Path) -> None:
    """Size, inode and time of the last change stay; only the time of the entry tells."""
    time.sleep(0.02)  # a tick of the file system's clock
    file.write_text("two")
    os.utime(file, LONG_AGO)


@pytest.mark.parametrize(
    "change", [lambda file: file.write_text("four"), os.utime, replaced, edited_in_secret]
)
def test_only_a_file_that_changes_is_read_again(
    change: Callable[[Path], object], file: Path, read: list[Path]
) -> None:
    assert is_told(file)
    assert is_told(file)
    assert read == [file]
    change(file)
    assert is_told(file)
    assert read == [file, file]


def test_a_file_that_changed_a_moment_ago_is_not_kept(file: Path) -> None:
    assert is_told(file)
    assert not (file.parent / KEPT).exists()


_ANOTHERS = hashlib.sha256(b"[]").hexdigest().encode() + b"\n[]"


@pytest.mark.parametrize("cut", [0, 70, -9, None])
def test_a_damaged_record_is_made_again_in_silence(cut: int | None, file: Path, read: list[Path]) -> None:
    is_told(file)
    sound = (file.parent / KEPT).read_bytes()
    (file.parent / KEPT).write_bytes(_ANOTHERS if cut is None else sound[:cut] + b"\xff"[: cut > 0])
    assert is_told(file)
    assert ((file.parent / KEPT).read_bytes(), read) == (sound, [file, file])


def test_a_file_that_is_gone_leaves_the_record(file: Path, read: list[Path]) -> None:
    is_told(file)
    file.unlink()
    with kept_hashes(file.parent) as hash_of, pytest.raises(FormatError, match="no such file"):
        hash_of(file)
    assert '"a"' not in (file.parent / KEPT).read_text()


def test_where_nothing_can_be_kept_there_are_hashes_all_the_same(file: Path, read: list[Path]) -> None:
    (file.parent / KEPT).mkdir(parents=True)  # refuses even one who may write everywhere
    assert is_told(file)
    assert [path.name for path in (file.parent / KEPT).parent.iterdir()] == ["hashes"]


def test_a_look_at_a_record_leaves_the_locks_of_this_process_on_it(tmp_path: Path) -> None:
    """To open and close it ends them: whoever closes it next takes away the log that is written to."""
    record = tmp_path / STORE
    query = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('select count(*) from page'))"
    with Store(record) as store:
        for n in range(1, 4):
            store.add_page_records({"kind": "answer"})
            seen = subprocess.run(
                [sys.executable, "-c", query, record], capture_output=True, check=True
            ).stdout
            assert seen.split() == [b"(%d,)" % n]
            with kept_hashes(tmp_path) as hash_of:
                hash_of(record)
