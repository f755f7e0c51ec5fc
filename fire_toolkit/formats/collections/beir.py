"""BEIR and Hugging Face text collections: corpus and queries as `_id`, `text` (and `title`) entries."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Entry, entries_of, have
from fire_toolkit.formats.collections.source import Source

_KEYS = ("_id", "id")


def _key(source: Source) -> str | None:
    return next((key for key in _KEYS if have(source.records, key, "text")), None)


def recognise(source: Source) -> str | None:
    """Return why a file is a corpus or queries, or None."""
    key = _key(source)
    return f"entries with {key} and text: corpus or queries, as the qrels use their ids" if key else None


def read(source: Source, split: str | None) -> Part:
    """Return texts with their ids; the qrels tell whether they are queries or the corpus."""
    key = _key(source) or "_id"
    rows = [(entry.id(key), _title(entry), entry.text("text")) for entry in entries_of(source)]
    return Part(str(source.path), texts=pd.DataFrame(rows, columns=["id", "title", "text"], dtype=object))


def _title(entry: Entry) -> str:
    return entry.text("title", "") if entry.value("title", "") else ""
