"""The fast reader of CSV and TSV: Arrow reads well-formed files, the careful reader all others."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.tables.checks import are_ids

_LONGEST_FIELD = 1 << 17
_BLOCK_BYTES = (1 << 31) - 1  # a column of one block need not be put together
_OPENING = re.compile(rb'(?:\A|[\t\r\n])"')
_QUOTE, _LINE_ENDS = ord('"'), (ord("\r"), ord("\n"))


def delimiter_of(header: str) -> str:
    """Return what separates the fields of a header: a tab, else a comma, else a semicolon."""
    return next((mark for mark in ("\t", ",", ";") if mark in header), ",")


def has_quoted_field(raw: bytes) -> bool:
    """Return whether a field of a TSV begins with a quote: then it is quoted as CSV, else not at all."""
    return _OPENING.search(raw) is not None


def well_formed_columns(raw: bytes, only: Collection[str] | None = None) -> pd.DataFrame | None:
    """Return a file's columns as text, or None if the careful reader must read it.

    Args:
        raw: UTF-8 without a byte order mark: a header without quotes, then rows.
        only: the columns to keep if the file has them; by default all.
    """
    import pyarrow as pa

    table = _well_formed(raw, only=None if only is None else dict.fromkeys(only, pa.large_string()))
    if table is None:
        return None
    columns = [column.combine_chunks() for column in table.columns]
    if any(_has_long_field(column) for column in columns):
        return None
    names = table.column_names
    texts = [pd.Series(pd.array(column, dtype="str"), copy=False) for column in columns]
    return pd.DataFrame(dict(zip(names, texts, strict=True)))


def distinct_ids(raw: bytes, name: str, *, required: Sequence[str]) -> set[str] | None:
    """Return the distinct ids of one column, without reading the others; the file must have those required.

    None if the careful reader must read it.
    """
    import pyarrow as pa

    table = _well_formed(raw, only={name: pa.dictionary(pa.int32(), pa.string())}, required=required)
    if table is None:
        return None
    found = table[name].unify_dictionaries().chunk(0).dictionary.to_pylist() if table.num_rows else []
    return set(found) if are_ids(found) else None


def _well_formed(
    raw: bytes, *, only: Mapping[str, Any] | None = None, required: Sequence[str] = ()
) -> Any | None:
    """Return a table of large strings, or of those columns and types of `only` that it has; None as above."""
    import pyarrow as pa
    from pyarrow import csv

    head = raw[: raw.find(b"\n") + 1]
    body = memoryview(raw)[len(head) :]
    delimiter = delimiter_of(head.decode(errors="replace"))
    has_quotes = b'"' in raw and (delimiter != "\t" or has_quoted_field(raw))
    if not head.strip() or delimiter == ";" or b"\0" in raw or not _ends_lines_once(raw):
        return None
    if has_quotes and (b'"' in head or not _is_well_quoted(body, delimiter)):
        return None
    block_size = min(_BLOCK_BYTES, len(body) + 1)
    try:
        names = [name.strip() for name in head.decode().split(delimiter)]
        if len(set(names)) < len(names) or not set(required) <= set(names):
            return None
        wanted = dict.fromkeys(names, pa.large_string()) if only is None else only
        types = {name: wanted[name] for name in names if name in wanted}
        if not types or (len(types) < len(names) and not _is_utf8(body)):
            return None
        table = csv.read_csv(
            pa.BufferReader(body),
            csv.ReadOptions(column_names=names, use_threads=False, block_size=block_size),
            csv.ParseOptions(
                delimiter=delimiter, quote_char='"' if has_quotes else False, newlines_in_values=has_quotes
            ),
            csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[], check_utf8=True
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    n_lines = raw.count(b"\n", len(head)) + (not raw.endswith(b"\n"))
    may_be_several = has_quotes and delimiter == "\t" and table.num_rows < n_lines  # rows of plain text
    return None if may_be_several else table


def _is_utf8(raw: memoryview) -> bool:
    import pyarrow as pa

    ends = pa.array([0, len(raw)], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(raw)])
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _ends_lines_once(raw: bytes) -> bool:
    """Return whether carriage returns stand before line feeds only."""
    return b"\r" not in raw or raw.count(b"\r") == raw.count(b"\r\n")


def _is_well_quoted(body: memoryview, delimiter: str) -> bool:
    """Return whether every quote begins or ends a whole field, or is doubled within a quoted one."""
    marks = np.frombuffer(body, dtype=np.uint8)
    places = np.flatnonzero(marks == _QUOTE)
    if len(places) % 2:
        return False
    opening, closing = places[0::2], places[1::2]
    bounds = np.array([ord(delimiter), *_LINE_ENDS], dtype=np.uint8)
    before = np.where(opening > 0, marks[opening - 1], bounds[0])
    after = np.where(closing + 1 < len(marks), marks[np.minimum(closing + 1, len(marks) - 1)], bounds[0])
    is_doubled = closing[:-1] + 1 == opening[1:]
    begins = np.isin(before, bounds) | np.concatenate([[False], is_doubled])
    ends = np.isin(after, bounds) | np.concatenate([is_doubled, [False]])
    return bool(begins.all() and ends.all())


def _has_long_field(column: Any) -> bool:
    from pyarrow import compute

    return bool((compute.max(compute.binary_length(column)).as_py() or 0) >= _LONGEST_FIELD)
