"""COCO's own caption files (also nocaps, TextCaps): `images` and `annotations` that name them."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_list, as_text, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file holds COCO's captions, or None."""
    found = source.json
    if isinstance(found, dict) and have(found.get("annotations"), "image_id", "caption"):
        return "a JSON object whose annotations have image_id and caption"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions; ids are those of annotations and images, media_url is `file_name`."""
    path = str(source.path)
    items = []
    for n, value in enumerate(as_list(need(source.json, "images", path), path)):
        where = f"{path}: images[{n}]"
        image = as_entry(value, where)
        name = as_text(need(image, "file_name", where), where)
        items.append({"doc_id": id_text(need(image, "id", where), where), "media_url": name})
    known = {item["doc_id"] for item in items}
    captions = Captions()
    for n, value in enumerate(source.json["annotations"]):
        where = f"{path}: annotations[{n}]"
        entry = as_entry(value, where)
        doc_id = id_text(need(entry, "image_id", where), where)
        if doc_id not in known:
            raise FormatError(f"{where}: image_id {doc_id} is not among the images")
        key = id_text(need(entry, "id", where), where)
        captions.add(doc_id, as_text(need(entry, "caption", where), where), query_id=key)
    return captions.part(path, items=items)
