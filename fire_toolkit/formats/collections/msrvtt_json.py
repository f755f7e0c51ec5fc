"""MSR-VTT's `MSRVTT_data.json`: `videos` with their splits, `sentences` with their ids."""

from __future__ import annotations

from typing import Any

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import (
    ALL,
    Captions,
    as_entry,
    as_list,
    as_text,
    chosen_split,
    need,
)
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text

_MORE = {
    "category": "category",
    "url": "source_url",
    "start time": "source_start_s",
    "end time": "source_end_s",
}


def recognise(source: Source) -> str | None:
    """Return why a file is MSRVTT_data.json, or None."""
    found = source.json
    if isinstance(found, dict) and {"videos", "sentences"} <= set(found):
        return "a JSON object with videos and sentences"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions of one split; ids are `sen_id` and `video_id`.

    Items keep category, and where the clip was cut from (source_url, source_start_s, source_end_s).
    """
    path = str(source.path)
    videos = [as_entry(video, path) for video in as_list(source.json["videos"], f"{path}: videos")]
    splits = {id_text(need(v, "video_id", path), path): str(v.get("split", "")) for v in videos}
    chosen, notes = chosen_split(splits.values(), split, path)
    captions = Captions()
    for n, value in enumerate(as_list(source.json["sentences"], f"{path}: sentences")):
        where = f"{path}: sentences[{n}]"
        sentence = as_entry(value, where)
        video = id_text(need(sentence, "video_id", where), where)
        if chosen == ALL or splits.get(video) == chosen:
            key = id_text(need(sentence, "sen_id", where), where)
            captions.add(video, as_text(need(sentence, "caption", where), where), query_id=key)
    items = [_item(v, path) for v in videos if chosen == ALL or str(v.get("split", "")) == chosen]
    return captions.part(path, items=items, notes=notes)


def _item(video: dict[str, Any], where: str) -> dict[str, str]:
    more = {name: str(video.get(key, "")) for key, name in _MORE.items()}
    return {"doc_id": id_text(video["video_id"], where), **more}
