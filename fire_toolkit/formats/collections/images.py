"""Benchmarks of captioned images, and the retrieval JSON that image and video models share."""

from __future__ import annotations

import csv
import re

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import (
    ALL,
    Captions,
    Entry,
    chosen_split,
    entries_of,
    have,
    image_items,
)
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.collections.tables import NAMES

_TOKEN = re.compile(r"(\S+)#(\d+)\t(.*)")
_HEADERS = {"image,caption": ",", "image_name| comment_number| comment": "|", "image|caption": "|"}


def read_karpathy(source: Source, split: str | None) -> Part:
    """Return the captions of one split of Karpathy's COCO or Flickr30k; images name split and sentences.

    Ids are `sentid`, and `cocoid` (COCO) or `filename`.
    """
    whole = Entry(source.json, str(source.path))
    images = whole.entries("images")
    chosen, notes = chosen_split((image.split for image in images), split, whole.where)
    captions, items = Captions(), []
    for image in images:
        if chosen not in (ALL, image.split):
            continue
        filename = image.text("filename")
        doc_id = image.id("cocoid", filename)
        folder = image.value("filepath", "")
        media = f"{folder}/{filename}" if isinstance(folder, str) and folder else filename
        items.append({"doc_id": doc_id, "media_url": media})
        for sentence in image.entries("sentences"):
            captions.add(doc_id, sentence.text("raw"), query_id=sentence.id("sentid"))
    return captions.part(whole.where, items=items, notes=notes)


def read_coco(source: Source, split: str | None) -> Part:
    """Return the captions of COCO's own files (also nocaps, TextCaps).

    Ids are those of annotations and images, media_url is `file_name`.
    """
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


def recognise_flickr(source: Source) -> str | None:
    """Return why a file is Flickr30k's captions, or None."""
    first = source.lines[0] if source.lines else ""
    if _TOKEN.fullmatch(first):
        return "lines of `name#number`, a tab and a caption"
    return f"the header is {first.strip()!r}" if first.strip() in _HEADERS else None


def read_flickr(source: Source, split: str | None) -> Part:
    """Return Flickr30k's captions: `name.jpg#0<TAB>caption`, or `image,caption` with commas in captions.

    A query's id is `name.jpg#n` as written, or n in the order of the file.
    """
    delimiter = _HEADERS.get(source.lines[0].strip())
    captions = Captions()
    for number, line in source.numbered_lines:
        if delimiter and line.strip() in _HEADERS:
            continue
        where = f"{source.path}:{number}"
        if delimiter is None:
            found = _TOKEN.fullmatch(line)
            if found is None:
                raise FormatError(f"{where}: {line[:40]!r}, expected name#number, a tab and a caption")
            captions.add(found[1], found[3], query_id=f"{found[1]}#{found[2]}")
        else:
            captions.add(*_fields(line, delimiter, where))
    return captions.part(str(source.path))


def _fields(line: str, delimiter: str, where: str) -> tuple[str, str]:
    """Return name and caption: everything after the name (and number), quoted or not, is the caption."""
    name, found, caption = line.partition(delimiter)
    if not found:
        raise FormatError(f"{where}: {line[:40]!r}, expected name{delimiter}caption")
    if delimiter == "|":
        caption = re.sub(r"^\s*\d+\s*\|", "", caption).strip()
    return name.strip(), _unquoted(caption)


def _unquoted(caption: str) -> str:
    if len(caption) < 2 or not (caption.startswith('"') and caption.endswith('"')):
        return caption
    try:
        fields = next(csv.reader([caption], strict=True))
    except csv.Error:
        return caption
    return fields[0] if len(fields) == 1 else caption


def _lavis_item(records: object) -> str | None:
    """Return the field that names the item; None where captions have ids of their own (a plain table)."""
    if any(have(records, name) for name in NAMES["query_id"]):
        return None
    return next((name for name in ("image", "video") if have(records, name, "caption")), None)


def recognise_lavis(source: Source) -> str | None:
    """Return why a file is LAVIS's list of captions, or None."""
    item = _lavis_item(source.records)
    return f"JSON entries with {item} and caption" if item else None


def read_lavis(source: Source, split: str | None) -> Part:
    """Return the captions of LAVIS, BLIP and UMT: `[{image or video, caption: text or texts}]`.

    An item's id is its path as written, a query's `path#n`.
    """
    item = _lavis_item(source.records) or "image"
    captions = Captions()
    for entry in entries_of(source):
        captions.add_all(entry.id(item), entry.texts("caption"))
    return captions.part(str(source.path))
