"""DiDeMo: `[{video, description, times}]`; the descriptions of a video make one paragraph, the query."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_text, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is DiDeMo's, or None."""
    return "JSON entries with video and description" if have(source.records, "video", "description") else None


def read(source: Source, split: str | None) -> Part:
    """Return one paragraph a video, descriptions in the order of the file; both ids are the video's."""
    path = str(source.path)
    sentences: dict[str, list[str]] = {}
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        video = id_text(need(entry, "video", where), where)
        sentences.setdefault(video, []).append(as_text(need(entry, "description", where), where).strip())
    captions = Captions()
    for video, texts in sentences.items():
        captions.add(video, " ".join(texts), query_id=video)
    return captions.part(path)
