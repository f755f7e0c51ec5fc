"""ActivityNet Captions: `{video: {duration, timestamps, sentences}}`; a video's sentences are the query."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, Entry
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is ActivityNet's, or None."""
    found = source.json
    first = next(iter(found.values()), None) if isinstance(found, dict) else None
    if isinstance(first, dict) and {"sentences", "timestamps"} <= set(first):
        return "JSON objects with sentences and timestamps under video ids"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return one paragraph a video; both ids are the video's, items keep duration_s."""
    captions, items = Captions(), []
    for video, value in source.json.items():
        entry = Entry.of(value, f"{source.path}: {video!r}")
        id_text(video, entry.where)
        text = " ".join(sentence.strip() for sentence in entry.texts("sentences"))
        captions.add(video, text, query_id=video)
        items.append({"doc_id": video, "duration_s": str(entry.value("duration", ""))})
    return captions.part(str(source.path), items=items)
