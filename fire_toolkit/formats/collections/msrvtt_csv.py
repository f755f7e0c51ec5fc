"""MSR-VTT's JSFUSION test list: `key,vid_key,video_id,sentence`, one caption a video."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.tables.delimited import read_delimited

_COLUMNS = ["key", "vid_key", "video_id", "sentence"]


def recognise(source: Source) -> str | None:
    """Return why a file is the JSFUSION list, or None."""
    return f"the header names {', '.join(_COLUMNS)}" if set(_COLUMNS) <= set(source.header) else None


def read(source: Source, split: str | None) -> Part:
    """Return the captions; the query's id is `key` (ret0), the item's `video_id`."""
    rows = read_delimited(source.path, required=_COLUMNS)
    captions = Captions()
    for key, video, sentence in zip(rows["key"], rows["video_id"], rows["sentence"], strict=True):
        captions.add(video, sentence, query_id=key)
    return captions.part(str(source.path))
