"""Karpathy's split of COCO and Flickr30k: `images`, each with its split and its sentences."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import (
    ALL,
    Captions,
    as_entry,
    as_list,
    as_text,
    chosen_split,
    have,
    need,
)
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is a Karpathy split, or None."""
    found = source.json
    if isinstance(found, dict) and have(found.get("images"), "filename", "sentences"):
        return "a JSON object whose images have sentences"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions of one split; ids are `sentid`, and `cocoid` (COCO) or `filename`."""
    path = str(source.path)
    places = [f"{path}: images[{n}]" for n in range(len(source.json["images"]))]
    images = [as_entry(i, where) for i, where in zip(source.json["images"], places, strict=True)]
    chosen, notes = chosen_split((str(i.get("split", "")) for i in images), split, path)
    captions, items = Captions(), []
    for image, where in zip(images, places, strict=True):
        if chosen not in (ALL, str(image.get("split", ""))):
            continue
        filename = as_text(need(image, "filename", where), where)
        doc_id = id_text(image.get("cocoid", filename), where)
        media = "/".join(part for part in (image.get("filepath"), filename) if isinstance(part, str) and part)
        items.append({"doc_id": doc_id, "media_url": media})
        for value in as_list(need(image, "sentences", where), where):
            sentence = as_entry(value, where)
            key = id_text(need(sentence, "sentid", where), where)
            captions.add(doc_id, as_text(need(sentence, "raw", where), where), query_id=key)
    return captions.part(path, items=items, notes=notes)
