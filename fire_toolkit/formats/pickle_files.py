"""Pickles of arrays (`.pkl`): read as data, never run."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.formats.arrays import Arrays, ArrayShelf
from fire_toolkit.formats.reader import RunReader
from fire_toolkit.formats.safe_pickle import load_plain

_MOST_BYTES = 512 << 20


def is_pickle(start: bytes, path: Path) -> bool:
    """Whether the file begins as a pickle of protocol 2 to 5 does."""
    return start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def read_pickle(path: Path) -> Arrays:
    """Return the arrays in a pickle by the path of keys they have (`test/sims`).

    Raises:
        FormatError: it holds anything but containers, text, numbers and numpy arrays (nothing of it is
            run), is damaged, larger than half a gigabyte, or holds no matrix.
    """
    with path.open("rb") as stream:
        value = load_plain(stream, max_bytes=_MOST_BYTES, where=str(path))
    shelf = ArrayShelf(str(path))
    shelf.put_tree("", value)
    return shelf.arrays()


READER = RunReader(
    "pickle",
    "a pickle of arrays",
    "begins as pickles of protocol 2 to 5 do",
    is_pickle,
    read_arrays=read_pickle,
)
