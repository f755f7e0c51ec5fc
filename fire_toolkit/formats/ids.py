"""The ids of a matrix's axes: from files, and checked against its shape."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays import DOC_IDS, QUERY_IDS
from fire_toolkit.formats.delimited import read_delimited
from fire_toolkit.formats.files import STDIN, read_text
from fire_toolkit.formats.npy import NPY_MAGIC, named_values, read_values
from fire_toolkit.formats.pickle_files import is_pickle
from fire_toolkit.formats.safe_pickle import load_plain
from fire_toolkit.formats.syntax import parse_json
from fire_toolkit.formats.zips import ZIP_MAGIC
from fire_toolkit.ids import id_texts

_NAMES = {"query_id": QUERY_IDS, "doc_id": DOC_IDS}
_PICKLE_BYTES = 256 << 20


def read_ids(path: str | Path, column: str) -> list[str]:
    """Return the ids in a file, in its order; recognised by content.

    One a line; column `column` of a CSV or TSV; a JSON list; a NumPy array of text or whole numbers
    (`.npy`, or in an `.npz` by its name); a pickle of a list or an array. JSON objects and pickled dicts
    hold them under a name such as `query_ids`.

    Args:
        path: the file; text may be gzip.
        column: `query_id` or `doc_id`.

    Raises:
        FormatError: none of these, damaged, or without any id.
    """
    values = _values(Path(path), column)
    if isinstance(values, Mapping):
        values = _under_a_name(values, column, str(path))
    ids = id_texts(values, str(path))
    if not ids:
        raise FormatError(f"{path}: no id, expected a list of {column}s")
    return ids


def _values(path: Path, column: str) -> Any:
    """Return what a file of ids holds, a list or names of lists."""
    start = b"" if str(path) == STDIN or not path.is_file() else _start(path)
    if start.startswith(NPY_MAGIC):
        return read_values(path)
    if start.startswith(ZIP_MAGIC):
        return named_values(path, _NAMES[column])
    if is_pickle(start, path):
        return load_plain(io.BytesIO(path.read_bytes()), max_bytes=_PICKLE_BYTES, where=str(path))
    text = read_text(path)
    if text.lstrip()[:1] in ("[", "{"):
        return parse_json(text, str(path))
    header = text.split("\n", 1)[0].replace("\t", ",").split(",")
    if column in (name.strip() for name in header):
        return [str(value) for value in read_delimited(path, required=[column])[column]]
    return [line.strip() for line in text.split("\n") if line.strip()]


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(128)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None


def _under_a_name(values: Mapping[Any, Any], column: str, where: str) -> Any:
    found = next((values[name] for name in _NAMES[column] if name in values), None)
    if found is None:
        names = ", ".join(map(str, list(values)[:8])) or "nothing"
        raise FormatError(
            f"{where}: no {column}s; found {names}; expected a list of ids, or one under {column}s"
        )
    return found


def ids_beside(path: Path, what: str) -> Path | None:
    """Return the ids beside a matrix: `NAME.query_ids.txt` (`.npy`, `.json`), or `query_ids.txt`."""
    for name in (f"{path.stem}.{what}", what):
        for suffix in (".txt", ".npy", ".json"):
            if (path.parent / f"{name}{suffix}").is_file():
                return path.parent / f"{name}{suffix}"
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
