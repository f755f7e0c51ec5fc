"""What the spec of a table says, and the specs of all tables, as `tables.toml` has them."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.tables.further import FURTHER, Further, refuse_several
from fire_toolkit.words import table_in

STR: Any = pd.StringDtype(na_value=np.nan)
# What a column of each kind is in a checked table, and what is missing in it.
_KINDS: dict[str, tuple[Any, Any]] = {
    "id": (STR, ""),
    "coded_id": (pd.CategoricalDtype(pd.Index([], dtype="str")), None),
    "text": (STR, ""),
    "int": ("int64", pd.NA),
    "float": ("float64", np.nan),
    "probability": ("float64", np.nan),
    "bool": ("boolean", pd.NA),
}
_MARKS: dict[str, dict[str, Any]] = {
    "missing": {"missing": True},
    "if-any": {"optional": True, "missing": True},
    "optional": {"optional": True},
    "rare": {"rare": True, "missing": True},
    "full": {"missing": False},
    "finite": {"finite": True},
}
_VALUES = {"from": "minimum", "to": "maximum", "default": "default"}  # of marks that have one


@dataclass(frozen=True)
class Column:
    """One column: its name, what it holds, and which values it may take.

    `coded_id` is an id held as a pandas category whose categories are sorted strings, so that the
    order of codes is the order of ids. `optional` columns are filled with `default` when absent, by default
    with what is missing; `missing` allows missing values (empty in CSV); `minimum` and `maximum` are
    inclusive; `finite` forbids NaN and infinities in floats. `probability`: a float above 0 and up to 1. A
    column that is `rare` is optional and stays away when absent. dtype: of the column in a checked table;
    blank: what stands in every row where it is absent.
    """

    name: str
    kind: str
    optional: bool = False
    missing: bool = False
    minimum: float | None = None
    maximum: float | None = None
    finite: bool = False
    default: object = None
    rare: bool = False

    dtype: Any = field(init=False)
    blank: Any = field(init=False)

    def __post_init__(self) -> None:
        dtype, missing = _KINDS[self.kind]
        vars(self)["dtype"] = "Int64" if self.kind == "int" and self.missing else dtype
        vars(self)["blank"] = missing if self.default is None else self.default


@dataclass(frozen=True)
class TableSpec:
    """A table's name, columns, key, row order, and whether further columns are kept.

    Rows are ordered by `order`, by default the key; `as_given`: they keep the order they come in. further:
    what raises `TableError` for what columns say together, and the columns that it looks at. file: the
    table's name in its folder. about: what the columns mean. names: of all columns; needed: of those without
    which there is no such table.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    order: tuple[str, ...] = ()
    extra: bool = False
    as_given: bool = False
    further: tuple[Further, ...] = ()
    file: str = ""
    about: str = ""

    names: tuple[str, ...] = field(init=False)
    needed: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        needed = [column.name for column in self.columns if not (column.optional or column.rare)]
        vars(self)["names"] = tuple(column.name for column in self.columns)
        vars(self)["needed"] = tuple(needed)


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
        how |= {_VALUES[word]: int(value) if value.isdecimal() else value} if value else _MARKS[mark]
    return tuple(Column(name, kind, **how) for name in names)


def _read() -> dict[str, TableSpec]:
    specs = {}
    for values in table_in("tables", "tables.toml")["table"]:
        values |= {part: tuple(values.get(part, "").split()) for part in ("key", "order")}
        values["columns"] = tuple(each for line in values["columns"] for each in columns_of(line))
        rules = [(rule.split(" by "), partial(refuse_several, rule=rule)) for rule in values.pop("one", ())]
        values["further"] = (*rules, *FURTHER.get(values["name"], ()))
        specs[values["name"]] = TableSpec(**values)
    return specs


SPECS = _read()
