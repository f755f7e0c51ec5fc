"""The reader of a prediction format; each format has one, and `readers` lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
