"""Lists of column indices: `3,17,0` a line, best first, without header and ids (TeachText's challenge files).

Line n is query n, and an index is the place of a doc, both from 0, so ids must be given beside the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.files import read_text
from fire_toolkit.formats.ids import needed_ids
from fire_toolkit.formats.listed import FROM_RANKS, Listed, from_columns
from fire_toolkit.formats.reader import RunReader

_BOM = b"\xef\xbb\xbf"
_PLACE = re.compile("[0-9]{1,15}")


def is_index_list(start: bytes, path: Path) -> bool:
    """Whether the first line is two or more whole numbers between commas."""
    fields = start.removeprefix(_BOM).split(b"\n", 1)[0].strip().split(b",")
    return len(fields) > 1 and all(field.strip().isdigit() for field in fields)


def read_index_list(path: Path, key: str | None = None) -> Listed:
    """Return the lists with places as ids, to be named by `named_by_place`.

    Raises:
        FormatError: a line of another length, or a field that is no whole number; with its line.
    """
    queries: list[str] = []
    docs: list[str] = []
    scores: list[float] = []
    lines = [(n, line) for n, line in enumerate(read_text(path).split("\n"), start=1) if line.strip()]
    width = len(lines[0][1].split(","))
    for row, (number, line) in enumerate(lines):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != width or not all(_PLACE.fullmatch(field) for field in fields):
            raise FormatError(
                f"{path}:{number}: {line[:40]!r}, expected {width} whole numbers, as on the first line: "
                "places of docs, best first"
            )
        places = [str(int(field)) for field in fields]
        if len(set(places)) < width:
            raise FormatError(
                f"{path}:{number}: a doc stands twice, expected {width} different places of docs"
            )
        queries += [str(row)] * width
        docs += places
        scores += [float(-rank) for rank in range(1, width + 1)]
    listed = from_columns(queries, docs, scores, where=str(path), notes=(FROM_RANKS,))
    return replace(listed, has_places=True)


def named_by_place(
    listed: Listed, path: Path, query_ids: Sequence[str] | None, doc_ids: Sequence[str] | None
) -> Listed:
    """Return lists of places with the ids at those places.

    Raises:
        FormatError: there are no ids, the lines are not one for each query, or a place lies beyond the docs.
    """
    queries, docs = needed_ids(path, query_ids, doc_ids)
    rows, places = (listed.scored[name].astype("int64").to_numpy() for name in ("query_id", "doc_id"))
    n_lines, highest = int(rows.max()) + 1, int(places.max())
    if n_lines != len(queries):
        raise FormatError(
            f"{path}: {n_lines} lines, but {len(queries)} query ids; expected a line for each query"
        )
    if highest >= len(docs):
        raise FormatError(
            f"{path}: place {highest}, but {len(docs)} doc ids; expected places from 0 to {len(docs) - 1}"
        )
    named = pd.DataFrame(
        {
            "query_id": pd.Series(queries, dtype="str").to_numpy()[rows],
            "doc_id": pd.Series(docs, dtype="str").to_numpy()[places],
            "score": listed.scored["score"].to_numpy(),
        }
    )
    return replace(listed, scored=named, has_places=False)


READER = RunReader(
    "places",
    "lines of doc places",
    "whole numbers between commas, no header",
    is_index_list,
    read_index_list,
)
