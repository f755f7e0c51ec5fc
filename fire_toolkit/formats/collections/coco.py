"""COCO's own caption files (also nocaps, TextCaps): `images` and `annotations` that name them."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions, Entry, have, image_items
from fire_toolkit.formats.collections.source import Source


def recognise(source: Source) -> str | None:
    """Return why a file holds COCO's captions, or None."""
    found = source.json
    if isinstance(found, dict) and have(found.get("annotations"), "image_id", "caption"):
        return "a JSON object whose annotations have image_id and caption"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions; ids are those of annotations and images, media_url is `file_name`."""
    whole = Entry(source.json, str(source.path))
    items = image_items(whole)
    known = {item["doc_id"] for item in items}
    captions = Captions()
    for entry in whole.entries("annotations"):
        doc_id = entry.id("image_id")
        if doc_id not in known:
            raise FormatError(f"{entry.where}: image_id {doc_id} is not among the images")
        captions.add(doc_id, entry.text("caption"), query_id=entry.id("id"))
    return captions.part(whole.where, items=items)
