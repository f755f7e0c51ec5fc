"""The one check of a table's columns, dtypes, key and row order by its spec, where the table is made.

All failures of a table are gathered into one message with a count and examples.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Codes, are_among, are_distinct, parts_of, rows_of_lists, starts_of_groups
from fire_toolkit.errors import TableError
from fire_toolkit.tables.columns import (
    Texts,
    arrow_text,
    code_texts,
    codes_of,
    do_ascend,
    numbers_of,
    packed_codes,
    texts_of,
)
from fire_toolkit.tables.ids import are_ids, is_id, with_encoded_ids
from fire_toolkit.tables.specs import SPECS, STR, Column, TableSpec
from fire_toolkit.words import n_of

Values = Any  # a column: the series as it came, or an array of its values that was made anew
Checked = TypeVar("Checked", covariant=True)


class Check(Protocol[Checked]):
    """Makes a table of a kind: returns it, or raises `TableError` with all that is wrong with it."""

    spec: TableSpec

    def __call__(self, table: pd.DataFrame, *, where: str = "") -> Checked:
        """Return `table` as the kind; where: what it is called in an error, by default the kind."""


def checks_as(kind: Callable[[pd.DataFrame], Checked], name: str) -> Check[Checked]:
    """Return the function that makes a table of a kind, which is a NewType, by its spec: `check_table`."""
    check: Any = partial(check_table, spec := SPECS[name])
    check.__doc__ = f"Return a table as {name}, or raise with all that is wrong with it.\n\n{spec.about}"
    check.spec = spec
    return cast(Check[Checked], check)


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

    Where an id of a query or a doc has a blank within, all of them are percent-encoded, as the ids of a
    collection are (see `ids`), and a `FileNote` says so.

    Examples:
        >>> spec = TableSpec("pairs", (Column("doc_id", "id"), Column("relevance", "int")), ("doc_id",))
        >>> check_table(spec, pd.DataFrame({"doc_id": ["d2", "d1"], "relevance": ["0", 1]}))
          doc_id  relevance
        0     d1          1
        1     d2          0
    """
    where = where or spec.name
    table = table.reset_index(drop=True)
    given: dict[Any, Values] = dict(table.items())
    absent = [name for name in spec.needed if name not in given]
    if absent:
        raise TableError(
            f"{where}: no column {', '.join(absent)}; found {', '.join(map(str, given)) or 'none'}; "
            f"expected {', '.join(spec.names)}"
        )
    if len(given) < table.shape[1]:
        twice = ", ".join(map(str, table.columns[table.columns.duplicated()]))
        raise TableError(f"{where}: several columns are called {twice}, expected one")
    problems: list[str] = []
    columns: dict[Any, Values] = {}
    for column in spec.columns:
        if column.name in given and len(table):
            columns[column.name] = _CHECKS[column.kind](column, given[column.name], problems)
        elif column.name in given or not column.rare:
            columns[column.name] = pd.Series(column.blank, table.index, column.dtype)
    if problems:
        if (encoded := with_encoded_ids(table, where)) is not table:
            return check_table(spec, encoded, where=where)
        raise TableError(f"{where}: {'; '.join(problems)}")
    # Others' columns without rows may be arrays without chunks, two of which pandas fails to join.
    columns |= {
        name: each if len(table) else pd.Series([], dtype=each.dtype)
        for name, each in given.items()
        if spec.extra and name not in columns
    }
    order, key = () if spec.as_given else spec.order or spec.key, [*spec.key]
    if order != spec.key or not do_ascend([columns[name] for name in key]):
        codes = {name: codes_of(columns[name], in_order=name in order) for name in {*order, *key}}
        starts = starts_of_groups(*map(codes.get, order)) if order else np.zeros(1, dtype=np.int64)
        by = packed_codes([codes[name][starts] for name in order])
        are_together = {*order} <= {*key} and are_distinct(by)  # rows that could have one key
        parts = parts_of(starts, len(table)) if are_together else [slice(None)]
        if not all(are_distinct(packed_codes([codes[name][part] for name in key])) for part in parts):
            keys = pd.DataFrame({name: columns[name] for name in key})
            again = keys[keys.duplicated()]
            shown = ", ".join(" ".join(map(str, row)) for row in again[:3].to_numpy())
            raise TableError(f"{where}: {', '.join(key)} given twice ({n_of(len(again), 'row')}; {shown})")
        if (by[1:] < by[:-1]).any():
            lists = np.argsort(by, kind="stable")
            place = rows_of_lists(starts[lists], np.diff(starts, append=len(table))[lists])
            arrays: Any = {name: getattr(each, "array", each) for name, each in columns.items()}
            columns = {name: values.take(place) for name, values in arrays.items()}
    typed = pd.DataFrame(columns, index=table.index, copy=False)  # pandas copies what is written to
    for check in [check for names, check in spec.further if {*names} <= {*columns}]:
        check(typed, where)
    return typed


