"""Typed values of JSON entries, recognisers by field names, and captions gathered into a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.ids import id_text
from fire_toolkit.tables.columns import PAIR

ALL = "all"


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

    A missing field is an error unless a default is given. Every error is a FormatError that names the
    place.
    """

    fields: dict[str, Any]
    where: str

    @classmethod
    def of(cls, value: object, where: str) -> Entry:
        """Return the entry of a JSON value, which must be an object."""
        if not isinstance(value, dict):
            raise FormatError(f"{where}: {_shown(value)}, expected an object with named fields")
        return cls(value, where)

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def value(self, name: str, default: Any = None) -> Any:
        """Return a field of any type."""
        return need(self.fields, name, self.where) if default is None else self.fields.get(name, default)

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
        return as_list(self.value(name, default), self.where)

    def entry(self, name: str, default: Mapping[str, Any] | None = None) -> Entry:
        """Return an object within this one."""
        return Entry.of(self.value(name, default), self.where)

    @property
    def split(self) -> str:
        """Return the split that the entry names, empty where it names none."""
        return str(self.value("split", ""))

    def entries(self, name: str) -> list[Entry]:
        """Return the objects of a list; the third is called `…: name[2]` in errors."""
        place = f"{self.where}: {name}"
        values = as_list(self.value(name), place)
        return [Entry.of(value, f"{place}[{n}]") for n, value in enumerate(values)]


def entries_of(source: Source) -> list[Entry]:
    """Return the records of a file as entries; the third is called `…: entry 2` in errors."""
    return [Entry(record, f"{source.path}: entry {n}") for n, record in enumerate(source.records or [])]


def image_items(whole: Entry) -> list[dict[str, str]]:
    """Return the items in COCO's list `images`: doc_id is `id`, media_url is `file_name`."""
    images = whole.entries("images")
    return [{"doc_id": image.id("id"), "media_url": image.text("file_name")} for image in images]


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


def by_fields(*names: str) -> Callable[[Source], str | None]:
    """Return a recogniser of files whose first entry has these fields."""
    return lambda source: f"JSON entries with {_and(names)}" if have(source.records, *names) else None


def by_header(*names: str) -> Callable[[Source], str | None]:
    """Return a recogniser of tables whose header has these names."""
    return lambda source: f"the header names {', '.join(names)}" if set(names) <= set(source.header) else None


def by_keys(*names: str) -> Callable[[Source], str | None]:
    """Return a recogniser of a JSON object with these keys."""
    return lambda source: f"a JSON object with {_and(names)}" if set(names) <= set(_object(source)) else None


def by_list(name: str, *fields: str) -> Callable[[Source], str | None]:
    """Return a recogniser of a JSON object with a list of that name, whose first entry has these fields."""
    why = f"a JSON object whose {name} have {_and(fields)}"
    return lambda source: why if have(_object(source).get(name), *fields) else None


def _object(source: Source) -> dict[str, Any]:
    return source.json if isinstance(source.json, dict) else {}


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def chosen_split(found: Iterable[str], wanted: str | None, where: str) -> tuple[str, tuple[str, ...]]:
    """Return the split to read (the one wanted, the only one, or `test`) and a note about it.

    Raises:
        UsageError: there is no such split; or none is wanted, and there are several but no `test`.
    """
    splits = sorted(set(found))
    if splits in ([], [""]) and wanted not in (None, ALL):
        raise UsageError(f"{where}: names no splits; leave out --split")
    if wanted == ALL or (wanted is None and len(splits) == 1):
        return (ALL, ())
    if wanted is None and "test" not in splits:
        raise UsageError(f"{where}: has splits {', '.join(splits)}; choose one with --split, or all")
    split = wanted or "test"
    if split not in splits:
        raise UsageError(f"{where}: no split {split!r}; found {', '.join(splits)}")
    others = [other for other in splits if other != split]
    return split, ((f"split {split} read; the file also has {', '.join(others)}",) if others else ())


class Captions:
    """Captions gathered one by one, with the doc each belongs to.

    A caption without an id of its own gets `doc#n`, where n counts the doc's captions from 0 in file
    order.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.pairs: list[tuple[str, str, int]] = []
        self.targets: list[tuple[str, str, int]] = []
        self._n_of_doc: Counter[str] = Counter()

    def add(
        self, doc_id: str, text: str, *, query_id: str | None = None, is_positive: bool = True, **more: Any
    ) -> str:
        """Add a caption of `doc_id` and return its id."""
        query_id = self.next_id(doc_id) if query_id is None else query_id
        self.rows.append({"query_id": query_id, "text": text, **more})
        if is_positive:
            self.pairs.append((query_id, doc_id, 1))
        return query_id

    def next_id(self, doc_id: str) -> str:
        """Return the id of the next caption of `doc_id` that has none of its own."""
        self._n_of_doc[doc_id] += 1
        return f"{doc_id}#{self._n_of_doc[doc_id] - 1}"

    def add_all(self, doc_id: str, texts: Iterable[str]) -> None:
        """Add the captions of `doc_id`, without ids of their own."""
        for text in texts:
            self.add(doc_id, text)

    def part(
        self,
        name: str,
        *,
        items: Collection[Mapping[str, Any]] = (),
        members: Collection[tuple[str, str]] = (),
        notes: Iterable[str] = (),
    ) -> Part:
        """Return a part with these captions; items: further columns of the docs, doc_id first."""
        groups = pd.DataFrame(list(members), columns=PAIR, dtype="str")
        names = ["query_id", "doc_id", "relevance"]
        return Part(
            name,
            queries=pd.DataFrame(self.rows, dtype=object),
            items=pd.DataFrame(list(items), dtype=object).drop_duplicates("doc_id") if items else None,
            positives=pd.DataFrame(self.pairs, columns=names),
            groups=groups if len(groups) else None,
            targets=pd.DataFrame(self.targets, columns=names) if self.targets else None,
            notes=tuple(notes),
        )
