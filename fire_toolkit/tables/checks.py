"""Checks of a table's columns, dtypes, key and row order, once, where the table is made.

`tables` has the specification of each table. All failures of a table are
gathered into one message with a count and examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from fire_toolkit.errors import TableError
from fire_toolkit.tables.columns import (
    Coded,
    are_in_order,
    are_plain_ids,
    has_each_key_once,
    packed_codes,
    places_in_order,
    plain_numbers,
)

Series = Any  # a pandas.Series; its element type changes while a column is checked

Kind = Literal["id", "coded_id", "text", "int", "float", "probability", "bool"]


@dataclass(frozen=True)
class Column:
    """One column: its name, what it holds, and which values it may take.

    `coded_id` is an id held as a pandas category whose categories are sorted strings, so that the
    order of codes is the order of ids. `optional` columns are filled with `default` when absent;
    `missing` allows missing values (empty in CSV); `minimum` is inclusive; `finite` forbids NaN
    and infinities in floats. `probability`: a float above 0 and up to 1. A column that is `rare` is
    optional and stays away when absent.
    """

    name: str
    kind: Kind
    optional: bool = False
    missing: bool = False
    minimum: float | None = None
    finite: bool = False
    default: object = ""
    rare: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table's name, columns, key, row order, and whether further columns are kept.

    Rows are ordered by `order`, by default the key; `as_given`: they keep the order they come in.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    order: tuple[str, ...] = ()
    extra: bool = False
    as_given: bool = False
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))

    @property
    def dtypes(self) -> dict[str, str]:
        """Return the dtype of each column that is always there, for a table made row by row."""
        plain = {"int": "int64", "float": "float64", "probability": "float64", "bool": "bool"}
        return {column.name: plain.get(column.kind, "str") for column in self.columns if not column.rare}


def check_table(spec: TableSpec, table: pd.DataFrame, *, where: str = "") -> pd.DataFrame:
    """Return `table` with the columns, dtypes and row order of `spec`; raise when it cannot be.

    Args:
        spec: the contract.
        table: any frame; it is not changed.
        where: what the table is called in an error (a path, say); by default the spec's name.

    Returns:
        A new frame with a fresh index. An empty frame is valid if its columns are there.

    Raises:
        TableError: with every failure found: columns missing, ids that are not text or hold white
            space, numbers out of range, missing values, keys given twice.

    Examples:
        >>> spec = TableSpec("pairs", (Column("doc_id", "id"), Column("relevance", "int")), ("doc_id",))
        >>> check_table(spec, pd.DataFrame({"doc_id": ["d2", "d1"], "relevance": ["0", 1]}))
          doc_id  relevance
        0     d1          1
        1     d2          0
    """
    where = where or spec.name
    absent = [c.name for c in spec.columns if c.name not in table.columns and not (c.optional or c.rare)]
    if absent:
        raise TableError(
            f"{where}: no column {', '.join(absent)}; found {', '.join(map(str, table.columns)) or 'none'}; "
            f"expected {', '.join(spec.names)}"
        )
    problems: list[str] = []
    present = [c for c in spec.columns if c.name in table.columns or not c.rare]
    extra = [name for name in table.columns if spec.extra and name not in spec.names]
    if not len(table):
        return _empty(present, table[extra])
    table = table.reset_index(drop=True)
    coded: dict[str, Coded] = {}
    columns = {column.name: _typed(column, table, problems, coded) for column in present}
    if not problems:
        order = () if spec.as_given else spec.order or spec.key
        coded |= {name: Coded(columns[name]) for name in {*spec.key, *order} - set(coded)}
        _check_key(spec, columns, coded, problems)
    if problems:
        raise TableError(f"{where}: {'; '.join(problems)}")
    columns |= {name: table[name] for name in extra}
    typed = pd.DataFrame(columns, index=table.index, copy=False)  # pandas copies what is written to
    return _in_order(typed, [coded[name] for name in order])


def _empty(columns: Sequence[Column], extra: pd.DataFrame) -> pd.DataFrame:
    """Return a table without rows; every column is made anew, since others may have an array without chunks,
    and pandas fails to join two of those.
    """
    empty = _without_rows(tuple(columns)).copy()
    for name in extra.columns:
        empty[name] = pd.Series([], dtype=extra[name].dtype)
    return empty


@cache
def _without_rows(columns: tuple[Column, ...]) -> pd.DataFrame:
    whole = {"int": "int64", "float": "float64", "probability": "float64", "bool": "boolean"}
    coded = pd.CategoricalDtype(pd.Index([], dtype="str"))
    types: dict[str, Any] = {column.name: whole.get(column.kind, "str") for column in columns}
    types |= {column.name: coded for column in columns if column.kind == "coded_id"}
    types |= {column.name: "Int64" for column in columns if column.kind == "int" and column.missing}
    return pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in types.items()})


def _typed(column: Column, table: pd.DataFrame, problems: list[str], coded: dict[str, Coded]) -> Series:
    """Return a column with its dtype; where ids were coded on the way, their codes are kept in `coded`."""
    if column.name not in table.columns:
        return pd.Series(_default(column).take(np.zeros(len(table), dtype=np.int64)))
    return _of_kind(column, table[column.name], problems, coded)


@cache
def _default(column: Column) -> Any:
    """Return the value of an absent column as an array of one."""
    dtype = "str" if isinstance(column.default, str) else object
    return _of_kind(column, pd.Series([column.default], dtype=dtype), [], {}).array


def _of_kind(column: Column, values: Series, problems: list[str], coded: dict[str, Coded]) -> Series:
    if column.kind == "coded_id":
        return _coded_ids(column, values, problems)
    if column.kind == "id":
        return _id_text(column, values, problems, coded)
    if column.kind == "text":
        return _text(column, values, problems)
    if column.kind == "bool":
        return _booleans(column, values, problems)
    if column.kind == "probability":
        return _probabilities(column, values, problems)
    return _numbers(column, values, problems)


def _say(problems: list[str], column: Column, what: str, bad: npt.ArrayLike, values: Series) -> None:
    rows = np.flatnonzero(np.asarray(bad, dtype=bool))
    if rows.size:
        examples = ", ".join(f"row {row + 1}: {_shown(values.iloc[row])}" for row in rows[:3])
        problems.append(f"{column.name} {what} ({rows.size} of {len(values)}; {examples})")


def _shown(value: object) -> str:
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return shown if len(shown) <= 60 else f"{shown[:50]}… ({len(shown):,} characters)"


_STR = pd.StringDtype(na_value=np.nan)
_HALF = re.compile(r"[\ud800-\udfff]")


def _text(column: Column, values: Series, problems: list[str]) -> Series:
    missing = np.asarray(values.array.isna(), dtype=bool)
    if not _is_sound_text(values):
        is_text = np.array([isinstance(value, str) for value in values], dtype=bool)
        _say(problems, column, "is not text", ~missing & ~is_text, values)
        unwritable = np.array([isinstance(v, str) and bool(_HALF.search(v)) for v in values], dtype=bool)
        _say(problems, column, "contains half a character (an unpaired surrogate)", unwritable, values)
    if not column.missing:
        _say(problems, column, "is missing", missing, values)
    if problems:
        return values
    text = values if values.dtype == _STR else values.astype("str")
    return text.where(~missing, "").astype("str") if missing.any() else text


def _is_sound_text(values: Series) -> bool:
    """Return whether all values are text in UTF-8 or missing, as far as that can be told in one look."""
    if not isinstance(values.dtype, pd.StringDtype):
        return False
    try:
        pa.array(values.array).validate(full=True)
    except (pa.ArrowInvalid, UnicodeError):
        return False
    return True


def _id_text(column: Column, values: Series, problems: list[str], coded: dict[str, Coded]) -> Series:
    before = len(problems)
    text = _text(column, values, problems)
    if len(problems) > before:
        return text
    coded[column.name] = Coded(text)
    if not are_plain_ids(text):
        _say(problems, column, _BAD_ID, _bad_ids(coded[column.name]), text)
    return text


_BAD_ID = (
    "is empty or holds white space or control characters, which no TREC file can carry; "
    "write another character in its place, in all files alike"
)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_id(value: object) -> bool:
    """Return whether `value` can be an id: text, not empty, that a TREC file in UTF-8 can carry.

    Examples:
        >>> [is_id(value) for value in ("007", "q:1|x", "two words", "", 7)]
        [True, True, False, False, False]
    """
    return isinstance(value, str) and value != "" and _BLANK.search(value) is None


def are_ids(texts: Sequence[str]) -> bool:
    """Return whether every text can be an id, as `is_id` has it, in one search through all of them.

    Examples:
        >>> are_ids(["007", "q:1|x"]), are_ids(["007", "two words"]), are_ids(["007", ""])
        (True, False, False)
    """
    joined = "".join(texts)
    return all(texts) and _BLANK.search(joined) is None


def _bad_ids(coded: Coded) -> npt.NDArray[Any]:
    ids = coded.distinct.tolist()
    is_bad = np.zeros(len(ids), dtype=bool) if are_ids(ids) else ~np.array([is_id(value) for value in ids])
    return np.asarray(is_bad[coded.codes])


def _coded_ids(column: Column, values: Series, problems: list[str]) -> Series:
    if isinstance(values.dtype, pd.CategoricalDtype):
        coded = _without_unused(values.array)
    else:
        if not all(isinstance(value, str) for value in pd.unique(values)):
            not_text = np.array([not isinstance(value, str) for value in values], dtype=bool)
            _say(problems, column, "is not text", not_text, values)
            return values
        codes, categories = pd.factorize(values)
        coded = pd.Categorical.from_codes(codes, pd.Index(categories, dtype="str"))
    if (coded.codes < 0).any():
        _say(problems, column, "is missing", coded.codes < 0, values)
        return values
    categories = pd.Index(coded.categories, dtype="str")
    bad = _bad_ids(Coded(categories.to_series()))
    if bad.any():
        _say(problems, column, _BAD_ID, bad[coded.codes], values)
        return values
    place = places_in_order(categories.array)
    if place is not None:
        coded = pd.Categorical.from_codes(place.astype(np.int32)[coded.codes], categories[np.argsort(place)])
    return pd.Series(coded)


def _without_unused(coded: Any) -> Any:
    is_used = np.zeros(len(coded.categories) + 1, dtype=bool)
    for start in range(0, len(coded), 1 << 18):
        if not is_used[:-1].all():
            is_used[coded.codes[start : start + (1 << 18)]] = True  # a missing value's code is -1
    return coded if is_used[:-1].all() else coded.remove_unused_categories()


def _probabilities(column: Column, values: Series, problems: list[str]) -> Series:
    numbers = _numbers(replace(column, kind="float"), values, problems)
    if not problems:
        is_out = ~((numbers > 0) & (numbers <= 1) | numbers.isna())
        _say(problems, column, "is not a probability above 0 and up to 1", is_out, values)
    return numbers


def _is_plain(column: Column, values: Series) -> bool:
    """Return whether the numbers need no more than a look: of the dtype, none missing, none out of range."""
    if values.dtype not in (np.int64, np.float64) or (values.dtype == np.int64) != (column.kind == "int"):
        return False
    numbers = values.to_numpy()
    if column.missing or (column.kind == "float" and not np.isfinite(numbers).all()):
        return False
    return column.minimum is None or numbers.size == 0 or bool(numbers.min() >= column.minimum)


def _numbers(column: Column, values: Series, problems: list[str]) -> Series:
    if _is_plain(column, values):
        return values
    kind: Literal["int", "float"] = "int" if column.kind == "int" else "float"
    plain = plain_numbers(values, kind, missing=column.missing, minimum=column.minimum)
    if plain is not None:
        return plain
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
        numbers = values
    else:
        blank = values.isna() | (values.astype("str") == "")
        try:
            numbers = pd.to_numeric(values.astype(object).where(~blank, np.nan), errors="coerce")
        except OverflowError:  # a whole number beyond every float, which is infinite as text
            numbers = pd.to_numeric(values.astype("str").where(~blank, np.nan), errors="coerce")
        _say(problems, column, "is not a number", numbers.isna() & ~blank, values)
    missing = np.asarray(numbers.isna(), dtype=bool)
    if not column.missing:
        _say(problems, column, "is not finite" if column.finite else "is missing", missing, values)
    present = numbers.where(~missing, 0).to_numpy(dtype=np.float64)
    if column.finite:
        _say(problems, column, "is not finite", np.isinf(present), values)
    if column.minimum is not None:
        _say(problems, column, f"is below {column.minimum:g}", ~missing & (present < column.minimum), values)
    if column.kind == "float":
        return numbers.astype(np.float64)
    is_whole = (present == np.floor(present)) & ~np.isnan(present)
    _say(problems, column, "is not a whole number", ~missing & ~is_whole, values)
    is_exact = np.abs(present) < (2.0**63 if pd.api.types.is_integer_dtype(numbers.dtype) else 2.0**53)
    _say(problems, column, "is too large a number", ~missing & is_whole & ~is_exact, values)
    if problems:
        return values
    return numbers.astype("Int64") if column.missing else numbers.astype(np.int64)


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _booleans(column: Column, values: Series, problems: list[str]) -> Series:
    codes, distinct = values.array.factorize()  # a missing value's code is -1, the last place below
    spelled = [*(str(value).lower() for value in distinct), ""]
    known = [_BOOLEANS.get(text) for text in spelled]
    is_missing = np.array([text == "" for text in spelled])[codes]
    is_bad = np.array([value is None for value in known])[codes] & ~is_missing
    _say(problems, column, "is neither True nor False", is_bad, values)
    if not column.missing:
        _say(problems, column, "is missing", is_missing, values)
    return pd.Series(pd.arrays.BooleanArray(np.array([bool(value) for value in known])[codes], is_missing))


def _check_key(
    spec: TableSpec, columns: dict[str, Series], coded: Mapping[str, Coded], problems: list[str]
) -> None:
    if not spec.key or has_each_key_once([coded[name].codes for name in spec.key]):
        return
    twice = pd.DataFrame({name: columns[name] for name in spec.key}).duplicated().to_numpy()
    if twice.any():
        rows = np.flatnonzero(twice)
        examples = ", ".join(" ".join(str(columns[name].iloc[row]) for name in spec.key) for row in rows[:3])
        problems.append(f"{', '.join(spec.key)} given twice ({rows.size} rows; {examples})")


def _in_order(table: pd.DataFrame, coded: Sequence[Coded]) -> pd.DataFrame:
    if not coded:
        return table
    keys = [each.sorted_codes for each in coded]
    if are_in_order(keys):
        return table
    keys = [key for key in keys if (key != key[0]).any()]
    packed = packed_codes(keys)
    rows = np.lexsort(keys[::-1]) if packed is None else np.argsort(packed, kind="stable")
    return pd.DataFrame(table.iloc[rows].reset_index(drop=True))


def ordered(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a checked table by its columns `names`, the first one first, with a fresh index."""
    if table.empty:
        return table
    return _in_order(table.reset_index(drop=True), [Coded(table[name]) for name in names])


def are_distinct(table: pd.DataFrame, names: Sequence[str]) -> bool:
    """Return whether no two rows of a checked table have the same values in its columns `names`."""
    return has_each_key_once([Coded(table[name]).codes for name in names]) or not bool(
        table.duplicated(list(names)).any()
    )
