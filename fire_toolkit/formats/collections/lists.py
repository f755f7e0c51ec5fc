"""Files without captions of items: texts by id (BEIR's corpus and queries), and lists of a split's items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.source import Entry, Source, have
from fire_toolkit.formats.columns import COLLECTION, find_name
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.named_arrays import DOC_IDS, QUERY_IDS

_MORE = ("media_url", "reference")
_ARRAYS = {"query_id": QUERY_IDS, "doc_id": DOC_IDS}
_HEADERS = {"id", "ids", "name", "names", "index", "idx", "#"}.union(*COLLECTION.values(), *_ARRAYS.values())


def _text_key(source: Source) -> str | None:
    """Return which field holds the ids; `_id` alone, without texts, is enough."""
    found = (name for name in ("id", "docid") if have(source.records, name, "text"))
    return "_id" if have(source.records, "_id") else next(found, None)


def recognise_texts(source: Source) -> str | None:
    """Return why a file is a corpus or queries, or None."""
    key = _text_key(source)
    with_text = " and text" if have(source.records, "text") else " alone"
    return f"entries with {key}{with_text}: corpus or queries, as the qrels use their ids" if key else None


def read_texts(source: Source, split: str | None) -> Part:
    """Return texts with their ids; the qrels tell whether they are queries or the corpus."""
    key, more = _text_key(source) or "_id", [name for name in _MORE if have(source.records, name)]
    default = None if have(source.records, "text") else ""
    rows = []
    for n, record in enumerate(source.records or []):
        entry = Entry(record, f"{source.path}: entry {n}")
        title = entry.text("title") if record.get("title") else ""
        rows.append((entry.id(key), title, entry.text("text", default), *map(entry.text, more)))
    table = pd.DataFrame(rows, columns=["id", "title", "text", *more], dtype=object)
    return Part(str(source.path), texts=table)


def recognise_items(source: Source) -> str | None:
    """Return why a file is a list of items, or None."""
    found = source.json
    if isinstance(found, list) and found and all(isinstance(entry, str | int) for entry in found):
        return "a JSON list of ids"
    if source.mapping and all(isinstance(value, str) for value in source.mapping.values()):
        return "a JSON object of paths under names"
    if have(source.mapping.get("images"), "id", "file_name"):
        return "a JSON object whose images have id and file_name"
    is_text = found is None and source.records is None and source.lines
    are_ids = is_text and all(
        len(line.split()) == 1 and "," not in line and line.strip()[:1] not in ("{", "[", "(")
        for line in source.lines
    )
    return "one id a line" if are_ids else None


def read_items(source: Source, split: str | None) -> Part:
    """Return the items of the split; media_url is the path, where the file has one."""
    path, found = str(source.path), source.json
    rows: list[Any]
    if found is None:
        rows = [(line,) for line in ids_of_lines([line.strip() for line in source.lines], path, "doc_id")]
    elif isinstance(found, list):
        rows = [(id_text(entry, path),) for entry in found]
    elif isinstance(found.get("images"), list):
        images = Entry(found, path).entries("images")
        rows = [(image.id("id"), image.text("file_name")) for image in images]
    else:
        rows = [(id_text(name, path), media) for name, media in found.items()]
    names = ["doc_id", "media_url"][: len(rows[0])] if rows else ["doc_id"]
    return Part(path, items=pd.DataFrame(rows, columns=names, dtype=object), is_gallery=True)


def column_of(header: Sequence[str], column: str) -> str | None:
    """Return the column of a header that has the ids, by its own name or a usual one."""
    return find_name(header, (column, *COLLECTION[column], *_ARRAYS[column]))


def ids_of_lines(lines: Sequence[str], path: str, column: str) -> list[str]:
    """Return one id a line, without a first line that is a usual name of the column.

    Raises:
        FormatError: the first line looks like another header.
    """
    first, rest = lines[0].strip('"').lower(), lines[1:]
    if column_of([first], column):
        return list(rest)
    if first in _HEADERS or (rest and not first.isdigit() and all(line.isdigit() for line in rest)):
        raise FormatError(
            f"{path}:1: {lines[0]!r} looks like a header, expected a list of {column}s; delete that "
            f"line, or, if it is an id, write {column} above it"
        )
    return list(lines)
