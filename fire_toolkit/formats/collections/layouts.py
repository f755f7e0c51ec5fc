"""Benchmarks' files read by their layouts, which `benchmarks.toml` describes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import (
    ALL,
    Captions,
    Entry,
    as_list,
    chosen_split,
    have,
    object_of,
)
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.collections.tables import read_table
from fire_toolkit.formats.ids import id_text
from fire_toolkit.syntax import parse_toml


@dataclass(frozen=True)
class Layout:
    """Where a benchmark's file has its queries, items and positives; `benchmarks.toml` has the words."""

    name: str
    why: str = ""
    own_item: str | None = None
    header: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    line: str = ""
    known: str = ""
    first: tuple[str, ...] = ()
    is_quoted: bool = False
    expected: str = ""
    keys: tuple[str, ...] = ()
    is_pickle: bool = False
    has_lists: bool = False
    rows: str = ""
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    within: str = ""
    are_parts: bool = False
    is_general: bool = False
    split: str = ""
    items: str = ""
    item_id: str = ""
    is_whole: bool = False
    query_id: str = ""
    doc_id: str = ""
    text: str = ""
    texts: str = ""
    join: str = ""
    number: str = ""
    positives: str = ""
    target: str = ""
    members: str = ""
    queries: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    left_out: str = ""
    left_out_note: str = ""

    def recognise(self, source: Source) -> str | None:
        """Return why a file is of this layout, or None."""
        if self.header:
            has_all = {*self.header} <= {*source.header}
            return f"the header names {', '.join(self.header)}" if has_all else None
        if self.line:
            first = source.lines[0] if source.lines else ""
            if self.first:
                return f"the header is {first.strip()!r}" if first.strip() in self.first else None
            return self.why if re.fullmatch(self.known or self.line, first) else None
        if self.keys:
            return self.why if {*self.keys} <= {*object_of(source)} else None
        rows = self._values(source)
        values = list(rows.values() if isinstance(rows, dict) else rows or [])
        if self.has_lists:
            inner = [] if self.is_pickle else [one for each in values for one in _listed(each) or [""]]
            are_lists = all(isinstance(each, list | tuple) for each in (*values, *inner))
            return self.why if values and are_lists else None
        fits = have(values, *self.needs) and not any(have(values, name) for name in self.without)
        return self.why if fits else None

    def _values(self, source: Source) -> Any:
        """Return the list, or the object, with the rows; None where the file has none."""
        if not self.rows:
            return source.records
        found = source.pickled if self.is_pickle else source.json
        *names, last = self.rows.split(".")
        for name in names if last == "*" else self.rows.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict if last == "*" else list) else None

    def _entries(self, source: Source) -> Iterator[Entry]:
        """Yield the rows of a file, each with its place."""
        path = str(source.path)
        if self.line:
            yield from self._lines(source)
        elif not self.rows:
            yield from (Entry(each, f"{path}: entry {n}") for n, each in enumerate(source.records or []))
        elif not self.rows.endswith("*"):
            yield from Entry(object_of(source), path).entries(self.rows)
        else:
            for key, value in self._values(source).items():
                where = f"{path}: {key!r}"
                fields = {"@@": as_list(value, where)} if self.has_lists else Entry.of(value, where).fields
                yield Entry(fields, where, {"@": id_text(key, where)})

    def _lines(self, source: Source) -> Iterator[Entry]:
        for number, line in source.numbered_lines:
            if line.strip() in self.first:
                continue
            found, where = re.fullmatch(self.line, line), f"{source.path}:{number}"
            if found is None:
                raise FormatError(f"{where}: {line[:40]!r}, expected {self.expected}")
            text = _unquoted(found["text"]) if self.is_quoted else found["text"]
            yield Entry({**found.groupdict(), "text": text}, where)

    def read(self, source: Source, split: str | None) -> Part:
        """Return what the file says of the collection, of one split where it has several.

        Raises:
            FormatError: an entry lacks a field, or has another type of value there.
            UsageError: no such split, or several and none named.
        """
        if self.columns:
            return read_table(source, self.columns)
        path = str(source.path)
        rows = list(self._entries(source))
        listed = Entry(object_of(source), path).entries(self.items) if self.items else rows
        chosen, notes = ALL, list[str]()
        if self.split:
            chosen, notes = chosen_split([_split_of(row, self.split) for row in listed], split, path)
        listed = [row for row in listed if chosen in (ALL, _split_of(row, self.split))]
        asked = [each for row in (rows if self.items else listed) for each in self._captions_of(row)]
        items = [
            {"doc_id": row.id(self.item_id or self.doc_id), **_plain(row, self.describe)}
            for row in (asked if self.are_parts else listed if self.describe else ())
        ]
        docs = {item["doc_id"] for item in items}
        captions = Captions()
        for row in asked if self.text or self.texts else ():
            if self.items and (doc_id := row.id(self.doc_id)) not in docs:
                if self.is_whole:
                    raise FormatError(f"{row.where}: {self.doc_id} {doc_id} is not among the {self.items}")
                if chosen != ALL:
                    continue
            self._add(captions, row)
        if captions.n_left_out:
            notes.append(f"{captions.n_left_out:,} {self.left_out_note}")
        return captions.part(path, items=items, notes=notes)

    def _captions_of(self, row: Entry) -> list[Entry]:
        """Return the captions within an entry, which have its fields too; the entry itself if it is one."""
        if not self.within:
            return [row]
        outer = {**row.outer, **row.fields}
        return [Entry(each.fields, each.where, outer) for each in row.entries(self.within)]

    def _add(self, captions: Captions, row: Entry) -> None:
        """Add the captions of an entry, with its positives and what else it says."""
        is_positive = self.doc_id.removesuffix("?") in row if self.doc_id.endswith("?") else bool(self.doc_id)
        doc_id = row.id(self.doc_id) if is_positive else ""
        texts = self._texts_of(row)
        for text in [self.join.join(each.strip() for each in texts)] if self.join else texts:
            if self.query_id:
                query_id = row.id(self.query_id)
            else:
                query_id = captions.next_id(row.id(self.number) if self.number else doc_id)
            if self.join and query_id in captions.places:
                captions.rows[captions.places[query_id]]["text"] += self.join + text
                continue
            ids = {name: row.id(place) for name, place in self.queries.items()}
            captions.add(query_id, text, **ids, **_plain(row, self.more))
            docs = [doc_id] if is_positive else row.ids(self.positives) if self.positives else []
            captions.pairs += [(query_id, doc, 1) for doc in docs]
            if self.target and row.value(self.target) != "":
                captions.targets.append((query_id, row.id(self.target), 1))
            if self.members:
                captions.members += [(query_id, doc) for doc in dict.fromkeys(row.ids(self.members))]
        if self.left_out:
            captions.n_left_out += sum(each != doc_id for each in _listed(row.value(self.left_out)))

    def _texts_of(self, row: Entry) -> list[str]:
        if self.text:
            return [row.text(self.text)]
        if not self.has_lists:
            return row.texts(self.texts)
        return [
            _sentence(words, f"{row.where}: caption {n}") for n, words in enumerate(row.value(self.texts))
        ]


