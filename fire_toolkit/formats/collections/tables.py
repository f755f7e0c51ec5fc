"""Plain tables (CSV, TSV, JSON lines, Parquet), by the names of their columns, usual or given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.listed import find_name
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
OF_ITEMS = ("media_url", "start_s", "end_s", "source_url", "source_start_s", "source_end_s")
ROLES = (*NAMES, *OF_ITEMS, "relevance", "stratum", COLUMN)
_NOTHING: Mapping[str, str] = {}


def columns_of(columns: Iterable[str], name: str) -> list[str]:
    """Return the columns that a name means: the one of that name, or all of a pattern (`caption_*`)."""
    present = list(columns)
    return [name] if name in present else [each for each in present if fnmatchcase(each, name)]


def roles_of(columns: Sequence[str], given: Mapping[str, str] = _NOTHING) -> tuple[str, dict[str, str]]:
    """Return what a table is, and role → column: those given, and the first of the usual names, in any case.

    Args:
        columns: of the table.
        given: role → column, or a pattern of columns with texts; a column that was given has no other role.

    Returns:
        `items`, `captions` (with their docs), `queries`, `pairs` (with their relevance) or an empty text.
        With exactly the names doc_id and media_url items may have a text; with others a text makes captions.
    """
    if not given and {"doc_id", "media_url"} <= {*columns} and "query_id" not in columns:
        return "items", {"doc_id": "doc_id", "media_url": "media_url"}
    taken = {column for name in given.values() for column in columns_of(columns, name)}
    free = [name for name in columns if name not in taken]
    usual = {role: find_name(free, names) for role, names in NAMES.items() if role not in given}
    found = {role: name for role in NAMES if (name := given.get(role) or usual.get(role))}
    media = find_name([name for name in free if name not in found.values()], MEDIA)
    own = {name: name for name in ("relevance", "stratum", COLUMN) if name in free}
    more = {**({"media_url": media} if media else {}), **own, **given}
    places = {role: name for role, name in more.items() if role not in NAMES}
    if "doc_id" in found and "media_url" in places and not {"text", "query_id"} & {*found}:
        return "items", found | places
    if "text" in found and "doc_id" in found:
        return "captions", found | places
    if "text" in found and "query_id" in found:
        return "queries", found | {role: name for role, name in places.items() if role in given}
    is_pairs = {"query_id", "doc_id"} <= {*found} and "relevance" in places
    return ("pairs" if is_pairs else ""), found | places


def recognise(source: Source) -> str | None:
    """Return why a file is a table of captions, queries, items or pairs, or None."""
    return describe_table(source.columns)


def describe_table(columns: Sequence[str], given: Mapping[str, str] = _NOTHING) -> str | None:
    """Return which column of a table is what, in words; None where it is none of a collection."""
    kind, roles = roles_of(columns, given)
    if not kind:
        return None
    shown = [role for role in roles if role in (*NAMES, *given) or (role == "media_url" and kind != "pairs")]
    shown += ["relevance"] if kind == "pairs" and "relevance" not in shown else []
    named = ", ".join(role if role == roles[role] else f"{roles[role]} as {role}" for role in shown)
    return f"columns {named}" + (f": {kind}" if kind in ("items", "pairs") else "")


def read(source: Source, split: str | None) -> Part:
    """Return captions with their docs, queries, items, or pairs, depending on the columns."""
    return read_table(source)


def read_table(source: Source, given: Mapping[str, str] = _NOTHING) -> Part:
    """Return the same of a table of which some columns were named: role → column."""
    path = str(source.path)
    needed = roles_of(source.columns, given)[1]
    rows = _rows(source, [name for role, name in needed.items() if role in NAMES])
    kind, roles = roles_of(list(rows.columns), given)
    texts = [rows[name] for name in columns_of(rows.columns, roles.get("text", ""))]
    if len(texts) > 1 and kind != "captions":
        raise FormatError(
            f"{path}: {roles['text']} is {len(texts)} columns, expected one text for each query"
        )
    roles |= {"text": str(texts[0].name)} if texts else {}
    others = [
        name for name in rows.columns if name not in {*roles, *roles.values(), *(t.name for t in texts)}
    ]
    named = {role: rows[name] for role, name in roles.items()}
    table = pd.DataFrame({**named, **{name: rows[name] for name in others}})
    if kind == "items":
        return Part(path, items=table)
    if kind == "queries":
        return Part(path, queries=table)
    if kind == "pairs":
        kept = ["query_id", "doc_id", "relevance", *(["stratum"] if "stratum" in table else [])]
        return Part(path, positives=table[kept])
    items = _items(table, {role: roles[role] for role in OF_ITEMS if role in roles}, path)
    captions = _captions(table, texts, path)
    return captions.part(path, items=items if len(texts) > 1 or {*OF_ITEMS} & {*roles} else ())


def _captions(table: pd.DataFrame, texts: Sequence[pd.Series], path: str) -> Captions:
    """Return captions with their docs; a query may have one row for each of its docs.

    texts: one column or several, of which empty ones are no captions. Of the other columns, queries keep
    only `reference`, their own item.
    """
    captions = Captions()
    keys = table["query_id"] if "query_id" in table else [None] * len(table)
    relevances = table["relevance"] if "relevance" in table else [1] * len(table)
    own_items = [{COLUMN: own} for own in table[COLUMN]] if COLUMN in table else [{}] * len(table)
    for key, doc, relevance, own, *row in zip(
        keys, table["doc_id"], relevances, own_items, *texts, strict=True
    ):
        for text in row if len(row) == 1 else [text for text in row if text.strip()]:
            query_id = captions.next_id(doc) if key is None else key
            known = captions.text_of(query_id) if key is not None else None
            if known is None:
                captions.add(query_id, text, **own)
            elif known != text:
                raise FormatError(
                    f"{path}: query {query_id!r} has two texts, {known[:40]!r} and {text[:40]!r}"
                )
            captions.pairs.append((query_id, doc, relevance))
    return captions


def _items(table: pd.DataFrame, roles: Mapping[str, str], path: str) -> list[dict[str, str]]:
    """Return every doc in row order with its one address, and its one place in it; empty if it has none."""
    docs = table["doc_id"]
    found = {"doc_id": docs.drop_duplicates()}
    for role, name in roles.items():
        known = table.loc[table[role] != "", ["doc_id", role]].drop_duplicates()
        twice = known["doc_id"].duplicated(keep=False)
        if twice.any():
            doc = known.loc[twice, "doc_id"].iloc[0]
            one, other, *_ = known.loc[known["doc_id"] == doc, role]
            raise FormatError(f"{path}: {name} of {doc!r} is {one!r} and {other!r}, expected one")
        found[role] = found["doc_id"].map(known.set_index("doc_id")[role]).fillna("")
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def _rows(source: Source, needed: Sequence[str]) -> pd.DataFrame:
    """Return the rows as text; of JSON the fields that are text or numbers, and those needed must be ids."""
    if source.header:
        return read_delimited(source.path)
    rows = []
    for n, record in enumerate(source.records or []):
        for name in needed:
            for column in columns_of(record, name) or [name]:
                where = f"{source.path}: entry {n}"
                id_text(need(record, column, where), f"{where}: {column}")
        rows.append(
            {name: str(value) for name, value in record.items() if isinstance(value, str | int | float)}
        )
    return pd.DataFrame(rows, dtype=object).fillna("")
