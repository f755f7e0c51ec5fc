"""Pickles of arrays (`.pkl`), read as data; nothing in them is run."""

from __future__ import annotations

import re
from pathlib import Path

from fire_toolkit.formats.arrays.arrays import ArrayCollector, Arrays
from fire_toolkit.formats.arrays.safe_pickle import load_plain
from fire_toolkit.formats.runs.reader import RunReader

_MOST_BYTES = 512 << 20
_STARTS = re.compile(
    rb"\x80[\x02-\x05]"  # a protocol from 2 on says so
    rb"|\([ld]p[0-9]+\n|[\]}]q."  # a list or a dict of protocol 0 or 1
    rb"|\((?:V[^\n]*\np[0-9]+\n|S['\"]|[ILF][-0-9.L]+\n|X.{4})|V[^\n]*\np0\n\."  # a tuple, or a text
    rb"|c(?:numpy[\w.]*|collections|__builtin__|copy_reg)\n\w+\n(?:p[0-9]+\n|q.)",  # an array, a set
    re.DOTALL,
)


def is_pickle(start: bytes, path: Path) -> bool:
    """Whether the file begins like a pickle: protocol 2 to 5, or a container or array in protocol 0 or 1."""
    return bool(_STARTS.match(start))


def read_pickle(path: Path) -> Arrays:
    """Return the arrays in a pickle by their path of keys (`test/sims`).

    Raises:
        FormatError: it holds anything but containers, text, numbers and numpy arrays (nothing of it is
            run), is damaged, larger than half a gigabyte, or holds no matrix.
    """
    with path.open("rb") as stream:
        value = load_plain(stream, max_bytes=_MOST_BYTES, where=str(path))
    collector = ArrayCollector(str(path))
    collector.put_tree("", value)
    return collector.arrays()


READER = RunReader("pickle", "a pickle of arrays", "begins as pickles do", is_pickle, read_arrays=read_pickle)