def _split_of(row: Entry, field: str) -> str:
    return str(row.value(field, ""))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | dict) else [value] if value else []


def _plain(row: Entry, places: Mapping[str, str]) -> dict[str, str]:
    """Return the fields at these places as text, of lists with semicolons between their values."""
    found = {}
    for name, place in places.items():
        value = row.value(place)
        if isinstance(value, dict):
            raise FormatError(f"{row.where}: {place.removesuffix('?')} is an object, expected text")
        found[name] = ";".join(map(str, value)) if isinstance(value, list) else str(value)
    return found


def _sentence(words: object, where: str) -> str:
    """Return words with blanks between them; pickles of Python 2 have bytes."""
    parts = [words] if isinstance(words, str | bytes) else as_list(words, where)
    texts = [part.decode("latin-1") if isinstance(part, bytes) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{where}: expected a list of words")
    return " ".join(texts)


def _unquoted(text: str) -> str:
    """Return a text without the quotes of CSV, if it is one field of CSV in quotes."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        fields = next(csv.reader([text], strict=True))
    except csv.Error:
        return text
    return fields[0] if len(fields) == 1 else text


def _read_layouts() -> list[Layout]:
    data = files("fire_toolkit.formats.collections") / "benchmarks.toml"
    return [Layout(**table) for table in parse_toml(data.read_text(encoding="utf-8"), str(data))["layout"]]


LAYOUTS = _read_layouts()
