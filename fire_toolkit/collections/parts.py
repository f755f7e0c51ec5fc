"""What each file says about a collection: its part of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.tables.columns import PAIR, are_in
from fire_toolkit.words import n_of

PLACES = ("media_url", "start_s", "end_s")
# The columns that each table of parts has, be it empty.
_COLUMNS: dict[str, Sequence[str]] = {"queries": ("query_id", "text"), "items": ("doc_id",), "groups": PAIR}
_COLUMNS |= dict.fromkeys(("positives", "targets"), (*PAIR, "relevance"))


@dataclass(frozen=True)
class Part:
    """What one file says of a collection; a table that it does not speak of is None.

    queries: query_id, text, and any other columns. items: doc_id, and media_url or other columns;
    `is_gallery`: these are the items of the split, whatever other files name; `is_corpus`: these are
    all items there are. positives: query_id, doc_id, relevance. groups: query_id, doc_id, the docs a
    query is also ranked among. targets: as positives, the one among several that a query was written for.
    texts: id, text, title of what may be queries or items, which the qrels decide; with queries too: these,
    unless the qrels use the ids as docs. notes: what a person
    should know.
    """

    name: str
    queries: pd.DataFrame | None = None
    items: pd.DataFrame | None = None
    positives: pd.DataFrame | None = None
    groups: pd.DataFrame | None = None
    targets: pd.DataFrame | None = None
    texts: pd.DataFrame | None = None
    is_gallery: bool = False
    is_corpus: bool = False
    notes: tuple[str, ...] = ()


def part_ids(part: Part, column: str) -> list[str] | None:
    """Return the ids of one file's queries or items, in its order; None where it lists none.

    Args:
        part: what the file says.
        column: `query_id` or `doc_id`. Docs are its items, and then those that only its pairs name.
    """
    if part.texts is not None:
        return part.texts["id"].tolist()
    if column == "query_id":
        return None if part.queries is None else part.queries["query_id"].tolist()
    tables = (part.items, part.positives, part.groups)
    ids = [table["doc_id"] for table in tables if table is not None and len(table)]
    return pd.concat(ids).drop_duplicates().tolist() if ids else None


def joined(parts: Sequence[Part], name: str) -> pd.DataFrame:
    """Return the tables of one name under one another; absent extra columns are empty text."""
    present = [table for part in parts if (table := getattr(part, name)) is not None]
    columns = list(dict.fromkeys([*_COLUMNS[name], *(str(own) for table in present for own in table)]))
    full = [table.reindex(columns=columns, fill_value="") for table in present if len(table)]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame(columns=columns, dtype="str")


def joined_items(parts: Sequence[Part]) -> pd.DataFrame:
    """Return the items with what several parts say of one in one row, but for parts that repeat an item.

    Of two values the later part's counts.
    """
    listed, tables = joined(parts, "items"), [part.items for part in parts if part.items is not None]
    if len(tables) < 2 or any(table["doc_id"].duplicated().any() for table in tables):
        return listed
    said = listed.mask(listed == "").groupby("doc_id", sort=False, as_index=False).last()
    return said.reindex(columns=listed.columns).astype(object).fillna("")


def with_places(parts: Sequence[Part], notes: list[str]) -> Sequence[Part]:
    """Return the parts with tables of items' places in what they describe: captions that list their items.

    Such a table sets no order and adds no item. Its addresses take the place of a benchmark's file names, and
    not of other addresses: of two of these nobody knows which is right.
    """
    own = [part for part in parts if part.queries is not None and part.items is not None]
    if len(own) != 1 or (listed := own[0].items) is None:
        return parts
    others = list[Part]()
    for part in parts:
        table = None if part is own[0] or part.is_gallery else part.items
        is_of_places = table is not None and {"doc_id"} < {*table} <= {"doc_id", *PLACES}
        has_addresses = "media_url" in listed and listed["media_url"].str.contains("://").any()
        if table is None or not is_of_places or has_addresses or table["doc_id"].duplicated().any():
            others.append(part)
            continue
        told = table[are_in(table["doc_id"], listed["doc_id"])]
        if not len(told):
            raise FormatError(
                f"{part.name}: none of its {n_of(len(table), 'id')} is an item of {own[0].name}: it has "
                f"{some_ids(table['doc_id'])}, the items are {some_ids(listed['doc_id'])}; write the "
                "ids the same way in both"
            )
        if n_more := len(table) - len(told):
            notes.append(f"{n_of(n_more, 'row')} of {part.name} left out: no item of {own[0].name}")
        if "media_url" in listed:
            notes.append(f"media_url of {n_of(len(told), 'item')} as {part.name} says")
        listed = joined_items([replace(own[0], items=listed), replace(part, items=told)])
    return [replace(part, items=listed) if part is own[0] else part for part in others]


def some_ids(ids: pd.Series) -> str:
    """Return the first three of some ids, in words."""
    shown = ", ".join(map(repr, ids.head(3)))
    return shown + (", …" if len(ids) > 3 else "")
