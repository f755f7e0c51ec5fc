"""A file that readers look at: its bytes, text, JSON and records, each read once; values by places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import BOM, read_bytes
from fire_toolkit.formats.arrays.pickles import load_plain
from fire_toolkit.formats.columns import columns_of
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.parquet_files import whole_table
from fire_toolkit.formats.tables.delimited import names_in, unquoted
from fire_toolkit.syntax import parse_json

Records = list[dict[str, Any]]
Named = Mapping[str, Sequence[str]]

PICKLES = (b"\x80", b"(dp", b"}q")


class Source:
    """One file; a property is None, or empty, if the file is not of that kind.

    raw: its bytes, if known. named: role → columns, of which a table has one (`given`) or none.
    """

    def __init__(self, path: str | Path, raw: bytes | None = None, named: Named | None = None) -> None:
        self.path, self.named = Path(path), named or {}
        if raw is not None:
            self.raw = raw

    @cached_property
    def raw(self) -> bytes:
        """Return the bytes, gunzipped if they are gzip."""
        return read_bytes(self.path)

    @property
    def suffix(self) -> str:
        """Return the ending of the file's name in small letters, without that of gzip."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    @cached_property
    def text(self) -> str:
        """Return the text if the bytes are UTF-8 without a NUL byte and not blank."""
        try:
            text = self.raw.removeprefix(BOM).decode("utf-8")
        except UnicodeDecodeError:
            return ""
        return text if "\0" not in text and text.strip() else ""

    @cached_property
    def numbered_lines(self) -> list[tuple[int, str]]:
        """Return number and text of each line that is not blank."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines that are not blank, without their ends."""
        return [line for _, line in self.numbered_lines]

    @property
    def fields(self) -> list[str]:
        """Return the lines as fields of a file of one column: without blanks around them, or quotes."""
        return [unquoted(line.strip()) for line in self.lines]

    @cached_property
    def json(self) -> Any:
        """Return the value of a JSON file; None for other files.

        Raises:
            FormatError: the file begins like JSON and is truncated or damaged, or has a key twice.
        """
        is_json = self.text.lstrip()[:1] in ("{", "[") and not self._has_json_lines
        return parse_json(self.text, str(self.path)) if is_json else None

    @property
    def mapping(self) -> dict[str, Any]:
        """Return the object that a JSON file is; an empty one for other files."""
        return self.json if isinstance(self.json, dict) else {}

    @cached_property
    def _has_json_lines(self) -> bool:
        """Whether the first line alone is a JSON object and more lines follow, or the name says so."""
        first = self.lines[0].strip()
        whole = first.startswith("{") and first.endswith("}")
        if not whole or (len(self.lines) == 1 and self.suffix != ".jsonl"):
            return False
        try:
            return isinstance(json.loads(first), dict)
        except (ValueError, RecursionError):
            return False

    @cached_property
    def records(self) -> Records | None:
        """Return the objects of a JSON list or of JSON lines, or the rows of a Parquet file."""
        if self.raw[:4] == b"PAR1":
            return whole_table(self.path).to_pylist()  # type: ignore[no-any-return]
        if self.text.lstrip()[:1] == "{" and self._has_json_lines:
            found = [parse_json(line, str(self.path), line=n) for n, line in self.numbered_lines]
            for (number, line), entry in zip(self.numbered_lines, found, strict=True):
                if not isinstance(entry, dict):
                    raise FormatError(f"{self.path}:{number}: {line[:30]!r}, expected a JSON object a line")
            return found
        found = self.json
        are_objects = isinstance(found, list) and found and all(isinstance(entry, dict) for entry in found)
        return found if are_objects else None

    def entries(self) -> Iterator[Entry]:
        """Yield the records, each with its place."""
        return (Entry(each, f"{self.path}: entry {n}") for n, each in enumerate(self.records or []))

    @cached_property
    def header(self) -> list[str]:
        """Return the names on the first line of a CSV or TSV file; empty where there is none."""
        first = self.lines[0] if self.lines else "{"
        return [] if first.lstrip()[:1] in ("{", "[") else names_in(first)

    @property
    def columns(self) -> list[str]:
        """Return the names in the header, or the fields of the first record; empty where there are none."""
        return self.header or (list(self.records[0]) if self.records else [])

    @cached_property
    def given(self) -> dict[str, str]:
        """Return role → column of those named that a table is read by; that of texts may be a pattern.

        Raises:
            UsageError: it has several columns that are named for one role.
        """
        found: dict[str, str] = {}
        for role, names in self.named.items():
            is_here = partial(columns_of, self.columns) if role == "text" else self.columns.__contains__
            here = [name for name in names if is_here(name)]
            if len(here) > 1:
                both = f"{here[0]} and {here[1]} for {role}, and the table has both"
                raise UsageError(f"{self.path}: --columns names {both}")
            found |= dict.fromkeys([role] if here else [], *here)
        return found

    @cached_property
    def pickled(self) -> object:
        """Return the plain value of a pickle; None for other files."""
        return load_plain(self.raw, str(self.path)) if self.raw.startswith(PICKLES) else None


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

    A field is called as `value` says. One that is missing is an error unless it may be absent. Every error
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

    def value(self, place: str) -> Any:
        """Return a field of any type.

        Args:
            place: `a`; `a.b`, which is b in a, or its n-th, or of a list of objects each one's b; `{a}/{b}`,
                a text of both where both are there; `a|b`, the first that is there; `a?`, which is an empty
                text where it is absent, or null.

        Examples:
            >>> entry = Entry({"name": "x.jpg", "at": [1.5, 2], "id": 7}, "f.json: entry 3")
            >>> entry.value("{folder}/{name}|name"), entry.value("at.1"), entry.value("more?")
            ('x.jpg', 2, '')
        """
        choices = place.removesuffix("?").split("|")
        for choice in choices:
            if "{" in choice:
                values = {name: self.fields.get(name, "") for name in _FIELD.findall(choice)}
                if all(isinstance(each, str | int) and each != "" for each in values.values()):
                    return choice.format(**values)
                continue
            found: Any = self.fields
            for step in choice.split("."):
                if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                    found = found[int(step)]
                elif isinstance(found, list) and all(isinstance(each, Mapping) for each in found):
                    found = [each.get(step) for each in found]
                else:
                    found = found.get(step, _ABSENT) if isinstance(found, Mapping) else _ABSENT
            if found is not _ABSENT and not (found is None and place.endswith("?")):
                return found
        if not place.endswith("?"):
            named = " or ".join(repr(choice) for choice in choices if "{" not in choice)
            shown = ", ".join(str(name) for name in self.fields if name != "@") or "none"
            raise FormatError(f"{self.where}: no field {named or place}; found {shown}")
        return ""

    def id(self, place: str) -> str:
        """Return an id, as text."""
        return id_text(self.value(place), self.where)

    def ids(self, place: str) -> list[str]:
        """Return a list of ids, as text."""
        return [id_text(value, self.where) for value in self.values(place)]

    def text(self, place: str) -> str:
        """Return text."""
        return self._as_text(self.value(place))

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

    def values(self, place: str) -> list[Any]:
        """Return a list; an empty one where `a?` is absent."""
        found = self.value(place)
        return [] if found == "" and place.endswith("?") else as_list(found, self.where)

    def entries(self, name: str) -> list[Entry]:
        """Return the objects of a list; the third is called `…: name[2]` in errors."""
        place = f"{self.where}: {name}"
        return [Entry.of(value, f"{place}[{n}]") for n, value in enumerate(as_list(self.value(name), place))]


def _shown(value: object) -> str:
    return f"a {type(value).__name__}" if isinstance(value, dict | list | tuple) else repr(value)[:40]
