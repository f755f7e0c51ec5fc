"""ActivityNet Captions: `{video: {duration, timestamps, sentences}}`; a video's sentences are the query."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_texts, need
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
    path = str(source.path)
    captions, items = Captions(), []
    for video, value in source.json.items():
        where = f"{path}: {video!r}"
        id_text(video, where)
        entry = as_entry(value, where)
        texts = [text.strip() for text in as_texts(need(entry, "sentences", where), where)]
        captions.add(video, " ".join(texts), query_id=video)
        items.append({"doc_id": video, "duration_s": str(entry.get("duration", ""))})
    return captions.part(path, items=items)
