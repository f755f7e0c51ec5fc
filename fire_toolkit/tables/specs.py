"""The specs of all tables, as `tables.toml` has them."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, get_args

from fire_toolkit.tables.checks import Column, Kind, TableSpec
from fire_toolkit.tables.further import FURTHER

_MARKS: dict[str, dict[str, Any]] = {
    "missing": {"missing": True},
    "if any": {"optional": True, "missing": True},
    "optional": {"optional": True},
    "rare": {"rare": True, "missing": True},
    "full": {"missing": False},
    "finite": {"finite": True},
}


def columns_of(line: str) -> tuple[Column, ...]:
    """Return the columns of a line of `tables.toml`.

    Examples:
        >>> a, b = columns_of("int a b : missing, from 0")
        >>> b.name, b.minimum, b.missing
        ('b', 0, True)
    """
    named, _, marks = line.partition(" : ")
    kind, *names = named.split()
    how: dict[str, Any] = {}
    for mark in filter(None, marks.split(", ")):
        word, _, value = mark.partition(" ")
        if mark in _MARKS:
            how |= _MARKS[mark]
        else:
            key = {"from": "minimum", "default": "default"}[word]
            how[key] = int(value) if value.isdecimal() else value
    assert kind in get_args(Kind), line
    return tuple(Column(name, kind, **how) for name in names)  # type: ignore[arg-type]


def _read() -> dict[str, TableSpec]:
    written = tomllib.loads((files("fire_toolkit.tables") / "tables.toml").read_text(encoding="utf-8"))
    specs = {}
    for values in written["table"]:
        name = values["name"]
        columns = tuple(column for line in values.pop("columns") for column in columns_of(line))
        key, order = (tuple(values.pop(part, "").split()) for part in ("key", "order"))
        specs[name] = TableSpec(**values, columns=columns, key=key, order=order, further=FURTHER.get(name))
    return specs


SPECS = _read()
