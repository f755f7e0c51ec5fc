"""Typed values of JSON entries, and captions gathered into a part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.ids import id_text
from fire_toolkit.tables.columns import PAIR

ALL = "all"
_ABSENT = object()
_FIELD = re.compile(r"\{(.+?)\}")


def as_list(value: object, where: str) -> list[Any]:
    """Return `value` as a list if it is a list or a tuple (pickles have tuples)."""
    if not isinstance(value, list | tuple):
        raise FormatError(f"{where}: {_shown(value)}, expected a list")
    return list(value)


def need(entry: Mapping[str, Any], name: str, where: str) -> Any:
    """Return a field of an entry that must be there."""
    if name not in entry:
        raise FormatError(f"{where}: no field {name!r}; found {', '.join(map(str, entry)) or 'none'}")
    return entry[name]


@dataclass(frozen=True)
class Entry:
    """A JSON object and its place in the file; each method returns a field with the type it checks.

    A field is called by its name, or as `value` says. One that is missing is an error unless a default is
    given. Every error is a FormatError that names the place. outer: fields of what it lies in.
    """

    fields: Mapping[str, Any]
    where: str
    outer: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object, where: str) -> Entry:
        """Return the entry of a JSON value, which must be an object."""
        if not isinstance(value, dict):
            raise FormatError(f"{where}: {_shown(value)}, expected an object with named fields")
        return cls(value, where)

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def value(self, name: str, default: Any = None) -> Any:
        """Return a field of any type.

        Args:
            name: `a`; `a.b`, which is b in a, or its n-th; `{a}/{b}`, a text of both where both are there;
                `a|b`, the first that is there; `a?`, which is an empty text where it is absent.
            default: what an absent field is; None: an error.

        Examples:
            >>> entry = Entry({"name": "x.jpg", "at": [1.5, 2], "id": 7}, "f.json: entry 3")
            >>> entry.value("{folder}/{name}|name"), entry.value("at.1"), entry.value("more?")
            ('x.jpg', 2, '')
        """
        choices = name.removesuffix("?").split("|")
        for choice in choices:
            found = self._text_of(choice) if "{" in choice else self._at(choice.split("."))
            if found is not _ABSENT:
                return found
        if default is not None or name.endswith("?"):
            return "" if default is None else default
        return need(self.fields, choices[-1], self.where)

    def _at(self, steps: Sequence[str]) -> Any:
        found: Any = self.fields if steps[0] in self.fields else self.outer
        for step in steps:
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                return _ABSENT
        return found

    def _text_of(self, template: str) -> Any:
        values = {name: self.fields.get(name, self.outer.get(name, "")) for name in _FIELD.findall(template)}
        if not all(isinstance(each, str | int) and each != "" for each in values.values()):
            return _ABSENT
        return _FIELD.sub(lambda found: str(values[found[1]]), template)

    def id(self, name: str, default: str | None = None) -> str:
        """Return an id, as text."""
        return id_text(self.value(name, default), self.where)

    def ids(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """Return a list of ids, as text."""
        return [id_text(value, self.where) for value in self.values(name, default)]

    def text(self, name: str, default: str | None = None) -> str:
        """Return text."""
        return _as_text(self.value(name, default), self.where)

    def texts(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """Return one text, or a list of texts, as a list."""
        value = self.value(name, default)
        values = [value] if isinstance(value, str) else as_list(value, self.where)
        return [_as_text(text, self.where) for text in values]

    def values(self, name: str, default: Sequence[Any] | None = None) -> list[Any]:
        """Return a list."""
        return as_list(self.value(name, [] if name.endswith("?") else default), self.where)

    def entries(self, name: str) -> list[Entry]:
        """Return the objects of a list; the third is called `…: name[2]` in errors."""
        place = f"{self.where}: {name}"
        values = as_list(self.value(name), place)
        return [Entry.of(value, f"{place}[{n}]") for n, value in enumerate(values)]


def entries_of(source: Source) -> list[Entry]:
    """Return the records of a file as entries; the third is called `…: entry 2` in errors."""
    return [Entry(record, f"{source.path}: entry {n}") for n, record in enumerate(source.records or [])]


def object_of(source: Source) -> dict[str, Any]:
    """Return the object that a JSON file is; an empty one for other files."""
    return source.json if isinstance(source.json, dict) else {}


def _as_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{where}: {_shown(value)}, expected text")
    return value


def _shown(value: object) -> str:
    if isinstance(value, dict | list | tuple):
        return f"a {type(value).__name__}"
    return repr(value)[:40]


def have(records: object, *names: str) -> bool:
    """Whether `records` is a list of objects and the first one has all these fields."""
    first = records[0] if isinstance(records, list) and records else None
    return isinstance(first, dict) and set(names) <= set(first)


def chosen_split(found: Iterable[str], wanted: str | None, where: str) -> tuple[str, list[str]]:
    """Return the split to read (the one wanted, the only one, or `test`) and a note about it.

    Raises:
        UsageError: there is no such split; or none is wanted, and there are several but no `test`.
    """
    splits = sorted(set(found))
    if splits in ([], [""]) and wanted not in (None, ALL):
        raise UsageError(f"{where}: names no splits; leave out --split")
    if wanted == ALL or (wanted is None and len(splits) == 1):
        return ALL, []
    if wanted is None and "test" not in splits:
        raise UsageError(f"{where}: has splits {', '.join(splits)}; choose one with --split, or all")
    split = wanted or "test"
    if split not in splits:
        raise UsageError(f"{where}: no split {split!r}; found {', '.join(splits)}")
    others = [other for other in splits if other != split]
    return split, [f"split {split} read; the file also has {', '.join(others)}"] if others else []


@dataclass
class Captions:
    """Captions gathered one by one, and what belongs to them.

    rows: query_id, text and further columns; places: of each query the last row; pairs and targets:
    query_id, doc_id, relevance; members: of the queries' groups.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    pairs: list[tuple[str, str, int]] = field(default_factory=list)
    targets: list[tuple[str, str, int]] = field(default_factory=list)
    members: list[tuple[str, str]] = field(default_factory=list)
    n_left_out: int = 0
    _n_of_doc: Counter[str] = field(default_factory=Counter)

    def add(self, query_id: str, text: str, **more: Any) -> None:
        """Add a caption."""
        self.places[query_id] = len(self.rows)
        self.rows.append({"query_id": query_id, "text": text, **more})

    def text_of(self, query_id: str) -> str | None:
        """Return the text of the last caption with that id, or None."""
        return self.rows[self.places[query_id]]["text"] if query_id in self.places else None

    def next_id(self, doc_id: str) -> str:
        """Return the id of a doc's next caption that has none of its own: `doc#n`, n from 0 in file order."""
        self._n_of_doc[doc_id] += 1
        return f"{doc_id}#{self._n_of_doc[doc_id] - 1}"

    def part(
        self, name: str, *, items: Collection[Mapping[str, Any]] = (), notes: Iterable[str] = ()
    ) -> Part:
        """Return a part with these captions; items: further columns of the docs, doc_id first."""
        names = [*PAIR, "relevance"]
        return Part(
            name,
            queries=pd.DataFrame(self.rows, dtype=object) if self.rows else None,
            items=pd.DataFrame(list(items), dtype=object).drop_duplicates("doc_id") if items else None,
            positives=pd.DataFrame(self.pairs, columns=names) if self.pairs else None,
            groups=pd.DataFrame(self.members, columns=PAIR, dtype="str") if self.members else None,
            targets=pd.DataFrame(self.targets, columns=names) if self.targets else None,
            notes=tuple(notes),
        )
