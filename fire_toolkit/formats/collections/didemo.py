"""DiDeMo: `[{video, description, times}]`; the descriptions of a video make one paragraph, the query."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, by_fields, entries_of
from fire_toolkit.formats.collections.source import Source

recognise = by_fields("video", "description")


def read(source: Source, split: str | None) -> Part:
    """Return one paragraph a video, descriptions in the order of the file; both ids are the video's."""
    sentences: dict[str, list[str]] = {}
    for entry in entries_of(source):
        sentences.setdefault(entry.id("video"), []).append(entry.text("description").strip())
    captions = Captions()
    for video, texts in sentences.items():
        captions.add(video, " ".join(texts), query_id=video)
    return captions.part(str(source.path))
