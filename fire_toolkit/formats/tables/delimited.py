"""CSV and TSV with a header line: every field is text, exactly as written, until its table is checked.

`007` stays `007`, and `NA`, `null` and the empty field are text. CSV is quoted as in RFC 4180, and may be
separated by semicolons, as spreadsheets write it where the comma is the decimal sign; TSV is not quoted at
all, so a caption that begins with a quote does not swallow the next line.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_bytes, text_of, without_mark
from fire_toolkit.formats.tables.columns_text import Texts, changed, data_of, field_texts, joined_lines
from fire_toolkit.formats.tables.delimited_columns import delimiter_of, well_formed_columns

_LINE = re.compile("[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ROWS_AT_ONCE = 1 << 16
_ROWS_WRITTEN_AT_ONCE = 1 << 20
_QUOTED = (b",", b'"', b"\r", b"\n")
_BROKEN = re.compile(rb"[\t-\r\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]")


def read_delimited(
    path: str | Path,
    *,
    required: Sequence[str] = (),
    only: Collection[str] | None = None,
    numbers_repeats: bool = False,
) -> pd.DataFrame:
    """Return a CSV or TSV file as a frame of text; the header line decides how fields are separated.

    Args:
        path: a file with a header line (`-`: standard input; gzip by content).
        required: columns that the header must name; others are kept.
        only: the columns to return if the file has them; by default all.
        numbers_repeats: a name that several columns have is no error; they are `name (1)`, `name (2)` …

    Raises:
        FormatError: no header, a name twice (but see `numbers_repeats`), a required column missing, a line
            with too few or too many fields, or a quote that is not closed; names path and line.
    """
    raw = without_mark(read_bytes(path))
    table = well_formed_columns(raw, only)
    if table is not None and set(required) <= set(table.columns):
        return table
    found = _read_carefully(text_of(raw, path), path, required, numbers_repeats=numbers_repeats)
    return found if only is None else found[[name for name in found.columns if name in only]]


def _read_carefully(
    text: str, path: str | Path, required: Sequence[str], *, numbers_repeats: bool = False
) -> pd.DataFrame:
    delimiter = delimiter_of(text.split("\n", 1)[0])
    rows = _rows(text, delimiter, path)
    header = [name.strip() for name in next(rows)[1]]
    if numbers_repeats:
        header = _numbered(header)
    check_header(header, required, path)
    parts = list(_columns(rows, header, path))
    names = enumerate(header)
    return pd.DataFrame(
        {name: pd.concat([part[n] for part in parts], ignore_index=True) for n, name in names}
    )


def _numbered(header: Sequence[str]) -> list[str]:
    """Return the names, each that stands several times with its number among its like.

    Examples:
        >>> _numbered(["who", "fits", "", "fits", ""])
        ['who', 'fits (1)', '(1)', 'fits (2)', '(2)']
    """
    n_seen: Counter[str] = Counter()
    totals, names = Counter(header), []
    for name in header:
        n_seen[name] += 1
        names.append(f"{name} ({n_seen[name]})".strip() if totals[name] > 1 else name)
    return names


def _columns(
    rows: Iterator[tuple[int, list[str]]], header: Sequence[str], path: str | Path
) -> Iterator[list[pd.Series]]:
    """Yield the columns of blocks of rows, so that few fields are in memory as Python objects."""
    while True:
        found = []
        for line, fields in islice(rows, _ROWS_AT_ONCE):
            if len(fields) != len(header):
                raise FormatError(
                    f"{path}:{line}: {len(fields)} fields, expected {len(header)} ({','.join(header)})"
                )
            found.append(fields)
        columns = zip(*found, strict=True) if found else [()] * len(header)
        yield [pd.Series(list(values), dtype="str") for values in columns]
        if len(found) < _ROWS_AT_ONCE:
            return


def _rows(text: str, delimiter: str, path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line it begins on, leaving out blank lines."""
    lines = (found[0] for found in _LINE.finditer(text))
    if delimiter == "\t":
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(f"{path}:{line}: {error}; expected CSV with a header line") from None


def check_header(header: Sequence[str], required: Sequence[str], path: str | Path) -> None:
    """Raise `FormatError` unless the header names every required column, and none twice."""
    absent = [name for name in required if name not in header]
    if absent:
        raise FormatError(
            f"{path}:1: no column {', '.join(absent)}; found {', '.join(header)}; "
            f"expected a header line that names {', '.join(required)}"
        )
    twice = sorted({name for name in header if list(header).count(name) > 1})
    if twice:
        raise FormatError(f"{path}:1: column {', '.join(twice)} appears twice in the header")


def delimited_text(table: pd.DataFrame, *, delimiter: str = ",", nan: str = "") -> str:
    """Return `table` as `delimited_bytes` does, as text."""
    return delimited_bytes(table, delimiter=delimiter, nan=nan).decode()


def delimited_bytes(
    table: pd.DataFrame, *, delimiter: str = ",", nan: str = "", with_header: bool = True
) -> bytes:
    """Return `table` as CSV (or TSV) in UTF-8 with a header line (by default) and `\\n` line ends.

    Floats are written with the fewest digits that read back equal; a missing value is an empty
    field, NaN in a float column is `nan`. TSV has no quoting: tabs and line ends in text become spaces.
    """
    quote, marked = (_quoted, _all_quoted) if delimiter == "," else (_flat, _all_flat)
    header = delimiter.join(quote(str(name)) for name in table.columns) + "\n" if with_header else ""
    if table.empty:
        return header.encode()
    written = io.BytesIO()  # whose value is its own buffer
    written.write(header.encode())
    for start in range(0, len(table), _ROWS_WRITTEN_AT_ONCE):
        rows = table.iloc[start : start + _ROWS_WRITTEN_AT_ONCE]
        columns = [field_texts(values, nan=nan, marked=marked) for _, values in rows.items()]
        parts = [part for column in columns for part in (delimiter, column)]
        written.writelines(joined_lines(parts[1:]))
    return written.getvalue()


def _all_quoted(texts: Texts) -> Texts:
    data = data_of(texts)
    return changed(texts, _quoted) if any(mark in data for mark in _QUOTED) else texts


def _quoted(field: str) -> str:
    if not any(mark in field for mark in ',"\r\n'):
        return field
    return '"' + field.replace('"', '""') + '"'


def _all_flat(texts: Texts) -> Texts:
    return changed(texts, _flat) if _BROKEN.search(data_of(texts)) else texts


def _flat(field: str) -> str:
    return " ".join(field.splitlines()).replace("\t", " ")
