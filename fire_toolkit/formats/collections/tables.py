"""Plain tables by the names of their columns, usual or given, and lists of ids, in any of the usual forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import PLACES, Part
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats import columns as usual_names
from fire_toolkit.formats.collections.source import Entry, Source, have
from fire_toolkit.formats.columns import COLLECTION, MEDIA, columns_of, find_name, guessed_columns, line_of
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.named_arrays import NAMES
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.matching.own_items import COLUMN
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of

_LIST = re.compile(r"""\[(?:["'](?:.|\n)*["'])?\]""")  # of texts, or of none; as Python writes it, too
FILE_NAME = re.compile(r"(?:[^,\t]|, )*\.\w{1,5}(?:#\d+)?")  # with blanks too, and a caption's number

OF_ITEMS = (*PLACES, "source_url", "source_start_s", "source_end_s")
OF_PAIRS = ("relevance", "stratum")
ALL, SPLIT = "all", "split"
SPLITS = re.compile(
    r"(?<![a-z])(?:train(?:ing)?|test(?:ing)?|val(?:id(?:at(?:e|ion))?)?|dev(?:elopment)?|eval(?:uation)?)"
    r"(?=(?:images|videos|list|ids)?(?![a-z]))"
)
_GRADES = re.compile(r"(?<![a-z])(?:scores?|similarity|sim|relevance|rel|grade|rating)(?![a-z])")  # of a pair
ROLES = (*COLLECTION, *OF_ITEMS, *OF_PAIRS, COLUMN)
_NOT_OF_QUERIES = ("doc_id", "of", "target", "members", *OF_PAIRS, *OF_ITEMS)
POSITIVES = {"query-id", "corpus-id"}  # a table of these alone, as NanoBEIR has it
_NOTHING: Mapping[str, str] = {}
_SHOWN = 6  # columns of a table that are named
_ARRAYS = {"query_id": NAMES["query_ids"], "doc_id": NAMES["doc_ids"]}
_HEADERS = {"id", "ids", "name", "names", "index", "idx", "#"}.union(*COLLECTION.values(), *_ARRAYS.values())


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
    usual = {role: find_name(free, names) for role, names in COLLECTION.items() if role not in given}
    found = {role: name for role in COLLECTION if (name := given.get(role) or usual.get(role))}
    media = find_name([name for name in free if name not in found.values()], MEDIA)
    own = {name: name for name in (*OF_PAIRS, COLUMN) if name in free}
    if "text" not in found and (grade := find_name(free, usual_names.RELEVANCE)):
        own_names = {role: find_name(free, names) for role, names in usual_names.OWN.items()}
        pair = {role: name for role in PAIR if (name := found.get(role) or own_names[role])}
        if len(pair) == len(PAIR):
            found, own["relevance"] = pair, grade
    more = {**({"media_url": media} if media else {}), **own, **given}
    places = {role: name for role, name in more.items() if role not in COLLECTION}
    if "doc_id" in found and "media_url" in places and not {"text", "query_id"} & {*found}:
        return "items", found | places
    if "text" in found and "doc_id" in found:
        return "captions", found | places
    if "text" in found and "query_id" in found:
        return "queries", found | {role: name for role, name in places.items() if role in given}
    is_pairs = {"query_id", "doc_id"} <= {*found} and ("relevance" in places or {*columns} == POSITIVES)
    return ("pairs" if is_pairs else ""), found | places


def line_to_type(columns: Sequence[str], given: Mapping[str, str]) -> str:
    """Return the line that makes captions with their docs of a table, by the best guesses at its columns.

    Numbered columns of texts become a pattern; what was given stays. An id beside a question is the query's.

    Examples:
        >>> line_to_type(["clip", "path", "text_1", "text_2"], {"doc_id": "clip"})
        "--columns 'doc_id=clip,text=text_*,media_url=path'"
        >>> line_to_type(["query", "id", "gold_ids"], {})
        "--columns 'doc_id=gold_ids,text=query,query_id=id'"
    """
    usual, known = usual_names.GUESSED_CAPTIONS, roles_of(columns, given)[1]
    free = [name for name in columns if name not in given.values()]
    names = {"doc_id": usual["doc_id"], COLUMN: (COLUMN, "pth1")}
    if "query_id" not in known and find_name(columns, ("query", "question")):
        names = {"query_id": ("id",), **names, "doc_id": usual["doc_id"][:-1]}
    elif find_name(columns, usual_names.START) and columns[0].lower().endswith("_id"):
        names["doc_id"] = (columns[0].lower(),)  # of parts of a video, the part
    own = {role: name for role, wanted in names.items() if (name := find_name(free, wanted))}
    found = guessed_columns(columns, usual, {**known, **own, **given})
    stem = found.get("text", "").rstrip("0123456789")
    alike = columns_of(columns, f"{stem}*") if stem and "text" not in given else []
    if len(alike) > 1 and not any(each[len(stem) :].strip("_0123456789") for each in alike):
        own = {each.lower().rstrip("_0123456789"): each for each in reversed(free)}  # each text has its item
        item = next((own[name] for name in usual_names.MEDIA if own.get(name, name) != name), "")
        found |= {"doc_id": item} if item else {"text": f"{stem}*"}
    return line_of(found)


def describe_table(source: Source) -> str | None:
    """Return which column of a table is what, in words; None where it is none of a collection."""
    columns, given = source.columns, source.given
    kind, roles = roles_of(_without_addresses(source), given)
    if not kind:
        return None
    told = (*COLLECTION, *given, *(["media_url"] if kind != "pairs" else []))
    shown = [role for role in roles if role in told]
    shown += ["relevance"] if kind != "queries" and "relevance" in roles and "relevance" not in shown else []
    named = ", ".join(role if role == roles[role] else f"{roles[role]} as {role}" for role in shown)
    ids = "; query_id is made of doc_id" if kind == "captions" and "query_id" not in roles else ""
    used = {SPLIT}.union(*(columns_of(columns, name) for name in roles.values()))
    left = [name for name in columns if name and name not in used] if kind in ("captions", "pairs") else []
    others = f"; not read: {', '.join(left[:_SHOWN])}{', …' if len(left) > _SHOWN else ''}" if left else ""
    return f"columns {named}{ids}{others}" + (f": {kind}" if kind in ("items", "pairs") else "")


def refuse_unread_grades(source: Source) -> None:
    """Raise UsageError where captions have their items and an unnamed score of each pair."""
    kind, roles = roles_of(source.columns, source.given)
    unread = next((each for each in source.columns if _GRADES.search(each.lower())), "")
    is_told = {"text", "doc_id"} <= {*source.given} or "relevance" in roles or unread in roles.values()
    if kind == "captions" and unread and not is_told:
        own = {role: roles[role] for role in COLLECTION if role in roles}
        raise UsageError(
            f"{source.path}: column {unread} may say how relevant each item is; if so, make whole grades of "
            f"it and add {line_of({**own, 'relevance': unread})}; if each row is a positive, {line_of(own)}"
        )


def read_table(source: Source, split: str | None = None) -> Part:
    """Return captions with their docs, queries, items, or pairs, depending on the columns.

    split: the one to read of a table with a column split.
    """
    path, given = str(source.path), source.given
    rows, notes = rows_of(source), list[str]()
    if SPLIT in rows and SPLIT not in given.values():
        chosen, notes = chosen_split(rows[SPLIT], split, path)
        rows = rows if chosen == ALL else rows[rows[SPLIT] == chosen].reset_index(drop=True)
    kind, roles = roles_of(list(rows.columns), given)
    texts = columns_of(rows.columns, roles.get("text", ""))
    if len(texts) == 1:
        rows = rows.assign(**{texts[0]: _as_lists(rows[texts[0]], path)})
    are_lists = len(texts) == 1 and rows[texts[0]].map(lambda text: isinstance(text, list)).any()
    if (len(texts) > 1 or are_lists) and kind != "captions":
        found = "holds lists" if are_lists else f"is {len(texts)} columns"
        raise FormatError(f"{path}: {roles['text']} {found}, expected one text for each query")
    if lost := next((name for role, name in roles.items() if role != "text" and name not in rows), None):
        raise FormatError(f"{path}: {lost} holds lists or objects, expected a value for each row")
    named = {role: rows[texts[0] if role == "text" and texts else name] for role, name in roles.items()}
    table = pd.DataFrame(named)
    more: dict[str, Any] = {"notes": tuple(notes)}
    if kind == "captions":
        start = find_name([name for name in rows.columns if name not in roles.values()], usual_names.START)
        n_starts = pd.Series(0) if start is None else rows[start].groupby(table["doc_id"]).nunique()
        if n_parts := int((n_starts > 1).sum()):
            own = "where rows are parts of one, give each part an id of its own"
            more["notes"] += (f"{n_of(n_parts, 'item')} with several values of {start}: {own}",)
        if len(texts) > 1 or are_lists or {*OF_ITEMS} & {*table}:
            more["items"] = _items(table, roles, path)
        if len(texts) > 1:
            table = table.assign(text=pd.Series(rows[texts].to_numpy().tolist(), index=table.index))
        if len(texts) > 1 or are_lists:
            lists = [(own or [""]) if isinstance(own, list) else [own] for own in table["text"]]
            table = table.loc[table.index.repeat([*map(len, lists)])].reset_index(drop=True)
            table["text"] = pd.Series([*chain.from_iterable(lists)], dtype=object)  # no str: half a character
            is_told = table["text"].fillna("").str.strip() != ""
            if n_empty := int((~is_told).sum()):
                more["notes"] += (f"{n_of(n_empty, 'empty caption')} left out",)
            table = table[is_told]
        return captions_part(path, table, **more)
    if kind == "pairs":
        table = table if "relevance" in table else table.assign(relevance=1)
        names = [name for name in (*PAIR, *OF_PAIRS) if name in table]
        return Part(path, positives=table[names], **more)
    known = {*roles, *roles.values(), *texts}
    table = table.assign(**{name: rows[name] for name in rows.columns if name not in known})
    return Part(path, items=table, **more) if kind == "items" else Part(path, queries=table, **more)


def _as_lists(texts: pd.Series[Any], where: str) -> pd.Series[Any]:
    """Return texts all of which are lists in JSON, as a CSV holds several captions in a cell, as lists."""
    if not len(texts) or not all(isinstance(each, str) and _LIST.fullmatch(each.strip()) for each in texts):
        return texts
    rows, at = enumerate(texts, start=2), f"{where}: lists in cells (JSON, as to_json writes them)"
    return pd.Series([parse_json(each, at, line=n) for n, each in rows], texts.index, dtype="object")


def chosen_split(found: Iterable[str], wanted: str | None, where: str) -> tuple[str, list[str]]:
    """Return the split to read (the one wanted, in any usual name, or the only one) and a note on it.

    Raises:
        UsageError: there is no such split; or none is wanted, and of several none is for testing.
    """
    splits = sorted(set(found))
    shown = ", ".join(each or "(empty)" for each in splits)
    if splits in ([], [""]) and wanted not in (None, ALL):
        raise UsageError(f"{where}: names no splits; leave out --split")
    if wanted == ALL or (wanted is None and len(splits) == 1):
        return ALL, []
    same = [wanted] if wanted in splits else names_of_split(splits, wanted)
    if len(same) != 1:
        said = f"has splits {shown}; choose one with --split, or all"
        raise UsageError(f"{where}: {f'no split {wanted!r}; found {shown}' if wanted else said}")
    others = [other or "(empty)" for other in splits if other != same[0]]
    return same[0], [f"split {same[0]} read; the file also has {', '.join(others)}"] if others else []


def names_of_split(found: Sequence[str], wanted: str | None) -> list[str]:
    """Return which names mean the split wanted; where none is, a test's, else an evaluation's."""
    split = wanted or ("test" if "tes" in map(short_split, found) else "eval")
    return [each for each in found if short_split(each) == short_split(split)]


def short_split(split: str) -> str:
    """Return what a split's usual names begin with: val of Validation, tes of test1; others as they are."""
    return split[:3].lower() if SPLITS.fullmatch(split.lower().rstrip("0123456789")) else split


def captions_part(path: str, rows: pd.DataFrame, *, join: str = "", **more: Any) -> Part:
    """Return captions with their docs as a part; a query may have one row for each of its docs.

    Args:
        path: the file.
        rows: text and doc_id (of several a list); query_id, else captions are `of#n`, n from 0 in file order
            (of: by default the doc); relevance, target, members; of other columns queries keep all but
            those of items.
        join: what stands between the texts of one query, where its captions are parts of it; else a query
            that comes again must have the same text.
        more: further tables and notes.
    """
    if "query_id" not in rows:
        of = rows["of" if "of" in rows else "doc_id"]
        rows = rows.assign(query_id=of + "#" + of.groupby(of, sort=False).cumcount().astype("str"))
    texts: dict[str, str] = {}
    for query_id, text in zip(rows["query_id"], rows["text"], strict=True):
        known = texts.setdefault(query_id, "" if join else text)
        if join:
            texts[query_id] = known + join + text if known else text
        elif known != text:
            shown = f"{known[:40]!r} and {text[:40]!r}"
            raise FormatError(f"{path}: query {query_id!r} has two texts, {shown}")
    once = rows.drop_duplicates("query_id")
    once = once.assign(text=pd.Series(list(texts.values()), once.index, dtype=object))
    pairs = once if join else rows
    pairs = pairs if "relevance" in pairs else pairs.assign(relevance=1)

    def listed(name: str) -> pd.DataFrame | None:
        if name not in pairs:
            return None
        found = pairs[["query_id", name, "relevance"]].explode(name).dropna(subset=[name])
        return found.rename(columns={name: "doc_id"}) if len(found) else None

    groups = listed("members")
    return Part(
        path,
        queries=once.drop(columns=[name for name in _NOT_OF_QUERIES if name in once]),
        positives=listed("doc_id"),
        groups=None if groups is None else groups[PAIR],
        targets=listed("target"),
        **more,
    )


def _items(table: pd.DataFrame, roles: Mapping[str, str], path: str) -> pd.DataFrame:
    """Return every doc in row order with its one address, and its one place in it."""
    items = table[["doc_id"]].dropna().drop_duplicates()
    for role in [name for name in OF_ITEMS if name in table]:
        known = table[["doc_id", role]][table[role] != ""].drop_duplicates()
        twice = known[known["doc_id"].duplicated(keep=False)]
        if len(twice):
            doc = twice["doc_id"].iloc[0]
            one, other, *_ = twice.loc[twice["doc_id"] == doc, role]
            raise FormatError(f"{path}: {roles[role]} of {doc!r} is {one!r} and {other!r}, expected one")
        of_doc = dict(zip(known["doc_id"], known[role], strict=True))
        items[role] = pd.Series([of_doc.get(each, "") for each in items["doc_id"]], items.index, dtype=object)
    return items


def rows_of(source: Source) -> pd.DataFrame:
    """Return the rows as text; of JSON the fields that are text or numbers; ids must be there.

    A column of docs that is named may hold lists of them, each of which makes a row.
    """
    if source.header:
        return read_delimited(source.path)
    own = _without_addresses(source)
    roles, docs = roles_of(own, source.given)[1], source.given.get("doc_id", "")
    needed = [roles[role] for role in COLLECTION if role in roles]
    rows, has_lists = [], False
    for entry in source.entries():
        record = entry.fields
        kinds = str | int | float
        row: dict[str, Any] = {name: str(each) for name, each in record.items() if isinstance(each, kinds)}
        row |= {name: "" for name in roles.values() if record.get(name, "") is None}
        texts = columns_of(record, roles.get("text", ""))
        for name in (each for column in needed for each in columns_of(record, column) or [column]):
            value, here = entry.value(name), f"{entry.where}: {name}"
            if name == docs and isinstance(value, list) and len({*map(type, value)}) < 2:
                row[name], has_lists = entry.ids(name), True
            elif name not in texts:
                id_text(value, here)
            elif value is not None and type(value) is not int:  # a caption may be empty, or a number
                Entry(record, here).texts(name)
        if isinstance(listed := record.get(roles.get("text", "")), list):
            row[roles["text"]] = listed
        rows.append(row)
    if has_lists and "query_id" not in roles:
        raise FormatError(f"{source.path}: {docs} holds lists of docs; name the column of query_id, too")
    table = pd.DataFrame(rows, dtype=object).fillna("")
    table = table.drop(columns={*source.columns} - {*own}, errors="ignore")
    return table.explode(docs, ignore_index=True) if has_lists else table


def _without_addresses(source: Source) -> list[str]:
    """Return a file's columns, without one of an address, unless named, beside a list of docs."""
    given, first = source.given, (source.records or [{}])[0]
    are_lists = isinstance(first.get(given.get("doc_id", "")), list)
    return [
        name
        for name in source.columns
        if not are_lists or name in given.values() or name.lower() not in MEDIA
    ]


def recognise_items(source: Source) -> str | None:
    """Return why a file is a list of items, or None."""
    found = source.json
    if isinstance(found, list) and found and all(isinstance(entry, str | int) for entry in found):
        return "a JSON list of ids"
    if source.mapping and all(isinstance(value, str) for value in source.mapping.values()):
        return "a JSON object of paths under names"
    if have(source.mapping.get("images"), "id", "file_name"):
        return "a JSON object whose images have id and file_name"
    is_table = len(source.columns) > 1 and any(column_of(source.columns, column) for column in PAIR)
    lines = source.fields if found is None and source.records is None and not is_table else []
    are_ids = lines and all(
        FILE_NAME.fullmatch(line)
        or (len(line.split()) == 1 and "," not in line and line[:1] not in ("{", "[", "("))
        for line in lines
    )
    return "one id a line" if are_ids else None


def read_items(source: Source, split: str | None) -> Part:
    """Return the items of the split; media_url is the path, where the file has one."""
    path, found = str(source.path), source.json
    rows: list[Any]
    if found is None:
        rows = [(line,) for line in ids_of_lines(source.fields, path, "doc_id")]
    elif isinstance(found, list):
        rows = [(id_text(entry, path),) for entry in found]
    elif isinstance(found.get("images"), list):
        images = Entry(found, path).entries("images")
        rows = [(image.id("id"), image.text("file_name")) for image in images]
    else:
        rows = [(id_text(name, path), media) for name, media in found.items()]
    names = ["doc_id", "media_url"][: len(rows[0])] if rows else ["doc_id"]
    return Part(path, items=pd.DataFrame(rows, columns=names, dtype=object), is_gallery=True)


def column_of(header: Sequence[str], column: str) -> str | None:
    """Return the column of a header that has the ids, by its own name or a usual one."""
    return find_name(header, (column, *COLLECTION[column], *_ARRAYS[column]))


def ids_of_lines(lines: Sequence[str], path: str, column: str) -> list[str]:
    """Return one id a line, without a first line that is a usual name of the column.

    Raises:
        FormatError: the first line looks like another header.
    """
    first, rest = lines[0].lower(), lines[1:]
    if column_of([first], column):
        return list(rest)
    if first in _HEADERS or (rest and not first.isdigit() and all(line.isdigit() for line in rest)):
        raise FormatError(
            f"{path}:1: {lines[0]!r} looks like a header, expected a list of {column}s; delete that "
            f"line, or, if it is an id, write {column} above it"
        )
    return list(lines)