def ordered(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a checked table by its columns `names`, the first one first, with a fresh index."""
    if not do_ascend([table[name] for name in names]):
        keys = packed_codes([codes_of(table[name], in_order=True) for name in names])
        table = table.iloc[np.argsort(keys, kind="stable")]
    return table.reset_index(drop=True)


def _say(problems: list[str], column: Column, what: str, bad: npt.ArrayLike, values: Values) -> None:
    rows = np.flatnonzero(np.asarray(bad, dtype=bool))
    if rows.size:
        examples = ", ".join(f"row {row + 1}: {_shown(values.iloc[row])}" for row in rows[:3])
        problems.append(f"{column.name} {what} ({rows.size} of {len(values)}; {examples})")


def _shown(value: object) -> str:
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return shown if len(shown) <= 60 else f"{shown[:50]}… ({len(shown):,} characters)"


_HALF = re.compile(r"[\ud800-\udfff]")


def _texts(column: Column, values: Values, problems: list[str]) -> Values:
    """Return text, or ids, or the values with what is wrong; where all is text in UTF-8 one look tells."""
    n_before = len(problems)
    missing = np.asarray(values.array.isna(), dtype=bool)
    try:
        if not isinstance(values.dtype, pd.StringDtype):
            raise UnicodeError
        pa.array(values.array).validate(full=True)
    except (pa.ArrowInvalid, UnicodeError):
        is_text = np.array([isinstance(v, str) and not _HALF.search(v) for v in values], dtype=bool)
        _say(problems, column, "is not text in UTF-8", ~missing & ~is_text, values)
    if not column.missing:
        _say(problems, column, "is missing", missing, values)
    if len(problems) > n_before:
        return values.array
    is_as_wanted = values.dtype == STR and not missing.any()
    text = values.array if is_as_wanted else values.astype("object").where(~missing, "").astype(STR).array
    if column.kind != "text" and not are_ids(arrow_text(text)):
        _say_bad_ids(column, *code_texts(text), values, problems)
    return text


_BAD_ID = (
    "is empty or holds white space or control characters, which no TREC file can carry; "
    "write another character in its place, in all files alike"
)


def _say_bad_ids(column: Column, codes: Codes, distinct: Texts, values: Values, problems: list[str]) -> None:
    is_bad = ~np.array([is_id(value) for value in distinct.to_pylist()])
    _say(problems, column, _BAD_ID, is_bad[codes], values)


def _coded_ids(column: Column, values: Values, problems: list[str]) -> Values:
    if not isinstance(values.dtype, pd.CategoricalDtype):
        n_before, text = len(problems), _texts(column, values, problems)
        if len(problems) > n_before:
            return values
        codes, found = code_texts(text, in_order=True)
        return pd.Categorical.from_codes(codes, pd.Index(found, dtype="str"), validate=False)
    codes, distinct = values.array.codes, arrow_text(values.array.categories.astype("str").array)
    is_used = are_among(codes, len(distinct) + 1)[:-1]  # the last is of a missing one: -1
    if not is_used.all():
        codes, distinct = np.append(np.cumsum(is_used) - 1, -1)[codes], distinct.filter(pa.array(is_used))
    _say(problems, column, "is missing", codes < 0, values)
    if not are_ids(distinct):
        _say_bad_ids(column, codes, distinct, values, problems)
    if np.asarray(compute.greater(distinct[1:], distinct[:-1])).all():
        if values.dtype.categories.dtype == STR and is_used.all():
            return values
    else:
        place, distinct = code_texts(distinct, in_order=True)
        codes = np.append(place, -1)[codes]
    return pd.Categorical.from_codes(codes, pd.Index(distinct, dtype="str"), validate=False)


def _numbers(column: Column, values: Values, problems: list[str]) -> Values:
    is_int = column.kind == "int"
    missing = np.array(values.array.isna(), dtype=bool)
    is_other = np.zeros(len(missing), dtype=bool)
    if pd.api.types.is_numeric_dtype(values.dtype):
        known = values.astype("Int64") if pd.api.types.is_bool_dtype(values.dtype) else values
        numbers = (known.where(~missing, 0) if missing.any() else known).to_numpy()
    else:
        texts = texts_of(values)
        missing |= np.asarray(compute.equal(texts, "").fill_null(True))
        numbers, is_number = numbers_of(texts, "int" if is_int else "float")
        is_other = ~is_number & ~missing
        _say(problems, column, "is not a number", is_other, values)
    if not column.missing:
        _say(problems, column, "is not finite" if column.finite else "is missing", missing, values)
    missing |= is_other
    about = np.asarray(numbers, dtype=np.float64)
    if column.finite:
        _say(problems, column, "is not finite", np.isinf(about), values)
    for bound, beyond, word in ((column.minimum, np.less, "below"), (column.maximum, np.greater, "above")):
        if bound is not None:
            _say(problems, column, f"is {word} {bound:g}", ~missing & beyond(about, bound), values)
    if column.kind == "probability" and not problems:
        is_out = ~missing & ~((about > 0) & (about <= 1))
        _say(problems, column, "is not a probability above 0 and up to 1", is_out, values)
    if is_int and numbers.dtype.kind != "i":
        is_whole = about == np.floor(about)
        _say(problems, column, "is not a whole number", ~is_whole, values)
        is_exact = np.abs(about) < (2.0**63 if numbers.dtype.kind == "u" else 2.0**53)
        _say(problems, column, "is too large a number", is_whole & ~is_exact, values)
    if problems or values.dtype == column.dtype:
        return values
    if not is_int:
        return np.where(missing, np.nan, about)
    whole = numbers.astype(np.int64)
    return pd.arrays.IntegerArray(whole, missing) if column.missing else whole


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _booleans(column: Column, values: Values, problems: list[str]) -> Values:
    codes, distinct = values.array.factorize()  # a missing value's code is -1, the last place below
    spelled = [*(str(value).lower() for value in distinct), ""]
    known = [_BOOLEANS.get(text) for text in spelled]
    is_missing = np.array([text == "" for text in spelled])[codes]
    is_bad = np.array([value is None for value in known])[codes] & ~is_missing
    _say(problems, column, "is neither True nor False", is_bad, values)
    if not column.missing:
        _say(problems, column, "is missing", is_missing, values)
    return pd.arrays.BooleanArray(np.array([bool(value) for value in known])[codes], is_missing)


_CHECKS: dict[str, Callable[[Column, Values, list[str]], Values]] = {
    "id": _texts,
    "coded_id": _coded_ids,
    "text": _texts,
    "int": _numbers,
    "float": _numbers,
    "probability": _numbers,
    "bool": _booleans,
}
