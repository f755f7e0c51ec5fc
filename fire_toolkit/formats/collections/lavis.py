"""The retrieval JSON of LAVIS, BLIP and UMT: `[{image or video, caption: text or texts}]`."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_texts, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.collections.tables import NAMES
from fire_toolkit.ids import id_text


def _media(records: object) -> str | None:
    """Return the field that names the item; None where captions have ids of their own (a plain table)."""
    if any(have(records, name) for name in NAMES["query_id"]):
        return None
    return next((name for name in ("image", "video") if have(records, name, "caption")), None)


def recognise(source: Source) -> str | None:
    """Return why a file is such a list, or None."""
    media = _media(source.records)
    return f"JSON entries with {media} and caption" if media else None


def read(source: Source, split: str | None) -> Part:
    """Return the captions; an item's id is its path as written, a query's `path#n`."""
    path = str(source.path)
    media = _media(source.records) or "image"
    captions = Captions()
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        doc_id = id_text(need(entry, media, where), where)
        for text in as_texts(need(entry, "caption", where), where):
            captions.add(doc_id, text)
    return captions.part(path)
