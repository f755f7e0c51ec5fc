"""The list of a split's items: ids a line, a JSON list of ids, names with paths, COCO's image list."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Entry, have, image_items
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is a list of items, or None."""
    found = source.json
    if isinstance(found, list) and found and all(isinstance(entry, str | int) for entry in found):
        return "a JSON list of ids"
    if isinstance(found, dict) and found and all(isinstance(value, str) for value in found.values()):
        return "a JSON object of paths under names"
    if isinstance(found, dict) and have(found.get("images"), "id", "file_name"):
        return "a JSON object whose images have id and file_name"
    if (
        found is None
        and source.records is None
        and source.lines
        and all(_is_id(line) for line in source.lines)
    ):
        return "one id a line"
    return None


def _is_id(line: str) -> bool:
    return len(line.split()) == 1 and "," not in line and line.strip()[:1] not in ("{", "[", "(")


def read(source: Source, split: str | None) -> Part:
    """Return the items of the split; media_url is the path, where the file has one."""
    return Part(str(source.path), items=pd.DataFrame(_rows(source), dtype=object), is_gallery=True)


def _rows(source: Source) -> list[dict[str, str]]:
    found: Any = source.json
    path = str(source.path)
    if found is None:
        return [{"doc_id": line.strip()} for line in source.lines]
    if isinstance(found, list):
        return [{"doc_id": id_text(entry, path)} for entry in found]
    if "images" not in found or isinstance(found["images"], str):
        return [{"doc_id": id_text(name, path), "media_url": media} for name, media in found.items()]
    return image_items(Entry(found, path))
