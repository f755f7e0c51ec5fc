"""Kept hashes: never another sha256 than the file's, and a file that lies as it lay is read once."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fire_toolkit import files
from fire_toolkit.errors import FormatError
from fire_toolkit.workspace import hashes
from fire_toolkit.workspace.hashes import KEPT, kept_hashes

LONG_AGO = 1_700_000_000


def write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (LONG_AGO, LONG_AGO))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read, where the last change counts as settled at once."""
    found: list[str] = []
    real = hashes.content_sha256

    def counted(path: Path) -> str:
        found.append(path.name)
        return real(path)

    monkeypatch.setattr(hashes, "content_sha256", counted)
    monkeypatch.setattr(files, "_SETTLED_S", -9)
    return found


def asked(root: Path, *names: str) -> list[str]:
    with kept_hashes(root) as hash_of:
        return [hash_of(root / name) for name in names]


def test_a_file_that_stays_is_read_once(tmp_path: Path, read: list[str]) -> None:
    write(tmp_path / "a", "one")
    for _ in range(3):
        assert asked(tmp_path, "a", "a") == [sha256(tmp_path / "a")] * 2
    assert read == ["a"]


def edited(path: Path) -> None:
    path.write_text("four")


def touched(path: Path) -> None:
    os.utime(path, (LONG_AGO + 9, LONG_AGO + 9))


def replaced(path: Path) -> None:
    write(path.with_name("other"), "two")
    path.with_name("other").replace(path)


def edited_in_secret(path: Path) -> None:
    """Size, inode and time of the last change stay; only the time of the entry tells."""
    time.sleep(0.02)  # a tick of the file system's clock
    write(path, "two")


@pytest.mark.parametrize("change", [edited, touched, replaced, edited_in_secret])
def test_a_file_that_changes_is_read_again(
    change: Callable[[Path], None], tmp_path: Path, read: list[str]
) -> None:
    write(tmp_path / "a", "one")
    asked(tmp_path, "a")
    change(tmp_path / "a")
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    assert read == ["a", "a"]


def test_a_file_that_changed_a_moment_ago_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    asked(tmp_path, "a")
    assert not (tmp_path / KEPT).exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[:-9],
        lambda raw: raw.replace(b'"a"', b'"b"'),
        lambda raw: b"\xff\x00" + raw,
        lambda raw: hashlib.sha256(b"[]").hexdigest().encode() + b"\n[]",
    ],
)
def test_a_damaged_record_is_made_again_in_silence(
    damage: Callable[[bytes], bytes], tmp_path: Path, read: list[str]
) -> None:
    write(tmp_path / "a", "one")
    asked(tmp_path, "a")
    sound = (tmp_path / KEPT).read_bytes()
    (tmp_path / KEPT).write_bytes(damage(sound))
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    assert ((tmp_path / KEPT).read_bytes(), read) == (sound, ["a", "a"])


def test_files_that_are_gone_leave_the_record(tmp_path: Path, read: list[str]) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, name)
    asked(tmp_path, "a", "b")
    (tmp_path / "b").unlink()
    asked(tmp_path, "a")
    assert '"b"' not in (tmp_path / KEPT).read_text()
    with pytest.raises(FormatError, match="no such file"):
        asked(tmp_path, "b")


def test_where_nothing_can_be_kept_there_are_hashes_all_the_same(tmp_path: Path, read: list[str]) -> None:
    write(tmp_path / "a", "one")
    (tmp_path / KEPT).mkdir(parents=True)  # refuses even one who may write everywhere
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    assert [path.name for path in (tmp_path / KEPT).parent.iterdir()] == ["hashes"]
