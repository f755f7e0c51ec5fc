"""A file of a stage that is made bit by bit, before it is known whether the stage succeeds."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from fire_toolkit.errors import FireError


class Spool:
    """Bytes that come one after the other, and are more than memory should hold."""

    def __init__(self, stream: BinaryIO, folder: Path) -> None:
        self._stream, self._folder = stream, folder
        self._hash, self._n_bytes = hashlib.sha256(), 0

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self._n_bytes

    @property
    def sha256(self) -> str:
        """The sha256 of all bytes, in hex."""
        return self._hash.hexdigest()

    def write(self, content: bytes) -> None:
        """Add bytes.

        Raises:
            FireError: the disk is full, or cannot be written.
        """
        try:
            self._stream.write(content)
        except OSError as error:
            raise _unwritable(self._folder, error) from None
        self._hash.update(content)
        self._n_bytes += len(content)

    def copy_to(self, stream: BinaryIO) -> None:
        """Write all bytes to a file."""
        self._stream.seek(0)
        shutil.copyfileobj(self._stream, stream, 1 << 20)


@contextmanager
def spooled(folder: Path) -> Iterator[Spool]:
    """Yield a Spool on the disk of a folder, which need not be there yet.

    Its file has no name: it is gone when the block or the process ends, however it ends.

    Raises:
        FireError: the disk cannot be written.
    """
    at = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())
    try:
        stream = TemporaryFile(dir=at)  # noqa: SIM115
    except OSError as error:
        raise _unwritable(at, error) from None
    with stream:
        yield Spool(stream, at)


def _unwritable(folder: Path, error: OSError) -> FireError:
    return FireError(f"{folder}: cannot be written: {error.strerror}")
