"""The ids of a matrix's axes: from files, and checked against its shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.delimited import read_delimited
from fire_toolkit.formats.files import read_text


def read_ids(path: str | Path, column: str) -> list[str]:
    """Return the ids in a file, in its order: one a line, or column `column` of a CSV or TSV."""
    header = read_text(path).split("\n", 1)[0].replace("\t", ",").split(",")
    if column in (name.strip() for name in header):
        return [str(value) for value in read_delimited(path)[column]]
    return [line.strip() for line in read_text(path).split("\n") if line.strip()]


def ids_beside(path: Path, what: str) -> Path | None:
    """Return the file of ids beside a matrix: `NAME.query_ids.txt`, or `query_ids.txt`."""
    for name in (f"{path.stem}.{what}.txt", f"{what}.txt"):
        if (path.parent / name).is_file():
            return path.parent / name
    return None


def needed_ids(
    path: Path, query_ids: Sequence[str] | None, doc_ids: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the ids of queries and docs.

    Raises:
        FormatError: there are none, or one is given twice.
    """
    if query_ids is None or doc_ids is None:
        absent = " and ".join(
            name for name, ids in (("query ids", query_ids), ("doc ids", doc_ids)) if ids is None
        )
        raise FormatError(
            f"{path}: no {absent}; give --query-ids and --doc-ids, or put {path.stem}.query_ids.txt and "
            f"{path.stem}.doc_ids.txt beside it, or save an .npz with sims, query_ids, doc_ids"
        )
    for what, ids in (("query ids", query_ids), ("doc ids", doc_ids)):
        if len(set(ids)) < len(ids):
            twice = pd.Series(list(ids))[pd.Series(list(ids)).duplicated()].iloc[0]
            raise FormatError(f"{path}: {what}: {twice!r} is given twice, expected one of each")
    return list(query_ids), list(doc_ids)


def check_ids(
    path: Path, shape: tuple[int, ...], query_ids: Sequence[str] | None, doc_ids: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the ids of a matrix of queries × docs.

    Raises:
        FormatError: it is no matrix, there are no ids, or they do not match its shape.
    """
    if len(shape) != 2 or 0 in shape:
        raise FormatError(f"{path}: shape {shape}, expected a matrix of queries × docs")
    queries, docs = needed_ids(path, query_ids, doc_ids)
    if (len(queries), len(docs)) != shape:
        turned = (len(docs), len(queries)) == shape
        raise FormatError(
            f"{path}: shape {shape[0]} × {shape[1]}, but {len(queries)} query ids and {len(docs)} doc ids; "
            + ("the matrix is docs × queries: save its transpose" if turned else "expected queries × docs")
        )
    return queries, docs
