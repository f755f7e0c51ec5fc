"""VATEX: `[{videoID, enCap[10], chCap[10]}]`; the English captions are the queries."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_texts, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is VATEX's, or None."""
    return "JSON entries with videoID and enCap" if have(source.records, "videoID", "enCap") else None


def read(source: Source, split: str | None) -> Part:
    """Return the English captions; ids are `videoID`, and `videoID#n`."""
    path = str(source.path)
    captions = Captions()
    n_chinese = 0
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        video = id_text(need(entry, "videoID", where), where)
        for text in as_texts(need(entry, "enCap", where), where):
            captions.add(video, text)
        n_chinese += len(as_texts(entry.get("chCap", []), where))
    notes = [f"{n_chinese:,} Chinese captions left out"] if n_chinese else []
    return captions.part(path, notes=notes)
