"""Answers as they come: a file that only grows, each record flushed to disk before it is acknowledged.

A record is a line: its length in bytes, the first 16 digits of its SHA-256, the record as JSON. A last line
without its end was being written when the writer was killed; nobody was told that it is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError, FormatError

Record = Mapping[str, Any]
_DIGITS = 16


def read_journal(path: Path) -> list[Record]:
    """Return the whole records of a journal, in their order; none if there is no such file.

    Raises:
        FormatError: a whole record is damaged.
    """
    return _records(_content(path), path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise FireError(f"{path}: cannot be read: {error.strerror}") from None


def _records(content: bytes, path: Path) -> list[Record]:
    lines = content.split(b"\n")[:-1]
    return [_record(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def _record(line: bytes, where: str) -> Record:
    length, _, rest = line.partition(b" ")
    digits, _, body = rest.partition(b" ")
    if length != str(len(body)).encode() or digits != _checksum(body):
        raise FormatError(
            f"{where}: damaged: length or checksum is not that of the record; restore the file from a copy, "
            "or delete the line, which loses this one answer"
        )
    found: Record = json.loads(body)
    return found


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:_DIGITS].encode()


def _line(record: Record) -> bytes:
    body = json.dumps(record, sort_keys=True, separators=(",", ":")).encode("ascii")
    return b"%d %s %s\n" % (len(body), _checksum(body), body)


class Journal:
    """A journal that is being written by this process alone; what was torn off at its end is dropped.

    Attributes:
        records: the whole records, in their order.

    Raises:
        FormatError: a whole record is damaged.
        FireError: the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        content = _content(path)
        self.records = _records(content, path)
        self._path = path
        self._length = content.rfind(b"\n") + 1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
            self._file.truncate(self._length)
            os.fsync(self._file.fileno())
            _sync_folder(path.parent)
        except OSError as error:
            raise FireError(f"{path}: cannot be written: {error.strerror}") from None

    def append(self, record: Record) -> None:
        """Add a record; it is on disk when this returns.

        Raises:
            FireError: it could not be kept (the disk is full, say), and the journal is as it was.
        """
        line = _line(record)
        try:
            n_written = self._file.write(line)
            if n_written != len(line):
                raise OSError(0, "the disk is full")
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._length)
            raise FireError(f"{self._path}: cannot be written: {error.strerror}") from None
        self._length += len(line)
        self.records.append(record)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable, where a system lets folders be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
