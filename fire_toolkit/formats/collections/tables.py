"""Plain tables (CSV, TSV, JSON lines, Parquet), recognised by their column names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.names import find_name
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.matching.own_items import COLUMN

NAMES: dict[str, tuple[str, ...]] = {
    "query_id": ("query_id", "caption_id", "sentence_id", "sen_id", "sentid", "qid", "key"),
    "text": ("text", "caption", "sentence", "query", "description"),
    "doc_id": (
        *("doc_id", "video_id", "image_id", "clip_id", "item_id", "video", "image", "clip", "filename"),
        *("file_name", "name"),
    ),
}
MEDIA = (
    *("media_url", "url", "uri", "link", "video_url", "image_url", "media", "path", "media_path"),
    *("video_path", "image_path", "filepath", "file_path", "file", "src", "file_name", "filename"),
)


def _found(columns: Iterable[str]) -> dict[str, str]:
    """Return which column holds the query id, the text and the doc id: the first known name, in any case."""
    present = list(columns)
    found = {what: find_name(present, names) for what, names in NAMES.items()}
    return {what: name for what, name in found.items() if name is not None}


def _item_names(columns: Sequence[str]) -> dict[str, str] | None:
    """Return which columns of a table of items are doc_id and media_url; None if it is another table.

    With exactly these names items may have a text; with other names a text makes the rows captions.
    """
    present = set(columns)
    if "query_id" in present:
        return None
    if {"doc_id", "media_url"} <= present:
        return {"doc_id": "doc_id", "media_url": "media_url"}
    found = _found(columns)
    media = _media(columns, {"doc_id": found.get("doc_id", "")})
    is_items = media is not None and "doc_id" in found and not {"text", "query_id"} & set(found)
    return {"doc_id": found["doc_id"], "media_url": str(media)} if is_items else None


def _media(columns: Iterable[str], found: Mapping[str, str]) -> str | None:
    """Return the column with the address of the docs of captions, or None."""
    return find_name([name for name in columns if name not in found.values()], MEDIA)


def _named(found: Mapping[str, str]) -> str:
    return ", ".join(name if what == name else f"{name} as {what}" for what, name in found.items())


def recognise(source: Source) -> str | None:
    """Return why a file is a table of captions, queries, items or pairs, or None."""
    columns = source.columns
    found = _found(columns)
    named = _named(found)
    if (items := _item_names(columns)) is not None:
        return f"columns {_named(items)}: items"
    if "text" in found and ("doc_id" in found or "query_id" in found):
        media = _media(columns, found) if "doc_id" in found else None
        return f"columns {_named({**found, 'media_url': media}) if media else named}"
    if {"query_id", "doc_id"} <= set(found) and "relevance" in columns:
        return f"columns {named}, relevance: pairs"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return captions with their docs, queries, items, or pairs, depending on the columns."""
    path = str(source.path)
    rows = _rows(source)
    if (items := _item_names(list(rows.columns))) is not None:
        return Part(path, items=rows.rename(columns={name: what for what, name in items.items()}))
    found = _found(rows.columns)
    media = _media(rows.columns, found)
    rows = rows.rename(columns={name: what for what, name in found.items()})
    if "text" not in rows:
        kept = ["query_id", "doc_id", "relevance", *(["stratum"] if "stratum" in rows else [])]
        return Part(path, positives=rows[kept])
    if "doc_id" not in rows:
        return Part(path, queries=rows)
    return _captions(rows, path, media)


def _captions(rows: pd.DataFrame, path: str, media: str | None) -> Part:
    """Return captions with their docs; a query may have one row for each of its docs.

    media: the column with the media_url of the docs. Of the other columns, queries keep only `reference`,
    their own item.
    """
    captions = Captions()
    texts: dict[str, str] = {}
    keys = rows["query_id"] if "query_id" in rows else [None] * len(rows)
    relevances = rows["relevance"] if "relevance" in rows else [1] * len(rows)
    own_items = [{COLUMN: own} for own in rows[COLUMN]] if COLUMN in rows else [{}] * len(rows)
    columns = (keys, rows["doc_id"], rows["text"], relevances, own_items)
    for key, doc, text, relevance, own_item in zip(*columns, strict=True):
        if key is None or key not in texts:
            key = captions.add(doc, text, query_id=key, is_positive=False, **own_item)
            texts[key] = text
        elif texts[key] != text:
            raise FormatError(f"{path}: query {key!r} has two texts, {texts[key][:40]!r} and {text[:40]!r}")
        captions.pairs.append((key, doc, relevance))
    return captions.part(path, items=_places(rows, media, path) if media else ())


def _places(rows: pd.DataFrame, media: str, path: str) -> list[dict[str, str]]:
    """Return every doc in row order with its one address, empty if it has none."""
    places = dict.fromkeys(rows["doc_id"], "")
    for doc, place in zip(rows["doc_id"], rows[media], strict=True):
        if place and places[doc] not in ("", place):
            raise FormatError(f"{path}: {media} of {doc!r} is {places[doc]!r} and {place!r}, expected one")
        places[doc] = place or places[doc]
    return [{"doc_id": doc, "media_url": place} for doc, place in places.items()]


def _rows(source: Source) -> pd.DataFrame:
    if source.header:
        return read_delimited(source.path)
    records = source.records or []
    needed = list(_found(source.columns).values())
    rows = [_plain(record, needed, f"{source.path}: entry {n}") for n, record in enumerate(records)]
    return pd.DataFrame(rows, dtype=object).fillna("")


def _plain(record: Mapping[str, object], needed: list[str], where: str) -> dict[str, str]:
    """Return the fields that are text or numbers, as text; those in `needed` must be ids."""
    for name in needed:
        id_text(need(record, name, where), f"{where}: {name}")
    return {str(name): str(value) for name, value in record.items() if isinstance(value, str | int | float)}
