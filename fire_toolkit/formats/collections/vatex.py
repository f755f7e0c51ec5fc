"""VATEX: `[{videoID, enCap[10], chCap[10]}]`; the English captions are the queries."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, by_fields, entries_of
from fire_toolkit.formats.collections.source import Source

recognise = by_fields("videoID", "enCap")


def read(source: Source, split: str | None) -> Part:
    """Return the English captions; ids are `videoID`, and `videoID#n`."""
    captions, n_chinese = Captions(), 0
    for entry in entries_of(source):
        video = entry.id("videoID")
        for text in entry.texts("enCap"):
            captions.add(video, text)
        n_chinese += len(entry.texts("chCap", []))
    notes = [f"{n_chinese:,} Chinese captions left out"] if n_chinese else []
    return captions.part(str(source.path), notes=notes)
