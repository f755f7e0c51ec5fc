"""Plain tables (CSV, TSV, JSON lines, Parquet), by the names of their columns, usual or given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions, Entry
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
OF_PAIRS = ("relevance", "stratum")
ROLES = (*NAMES, *OF_ITEMS, *OF_PAIRS, COLUMN)
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
    own = {name: name for name in (*OF_PAIRS, COLUMN) if name in free}
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


def describe_table(columns: Sequence[str], given: Mapping[str, str] = _NOTHING) -> str | None:
    """Return which column of a table is what, in words; None where it is none of a collection."""
    kind, roles = roles_of(columns, given)
    if not kind:
        return None
    shown = [role for role in roles if role in (*NAMES, *given) or (role == "media_url" and kind != "pairs")]
    shown += ["relevance"] if kind == "pairs" and "relevance" not in shown else []
    named = ", ".join(role if role == roles[role] else f"{roles[role]} as {role}" for role in shown)
    return f"columns {named}" + (f": {kind}" if kind in ("items", "pairs") else "")


def read_table(source: Source, given: Mapping[str, str] = _NOTHING) -> Part:
    """Return captions with their docs, queries, items, or pairs, depending on the columns.

    given: role → column, of those that were named.
    """
    path = str(source.path)
    rows = _rows(source, given)
    kind, roles = roles_of(list(rows.columns), given)
    texts = columns_of(rows.columns, roles.get("text", ""))
    if len(texts) > 1 and kind != "captions":
        raise FormatError(
            f"{path}: {roles['text']} is {len(texts)} columns, expected one text for each query"
        )
    named = {role: rows[texts[0] if role == "text" and texts else name] for role, name in roles.items()}
    if kind == "captions":
        return _captions(named, [rows[name] for name in texts], roles, path)
    known = {*roles, *roles.values(), *texts}
    table = pd.DataFrame({**named, **{name: rows[name] for name in rows.columns if name not in known}})
    if kind != "pairs":
        return Part(path, items=table) if kind == "items" else Part(path, queries=table)
    kept = ["query_id", "doc_id", *(name for name in OF_PAIRS if name in table)]
    return Part(path, positives=table[kept])


def _captions(
    table: Mapping[str, pd.Series], texts: Sequence[pd.Series], roles: Mapping[str, str], path: str
) -> Part:
    """Return captions with their docs; a query may have one row for each of its docs.

    texts: one column or several, of which empty ones are no captions. Of the other columns, queries keep
    only `reference`, their own item; items their address, and their place in it.
    """
    captions, docs = Captions(path), table["doc_id"]
    nothing = [None] * len(docs)
    more = (table.get(name, nothing) for name in ("query_id", "relevance", COLUMN))
    for doc, query_id, relevance, own, *row in zip(docs, *more, *texts, strict=True):
        for text in row if len(row) == 1 else filter(str.strip, row):
            captions.add(
                text,
                query_id,
                [doc],
                of=doc,
                relevance=1 if relevance is None else relevance,
                **({} if own is None else {COLUMN: own}),
            )
    described = {role: table[role] for role in OF_ITEMS if role in table}
    items = {"doc_id": docs.drop_duplicates()} if described or len(texts) > 1 else {}
    for role, values in described.items():
        known = pd.DataFrame({"doc_id": docs, role: values})[values != ""].drop_duplicates()
        twice = known[known["doc_id"].duplicated(keep=False)]
        if len(twice):
            doc = twice["doc_id"].iloc[0]
            one, other, *_ = twice.loc[twice["doc_id"] == doc, role]
            raise FormatError(f"{path}: {roles[role]} of {doc!r} is {one!r} and {other!r}, expected one")
        items[role] = items["doc_id"].map(known.set_index("doc_id")[role]).fillna("")
    return captions.part(items=pd.DataFrame(items, dtype=object) if items else None)


def _rows(source: Source, given: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows as text; of JSON the fields that are text or numbers; ids and texts must be there."""
    if source.header:
        return read_delimited(source.path)
    roles = roles_of(source.columns, given)[1]
    needed = [roles[role] for role in NAMES if role in roles]
    rows = []
    for n, record in enumerate(source.records or []):
        entry = Entry(record, f"{source.path}: entry {n}")
        for name in (each for column in needed for each in columns_of(record, column) or [column]):
            id_text(entry.value(name), f"{entry.where}: {name}")
        rows.append(
            {name: str(value) for name, value in record.items() if isinstance(value, str | int | float)}
        )
    return pd.DataFrame(rows, dtype=object).fillna("")
