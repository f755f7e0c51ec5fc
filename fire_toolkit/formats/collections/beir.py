"""BEIR and Hugging Face text collections: corpus and queries as `_id`, `text` (and `title`) entries."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import as_entry, as_text, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text

_KEYS = ("_id", "id")


def _key(source: Source) -> str | None:
    return next((key for key in _KEYS if have(source.records, key, "text")), None)


def recognise(source: Source) -> str | None:
    """Return why a file is a corpus or queries, or None."""
    key = _key(source)
    return f"entries with {key} and text: corpus or queries, as the qrels use their ids" if key else None


def read(source: Source, split: str | None) -> Part:
    """Return texts with their ids; the qrels tell whether they are queries or the corpus."""
    path, key = str(source.path), _key(source) or "_id"
    rows = []
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        title = as_text(entry.get("title") or "", where)
        text = as_text(need(entry, "text", where), where)
        rows.append((id_text(need(entry, key, where), where), title, text))
    return Part(path, texts=pd.DataFrame(rows, columns=["id", "title", "text"], dtype=object))
