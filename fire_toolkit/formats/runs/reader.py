"""The reader of a prediction format; each format has one, and `readers` lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fire_toolkit.formats.runs.json_runs import listed_of
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.named_arrays import Arrays


@dataclass(frozen=True)
class RunReader:
    """A format of predictions.

    Attributes:
        name: one word, for manifests.
        what: a description of the format.
        evidence: a description of how it is recognised.
        sniff: whether a file has this format, from its first bytes (unpacked if gzip) and its path.
        read_lists: for ranked lists: from a path and the key of a part.
        read_arrays: for arrays of scores or vectors.
    """

    name: str
    what: str
    evidence: str
    sniff: Callable[[bytes, Path], bool]
    read_lists: Callable[[Path, str | None], Listed] | None = None
    read_arrays: Callable[[Path], Arrays] | None = None

    def read(self, path: Path, key: str | None = None) -> Listed | Arrays:
        """Return what is in a file: ranked lists, also those in a file of objects, or arrays."""
        if self.read_arrays is None:
            assert self.read_lists is not None, "a format is read as lists or as arrays"
            return self.read_lists(path, key)
        arrays = self.read_arrays(path)
        return arrays if arrays.lists is None else listed_of(arrays.lists, str(path), key)
