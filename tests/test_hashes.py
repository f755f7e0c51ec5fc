"""Kept hashes: never another sha256 than the file's, and read again no more than needed."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.workspace import hashes
from fire_toolkit.workspace.hashes import RECORD, keep_hashes, kept_hashes

LONG_AGO = 1_700_000_000
ASK_ALL = """
import sys
from pathlib import Path
from fire_toolkit.workspace import hashes
hashes._CLEARLY_OLDER_NS = -1_000_000_000
root = Path(sys.argv[1])
with hashes.kept_hashes(root) as hash_of:
    print(*[hash_of(root / f"f{n}") for n in range(20)])
"""


def write(path: Path, text: str, *, when: float = LONG_AGO) -> None:
    path.write_text(text)
    os.utime(path, (when, when))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read, where the last change counts as settled at once."""
    found: list[str] = []
    real = hashes.sha256_of

    def counted(path: Path) -> str:
        found.append(path.name)
        return real(path)

    monkeypatch.setattr(hashes, "sha256_of", counted)
    monkeypatch.setattr(hashes, "_CLEARLY_OLDER_NS", -1_000_000_000)
    return found


def asked(root: Path, *names: str) -> list[str]:
    with kept_hashes(root) as hash_of:
        return [hash_of(root / name) for name in names]


def test_a_file_that_stays_is_read_once(tmp_path: Path, reads: list[str]) -> None:
    write(tmp_path / "a", "one")
    for _ in range(3):
        assert asked(tmp_path, "a", "a") == [sha256(tmp_path / "a")] * 2
    assert reads == ["a"]


def edited(path: Path) -> None:
    path.write_text("four")


def touched(path: Path) -> None:
    os.utime(path, (LONG_AGO + 9, LONG_AGO + 9))


def replaced(path: Path) -> None:
    write(path.with_name("other"), "two")
    path.with_name("other").replace(path)


def edited_in_secret(path: Path) -> None:
    time.sleep(0.02)  # a tick of the file system's clock
    write(path, "two")


@pytest.mark.parametrize("change", [edited, touched, replaced, edited_in_secret])
def test_a_file_that_changes_is_read_again(
    change: Callable[[Path], None], tmp_path: Path, reads: list[str]
) -> None:
    """The last one keeps size, inode and time of change, which only the time of the entry gives away."""
    write(tmp_path / "a", "one")
    asked(tmp_path, "a")
    change(tmp_path / "a")
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    assert reads == ["a", "a"]


def test_what_a_stage_has_hashed_is_not_read_again(tmp_path: Path, reads: list[str]) -> None:
    write(tmp_path / "a", "one")
    keep_hashes(tmp_path, {"a": sha256(tmp_path / "a"), "gone": "0" * 64}, began_ns=time.time_ns())
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    assert reads == []


def test_a_file_that_changed_after_a_stage_began_is_read_again(tmp_path: Path, reads: list[str]) -> None:
    began_ns = time.time_ns() - 1_000_000_000
    (tmp_path / "a").write_text("one")
    keep_hashes(tmp_path, {"a": "of what lay there before"}, began_ns=began_ns)
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]


def test_a_file_that_changed_a_moment_ago_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    asked(tmp_path, "a")
    assert not (tmp_path / RECORD).exists()


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a", "one")
    real = hashes.sha256_of

    def slow(path: Path) -> str:
        found = real(path)
        write(path, "longer")
        return found

    monkeypatch.setattr(hashes, "sha256_of", slow)
    monkeypatch.setattr(hashes, "_CLEARLY_OLDER_NS", -1_000_000_000)
    asked(tmp_path, "a")
    assert not (tmp_path / RECORD).exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[:-9],
        lambda raw: raw.replace(b'"a"', b'"b"'),
        lambda raw: b"\xff\x00" + raw,
        lambda raw: b"[" * 100_000,
        lambda raw: hashes._seal(b"[]") + b"\n[]",
        lambda raw: hashes._seal(b'{"version":9}') + b'\n{"version":9}',
    ],
)
def test_a_damaged_record_is_made_again_in_silence(
    damage: Callable[[bytes], bytes], tmp_path: Path, reads: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", "one")
    asked(tmp_path, "a")
    sound = (tmp_path / RECORD).read_bytes()
    (tmp_path / RECORD).write_bytes(damage(sound))
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    assert (tmp_path / RECORD).read_bytes() == sound
    assert reads == ["a", "a"]
    assert capfd.readouterr() == ("", "")


def test_a_wrong_hash_in_the_record_is_not_believed(tmp_path: Path, reads: list[str]) -> None:
    write(tmp_path / "a", "one")
    asked(tmp_path, "a")
    raw = (tmp_path / RECORD).read_text()
    (tmp_path / RECORD).write_text(raw.replace(sha256(tmp_path / "a"), "0" * 64))
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]


def test_files_that_are_gone_leave_the_record(tmp_path: Path, reads: list[str]) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, name)
    asked(tmp_path, "a", "b")
    (tmp_path / "b").unlink()
    asked(tmp_path, "a")
    assert '"b"' not in (tmp_path / RECORD).read_text()
    with pytest.raises(FormatError, match="no such file"):
        asked(tmp_path, "b")


def test_several_at_once_leave_a_sound_record(tmp_path: Path, reads: list[str]) -> None:
    names = [f"f{n}" for n in range(20)]
    for name in names:
        write(tmp_path / name, name)

    def one(_: int) -> list[str]:
        run = subprocess.run(
            [sys.executable, "-c", ASK_ALL, str(tmp_path)], capture_output=True, text=True, check=True
        )
        return run.stdout.split()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == [[sha256(tmp_path / name) for name in names]] * 4
    assert asked(tmp_path, *names) == [sha256(tmp_path / name) for name in names]
    assert reads == []
    assert not list(tmp_path.glob("*.tmp")) + list(tmp_path.glob(".*.tmp"))


def test_a_folder_that_cannot_be_written_has_hashes_all_the_same(tmp_path: Path, reads: list[str]) -> None:
    write(tmp_path / "a", "one")
    (tmp_path / RECORD).mkdir()  # refuses even one who may write everywhere
    assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    (tmp_path / RECORD).rmdir()
    tmp_path.chmod(0o500)
    try:
        assert asked(tmp_path, "a") == [sha256(tmp_path / "a")]
    finally:
        tmp_path.chmod(0o700)
