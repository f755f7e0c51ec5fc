"""Typed values of JSON entries by the places of a layout."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.ids import id_text

_ABSENT = object()
_FIELD = re.compile(r"\{(.+?)\}")


def as_list(value: object, where: str) -> list[Any]:
    """Return `value` as a list if it is a list or a tuple (pickles have tuples)."""
    if not isinstance(value, list | tuple):
        raise FormatError(f"{where}: {_shown(value)}, expected a list")
    return list(value)


def have(records: object, *names: str) -> bool:
    """Whether `records` is a list of objects and the first one has all these fields."""
    first = records[0] if isinstance(records, list) and records else None
    return isinstance(first, dict) and set(names) <= set(first)


@dataclass(frozen=True)
class Entry:
    """An object and its place in the file; each method returns a field with the type it checks.

    A field is called as `value` says. One that is missing is an error unless a default is given. Every error
    is a FormatError that names the place.
    """

    fields: Mapping[str, Any]
    where: str

    @classmethod
    def of(cls, value: object, where: str, outer: Mapping[str, Any] | None = None) -> Entry:
        """Return the entry of a JSON value, which must be an object; outer: fields of what it lies in."""
        if not isinstance(value, dict):
            raise FormatError(f"{where}: {_shown(value)}, expected an object with named fields")
        return cls({**outer, **value} if outer else value, where)

    def value(self, place: str, default: Any = None) -> Any:
        """Return a field of any type.

        Args:
            place: `a`; `a.b`, which is b in a, or its n-th; `{a}/{b}`, a text of both where both are there;
                `a|b`, the first that is there; `a?`, which is an empty text where it is absent.
            default: what an absent field is; None: an error.

        Examples:
            >>> entry = Entry({"name": "x.jpg", "at": [1.5, 2], "id": 7}, "f.json: entry 3")
            >>> entry.value("{folder}/{name}|name"), entry.value("at.1"), entry.value("more?")
            ('x.jpg', 2, '')
        """
        choices = place.removesuffix("?").split("|")
        for choice in choices:
            found = self._text_of(choice) if "{" in choice else self._at(choice.split("."))
            if found is not _ABSENT:
                return found
        if default is None and not place.endswith("?"):
            named = " or ".join(repr(choice) for choice in choices if "{" not in choice)
            found = ", ".join(str(name) for name in self.fields if name != "@") or "none"
            raise FormatError(f"{self.where}: no field {named or place}; found {found}")
        return "" if default is None else default

    def _at(self, steps: Sequence[str]) -> Any:
        found: Any = self.fields
        for step in steps:
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                return _ABSENT
        return found

    def _text_of(self, template: str) -> Any:
        values = {name: self.fields.get(name, "") for name in _FIELD.findall(template)}
        if not all(isinstance(each, str | int) and each != "" for each in values.values()):
            return _ABSENT
        return _FIELD.sub(lambda found: str(values[found[1]]), template)

    def id(self, place: str, default: str | None = None) -> str:
        """Return an id, as text."""
        return id_text(self.value(place, default), self.where)

    def ids(self, place: str, default: Sequence[str] | None = None) -> list[str]:
        """Return a list of ids, as text."""
        return [id_text(value, self.where) for value in self.values(place, default)]

    def text(self, place: str, default: str | None = None) -> str:
        """Return text."""
        return self._as_text(self.value(place, default))

    def texts(self, place: str) -> list[str]:
        """Return one text, or a list of texts, as a list."""
        value = self.value(place)
        return [self._as_text(text) for text in (value if isinstance(value, list | tuple) else [value])]

    def _as_text(self, value: object) -> str:
        if not isinstance(value, str):
            raise FormatError(f"{self.where}: {_shown(value)}, expected text")
        return value

    def plain(self, place: str) -> str:
        """Return a value as text, that of a list with semicolons between its values."""
        value = self.value(place)
        if isinstance(value, dict):
            raise FormatError(f"{self.where}: {place.removesuffix('?')} is an object, expected text")
        return ";".join(map(str, value)) if isinstance(value, list) else str(value)

    def values(self, place: str, default: Sequence[Any] | None = None) -> list[Any]:
        """Return a list."""
        return as_list(self.value(place, [] if place.endswith("?") else default), self.where)

    def entries(self, name: str) -> list[Entry]:
        """Return the objects of a list; the third is called `…: name[2]` in errors."""
        place = f"{self.where}: {name}"
        return [Entry.of(value, f"{place}[{n}]") for n, value in enumerate(as_list(self.value(name), place))]


def _shown(value: object) -> str:
    return f"a {type(value).__name__}" if isinstance(value, dict | list | tuple) else repr(value)[:40]
