"""The retrieval JSON of LAVIS, BLIP and UMT: `[{image or video, caption: text or texts}]`."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, entries_of, have
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.collections.tables import NAMES


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
    media = _media(source.records) or "image"
    captions = Captions()
    for entry in entries_of(source):
        doc_id = entry.id(media)
        for text in entry.texts("caption"):
            captions.add(doc_id, text)
    return captions.part(str(source.path))
