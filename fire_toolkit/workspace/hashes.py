"""The sha256 of a workspace's files, kept so that `status` need not read again what has not changed.

The record is `.fire-hashes` beside fire.toml: a line with the sha256 of what follows, then JSON. It may be
deleted at any time; one that is damaged, or cannot be written, is as good as none. Stages that write
results add what they hashed, and do not trust it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.files import read_bytes, sha256_of
from fire_toolkit.workspace.database import STORE, rows_sha256
from fire_toolkit.workspace.manifests import write_files

RECORD = ".fire-hashes"
_VERSION = 1
_CLEARLY_OLDER_NS = 2_000_000_000  # the coarsest clock of a file system in use: FAT's

_Facts = list[int]
_Kept = dict[str, tuple[_Facts, str]]


def content_sha256(path: Path) -> str:
    """Return the sha256 of a file, of a campaign's record that of its answers."""
    return rows_sha256(path, "answers") if path.name == STORE else sha256_of(path)


@contextmanager
def kept_hashes(root: Path) -> Iterator[Callable[[Path], str]]:
    """Give a function that returns the sha256 of a file as `content_sha256` does, read at most once.

    A hash of an earlier time stands where the file's size, times and inode are those of then, and the
    file had not been touched for two seconds when it was hashed. At the end the hashes that were asked
    for are kept for the next time.

    Args:
        root: the folder of the workspace.
    """
    kept, asked = _read(root), _Kept()

    def hash_of(path: Path) -> str:
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        if name not in asked:
            entry = kept.get(name)
            asked[name] = entry if entry and entry[0] == _facts_of(path) else _hashed(path)
        return asked[name][1]

    yield hash_of
    settled = {name: entry for name, entry in asked.items() if entry[0]}
    others = {name: entry for name, entry in kept.items() if name not in asked and (root / name).is_file()}
    if others | settled != kept:
        _write(root, others | settled)


def keep_hashes(root: Path, sha256s: Mapping[str, str], *, began_ns: int) -> None:
    """Keep the hashes of files that a stage has read, of those that stood still two seconds before it began.

    Args:
        root: the folder of the workspace.
        sha256s: path from that folder, or as it was given → sha256.
        began_ns: when the stage began, before it read any of them, as `time.time_ns` counts.
    """
    kept = _read(root)
    found = {
        name: (_facts_of(root / name), sha256) for name, sha256 in sha256s.items() if (root / name).is_file()
    }
    settled = {name: entry for name, entry in found.items() if _is_settled(entry[0], began_ns)}
    if kept | settled != kept:
        _write(root, kept | settled)


def _hashed(path: Path) -> tuple[_Facts, str]:
    """Return a file's facts and sha256; no facts where it changed a moment ago, or meanwhile."""
    began, before = time.time_ns(), _facts_of(path)
    sha256 = content_sha256(path)
    return (before if before == _facts_of(path) and _is_settled(before, began) else []), sha256


def _is_settled(facts: _Facts, began_ns: int) -> bool:
    """Return whether a file had stood still for a while at a moment."""
    return bool(facts) and max(facts[1:3]) + _CLEARLY_OLDER_NS < began_ns


def _facts_of(path: Path) -> _Facts:
    """Return a file's size, time of its last change, time of the last change of its entry, and inode."""
    log = path.resolve().with_name(f"{path.resolve().name}-wal")
    if log.is_file() and log.stat().st_size:
        return []  # what an SQLite file holds is not all in it
    try:
        found = path.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _read(root: Path) -> _Kept:
    """Return the hashes kept; none where their record is absent, damaged or of another version."""
    with suppress(FireError, ValueError, KeyError, TypeError, AttributeError):
        seal, _, content = read_bytes(root / RECORD).partition(b"\n")
        found = json.loads(content)
        if seal == _seal(content) and found["version"] == _VERSION:
            return {name: (facts, sha256) for name, (facts, sha256) in found["files"].items()}
    return {}


def _write(root: Path, kept: _Kept) -> None:
    """Write the record; nothing into a folder that cannot be written to."""
    content = json.dumps({"version": _VERSION, "files": kept}).encode()
    with suppress(FireError):
        write_files({root / RECORD: _seal(content) + b"\n" + content})


def _seal(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
