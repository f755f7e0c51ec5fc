"""The reader of a prediction format; each format has one, and `readers` lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd
from pandas.api.types import is_numeric_dtype

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.json_runs import listed_of
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.named_arrays import Arrays
from fire_toolkit.tables.columns import PAIR


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
        """Return what is in a file: ranked lists, also those in a file of objects, or arrays.

        Raises:
            FormatError: it cannot be read as what it is, or a plug-in's lists lack a column.
        """
        found: Any = self.read_arrays(path) if self.read_arrays else None
        if self.read_lists is not None:
            found = self.read_lists(path, key)
        if isinstance(found, Arrays):
            return found if found.lists is None else listed_of(found.lists, str(path), key)
        scored = found.scored if isinstance(found, Listed) else None
        names = list(scored) if isinstance(scored, pd.DataFrame) else [type(found).__name__]
        if scored is not None and {*PAIR, "score"} <= {*names} and is_numeric_dtype(scored["score"]):
            return cast(Listed, found)
        raise FormatError(
            f"{path}: the reader of {self.what} returned {', '.join(map(str, names))}; expected Listed with "
            "columns query_id, doc_id and score (a number)"
        )
