"""Karpathy's split of COCO and Flickr30k: `images`, each with its split and its sentences."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import ALL, Captions, Entry, chosen_split, have, split_of
from fire_toolkit.formats.collections.source import Source


def recognise(source: Source) -> str | None:
    """Return why a file is a Karpathy split, or None."""
    found = source.json
    if isinstance(found, dict) and have(found.get("images"), "filename", "sentences"):
        return "a JSON object whose images have sentences"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions of one split; ids are `sentid`, and `cocoid` (COCO) or `filename`."""
    whole = Entry(source.json, str(source.path))
    images = whole.entries("images")
    chosen, notes = chosen_split((split_of(image) for image in images), split, whole.where)
    captions, items = Captions(), []
    for image in images:
        if chosen not in (ALL, split_of(image)):
            continue
        filename = image.text("filename")
        doc_id = image.id("cocoid", filename)
        folder = image.value("filepath", "")
        media = f"{folder}/{filename}" if isinstance(folder, str) and folder else filename
        items.append({"doc_id": doc_id, "media_url": media})
        for sentence in image.entries("sentences"):
            captions.add(doc_id, sentence.text("raw"), query_id=sentence.id("sentid"))
    return captions.part(whole.where, items=items, notes=notes)
