"""Benchmarks' files read by their layouts, which `benchmarks.toml` describes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.source import Entry, Source, as_list, have
from fire_toolkit.formats.collections.tables import ALL, ROLES, captions_part, chosen_split, read_table
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.tables.delimited import unquoted
from fire_toolkit.syntax import parse_toml

Spec = Mapping[str, Any]  # how a benchmark's file is known and what stands where in it, by the TOML's words


@dataclass(frozen=True)
class Reader:
    """A collection format: its name, `recognise` (why a file has this format, or None), and `read`.

    `has_splits`: a file holds several splits, and `read` takes one out of it. `own_item`: whether the
    benchmark's scorer leaves a query's own item out of its ranking (`drop`) or not (`keep`).
    """

    name: str
    recognise: Callable[[Source], str | None]
    read: Callable[[Source, str | None], Part]
    has_splits: bool = False
    own_item: str | None = None


def _recognise(spec: Spec, source: Source) -> str | None:
    """Return why a file is of a layout, or None."""
    above = spec.get("above", "(?!)")
    first = next((line for line in source.lines if not re.fullmatch(above, line.strip())), "")
    if header := spec.get("header"):
        where = "the header names" if source.header else "entries with"
        return f"{where} {', '.join(header)}" if {*header} <= {*source.columns} else None
    if "line" in spec and "why" not in spec:
        is_above = source.lines and source.lines[0] != first
        return f"the header is {source.lines[0].strip()!r}" if is_above else None
    if "line" in spec:
        return spec["why"] if re.fullmatch(spec.get("known", spec["line"]), first) else None
    found = _values(spec, source)
    values = list(found.values() if isinstance(found, dict) else found or ())
    if depth := spec.get("depth"):
        lists = values if depth == 1 else [one for each in values for one in _listed(each) or [""]]
        fits = bool(values) and all(isinstance(each, list | tuple) for each in (*values, *lists))
        if "are_texts" in spec:
            texts = [each for own in values for each in _listed(own)]
            fits = fits and bool(texts) and all(isinstance(each, str) for each in texts)
        return spec["why"] if fits else None
    if "needs" not in spec:  # the lists are enough
        return spec["why"] if {spec["rows"], spec["items"]} <= {*source.mapping} else None
    needs = [next(filter(lambda name: have(values, name), each.split("|")), "") for each in spec["needs"]]
    if not all(needs) or any(have(values, name) for name in spec.get("without", ())):
        return None
    where = f"a JSON object whose {spec['rows']} have" if "rows" in spec else "JSON entries with"
    why = spec.get("why") or f"{where} {{}}"
    return str(why).format(" and ".join(filter(None, (", ".join(needs[:-1]), needs[-1]))))


def _values(spec: Spec, source: Source) -> Any:
    """Return the list, or the object, with the rows; None where the file has none."""
    if "rows" not in spec:
        return source.records
    *names, last = spec["rows"].split(".")
    found = source.pickled if spec.get("is_pickle") else source.json
    for name in names if last == "*" else (*names, last):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict if last == "*" else list) else None


def _entries(spec: Spec, source: Source) -> Iterator[Entry]:
    """Yield the rows of a file, each with its place."""
    path, rows = str(source.path), spec.get("rows", "")
    if "line" in spec:
        for number, line in source.numbered_lines:
            if re.fullmatch(spec.get("above", "(?!)"), line.strip()):
                continue
            found, where = re.fullmatch(spec["line"], line), f"{path}:{number}"
            if found is None:
                raise FormatError(f"{where}: {line[:40]!r}, expected {spec['expected']}")
            text = unquoted(found["text"]) if spec.get("is_quoted") else found["text"]
            yield Entry({**found.groupdict(), "text": text}, where)
    elif not rows:
        yield from source.entries()
    elif not rows.endswith("*"):
        yield from Entry(source.mapping, path).entries(rows)
    else:
        for key, value in _values(spec, source).items():
            where = f"{path}: {key!r}"
            fields = {"@@": as_list(value, where)} if "depth" in spec else value
            yield Entry.of(fields, where, {"@": id_text(key, where)})


def _read(spec: Spec, source: Source, split: str | None) -> Part:
    """Return what the file says of the collection, of one split where it has several.

    Raises:
        FormatError: an entry lacks a field, or has another type of value there.
        UsageError: no such split, or several and none named.
    """
    path = str(source.path)
    if "header" in spec:
        source.given = {role: spec[role] for role in ROLES if spec.get(role)}
        return _listing_items(read_table(source, split))
    rows = list(_entries(spec, source))
    if "texts" in spec:
        own = {name: name for name in ("media_url", "reference") if have(source.records, name)}
        places = {"title": "title?", "text": spec["text"], **own, **spec.get("describe", {})}
        told = [[row.id(spec["texts"]), *map(row.text, places.values())] for row in rows]
        return Part(path, texts=pd.DataFrame(told, columns=["id", *places], dtype=object))
    listed = Entry(source.mapping, path).entries(spec["items"]) if "items" in spec else rows
    chosen, notes = ALL, list[str]()
    if "split" in spec:
        splits = [str(row.value(f"{spec['split']}?")) for row in listed]
        chosen, notes = chosen_split(splits, split, path)
        listed = [row for row, own in zip(listed, splits, strict=True) if chosen in (ALL, own)]
    asked = rows if "items" in spec else listed
    if "within" in spec:  # captions within an entry, which have its fields too
        asked = [
            Entry({**row.fields, **each.fields}, each.where)
            for row in asked
            for each in row.entries(spec["within"])
        ]
    describe = spec.get("describe", {})
    doc_id, item_id = spec["doc_id"], spec.get("item_id", spec["doc_id"])
    items = [
        {"doc_id": row.id(item_id), **{name: row.plain(place) for name, place in describe.items()}}
        for row in (asked if "are_parts" in spec else listed if describe else ())
    ]
    if "items" in spec:
        docs = {item["doc_id"] for item in items}
        strange = [row for row in asked if row.id(doc_id) not in docs]
        if strange and "is_whole" in spec:
            shown = f"{doc_id} {strange[0].id(doc_id)} is not among the {spec['items']}"
            raise FormatError(f"{strange[0].where}: {shown}")
        asked = [row for row in asked if chosen == ALL or row.id(doc_id) in docs]
    if "left_out" in spec:
        others = ((row, each) for row in asked for each in _listed(row.value(spec["left_out"])))
        n_left_out = sum(each not in _docs_of(spec, row) for row, each in others)
        notes += [f"{n_left_out:,} {spec['left_out_note']}"] if n_left_out else []
    alike: dict[str, list[str]] = {}
    for row in listed if "same" in spec else ():
        alike.setdefault(row.id(spec["same"]), []).append(row.id(doc_id))
    words = "the positives of a caption are all items with its {0}, of which there are {1:,}"
    notes += [words.format(spec["same"], len(alike))] if alike else []
    found = [each for row in asked for each in _rows_of(spec, row, alike)] if spec["text"] else []
    once = pd.DataFrame(items, dtype=object).drop_duplicates("doc_id") if items else None
    if not found:
        return Part(path, items=once, notes=tuple(notes))
    captions = pd.DataFrame(found, dtype=object)
    part = captions_part(path, captions, join=spec.get("join", ""), items=once, notes=tuple(notes))
    if part.queries is not None and "line" in spec and "are_texts" in spec:
        texts = part.queries.rename(columns={"query_id": "id"})
        return replace(part, texts=texts.reindex(columns=["id", "title", "text"], fill_value=""))
    return part if "positives" in spec else _listing_items(part)


def _rows_of(spec: Spec, row: Entry, alike: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each caption of an entry, as `captions_part` takes them; alike: docs by `same`."""
    docs = _docs_of(spec, row)
    found: dict[str, Any] = {name: row.id(place) for name, place in spec.get("queries", {}).items()}
    found |= {name: row.plain(place) for name, place in spec.get("more", {}).items()}
    found["of"] = row.id(spec["number"]) if "number" in spec else docs[0] if docs else ""
    if "query_id" in spec:
        found["query_id"] = row.id(spec["query_id"])
    if "target" in spec:
        found["target"] = [row.id(spec["target"])] if row.value(spec["target"]) != "" else []
    if "members" in spec:
        found["members"] = list(dict.fromkeys(row.ids(spec["members"])))
    if "depth" in spec:
        words = enumerate(row.value(spec["text"]))
        texts = [_sentence(each, f"{row.where}: caption {n}") for n, each in words]
    else:
        texts = row.texts(spec["text"])
    if join := spec.get("join"):
        texts = [join.join(each.strip() for each in texts)]
    for text in texts:
        yield {**found, "text": text, "doc_id": alike[row.id(spec["same"])] if alike else docs}


