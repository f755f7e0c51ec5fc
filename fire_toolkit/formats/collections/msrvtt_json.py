"""MSR-VTT's `MSRVTT_data.json`: `videos` with their splits, `sentences` with their ids."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import ALL, Captions, Entry, chosen_split, split_of
from fire_toolkit.formats.collections.source import Source

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
    whole = Entry(source.json, str(source.path))
    videos = whole.entries("videos")
    splits = {video.id("video_id"): split_of(video) for video in videos}
    chosen, notes = chosen_split(splits.values(), split, whole.where)
    captions = Captions()
    for sentence in whole.entries("sentences"):
        doc_id = sentence.id("video_id")
        if chosen == ALL or splits.get(doc_id) == chosen:
            captions.add(doc_id, sentence.text("caption"), query_id=sentence.id("sen_id"))
    items = [_item(video) for video in videos if chosen in (ALL, split_of(video))]
    return captions.part(whole.where, items=items, notes=notes)


def _item(video: Entry) -> dict[str, str]:
    more = {name: str(video.value(key, "")) for key, name in _MORE.items()}
    return {"doc_id": video.id("video_id"), **more}
