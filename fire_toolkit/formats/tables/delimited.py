"""CSV and TSV with a header line: every field is text, exactly as written, until its table is checked.

`007` stays `007`, and `NA`, `null` and the empty field are text. CSV is quoted as in RFC 4180, and may be
separated by semicolons, as spreadsheets write it where the comma is the decimal sign. TSV is quoted in the
same way where a field of the file begins with a quote, as pandas writes it, and plain text where none does;
a line that is neither is refused. What is written here is quoted, so that it reads back as it was.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.files import read_bytes, text_of, without_mark
from fire_toolkit.formats.tables.columns_text import Texts, changed, data_of, field_texts, joined_lines
from fire_toolkit.formats.tables.delimited_columns import delimiter_of, has_quoted_field, well_formed_columns

_LINE = re.compile("[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ROWS_AT_ONCE = 1 << 16
_ROWS_WRITTEN_AT_ONCE = 1 << 20
_FIELD = r'(?:"[^"]*(?:""[^"]*)*"|[^"\t\r\n]*)'
_QUOTED_ROW = re.compile(f"{_FIELD}(?:\t{_FIELD})*(?:\r\n?|\n)?")
_ALL_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"(?:\t"[^"]*(?:""[^"]*)*")*(?:\r\n?|\n)?')
_NEEDLESS = re.compile(rb'[\t\n]("[^"\t\r\n]+")(?=[\t\r\n]|$)')


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
            with too few or too many fields, a quote that is not closed, or in TSV one that fits neither CSV
            quoting nor plain text; names path and line.

    Warns:
        FileNote: a TSV has quotes around a field that needs none, which are taken off.
    """
    raw = without_mark(read_bytes(path))
    _note_needless_quotes(raw, path)
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
    lines = [found[0] for found in _LINE.finditer(text)]
    is_tsv = delimiter == "\t"
    is_plain = is_tsv and not has_quoted_field(text.encode())
    if is_plain:
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line, width = 1, 0
    try:
        for fields in reader:
            if is_tsv and not is_plain:
                _check_quotes(lines[line - 1 : reader.line_num], width, f"{path}:{line}")
            width = width or len(fields)
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        if is_tsv and "larger than" not in str(error):
            _check_quotes(lines[line - 1 : line], 0, f"{path}:{line}")
        raise FormatError(f"{path}:{line}: {error}; expected CSV with a header line") from None


def _check_quotes(lines: Sequence[str], width: int, where: str) -> None:
    """Raise `FormatError` unless the lines of a row are quoted as in CSV, and could be nothing else.

    width: the number of columns; 0 where it is not known.
    """
    row, n_lines = "".join(lines), len(lines)
    if not _QUOTED_ROW.fullmatch(row):
        raise FormatError(
            f'{where}: a quote that fits neither CSV quoting ("a ""stop"" sign") nor plain text, in which no '
            "field of the file begins with a quote; save the file again with quotes as in CSV"
        )
    are_rows = n_lines > 1 and all(line.count("\t") + 1 == width for line in lines)
    if are_rows and not _ALL_QUOTED.fullmatch(row):
        raise FormatError(
            f"{where}: one row with a quoted field of {n_lines} lines, or {n_lines} rows in which quotes are "
            "plain text; quote all fields, or remove the quotes"
        )


def _note_needless_quotes(raw: bytes, path: str | Path) -> None:
    """Warn where a TSV has quotes around a field that needs none: they may have been part of the text."""
    head = raw[: raw.find(b"\n") + 1]
    if b"\t" not in head or b'"' in head or b'"' not in raw:
        return
    if found := _NEEDLESS.search(raw):
        line = raw.count(b"\n", 0, found.start(1)) + 1
        shown = found[1].decode(errors="replace")[:60]
        words = f"{path}:{line}: the quotes of {shown} are taken off, as in CSV; to keep them, write "
        warnings.warn(f'{words}"""…"""', FileNote, stacklevel=3)


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
    r"""Return `table` as CSV (or TSV) in UTF-8 with a header line (by default) and `\n` line ends.

    Floats are written with the fewest digits that read back equal; a missing value is an empty
    field, NaN in a float column is `nan`. A field with a delimiter, a quote or a line end is quoted; where
    texts of a TSV hold tabs and line ends, all fields are, since a row could be taken for several.
    """
    marks = (delimiter, '"', "\r", "\n")
    texts = [field_texts(values, nan=nan) for _, values in table.items()] if delimiter == "\t" else []
    quotes_all = any(b"\t" in (data := data_of(each)) and (b"\n" in data or b"\r" in data) for each in texts)

    def quoted(field: str) -> str:
        if not quotes_all and not any(mark in field for mark in marks):
            return field
        return '"' + field.replace('"', '""') + '"'

    def marked(texts: Texts) -> Texts:
        data = data_of(texts)
        return changed(texts, quoted) if any(mark.encode() in data for mark in marks) else texts

    header = delimiter.join(quoted(str(name)) for name in table.columns) + "\n" if with_header else ""
    if table.empty:
        return header.encode()
    written = io.BytesIO()  # whose value is its own buffer
    written.write(header.encode())
    for start in range(0, len(table), _ROWS_WRITTEN_AT_ONCE):
        rows = table.iloc[start : start + _ROWS_WRITTEN_AT_ONCE]
        columns = [field_texts(values, nan=nan, marked=marked) for _, values in rows.items()]
        if quotes_all:
            columns = [changed(field_texts(values, nan=nan), quoted) for _, values in rows.items()]
        parts = [part for column in columns for part in (delimiter, column)]
        written.writelines(joined_lines(parts[1:]))
    return written.getvalue()