def _docs_of(spec: Spec, row: Entry) -> list[str]:
    if doc_id := spec["doc_id"]:
        return [] if doc_id.endswith("?") and row.value(doc_id) == "" else [row.id(doc_id)]
    return row.ids(spec["positives"]) if "positives" in spec else []


def _listing_items(part: Part) -> Part:
    """Return captions with their items as a list of these too, where each is the item of a caption."""
    are_all = part.queries is not None and "reference" not in part.queries and part.groups is None
    if part.items is not None or part.positives is None or not are_all:
        return part
    return replace(part, items=part.positives[["doc_id"]].drop_duplicates(ignore_index=True))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | dict) else [value] if value else []


def _sentence(words: object, where: str) -> str:
    """Return words with blanks between them; pickles of Python 2 have bytes."""
    parts = [words] if isinstance(words, str | bytes) else as_list(words, where)
    texts = [part.decode("latin-1") if isinstance(part, bytes) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{where}: expected a list of words")
    return " ".join(texts)


_DATA = files("fire_toolkit.formats.collections") / "benchmarks.toml"
SPECS = {
    name: {"doc_id": "doc_id", "text": "text"} | spec if "line" in spec else {"doc_id": "", "text": ""} | spec
    for name, spec in parse_toml(_DATA.read_text(encoding="utf-8"), str(_DATA)).items()
}
LAYOUTS = {
    name: Reader(
        *(name.split(" ")[0], partial(_recognise, spec), partial(_read, spec)),
        *("split" in spec, spec.get("own_item")),
    )
    for name, spec in SPECS.items()
}
