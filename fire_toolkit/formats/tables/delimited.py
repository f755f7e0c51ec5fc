"""CSV and TSV with a header line: every field is text, exactly as written, until its table is checked.

`007` stays `007`, and `NA`, `null` and the empty field are text. CSV is quoted as in RFC 4180, and may be
separated by semicolons, as spreadsheets write it where the comma is the decimal sign. TSV is quoted in the
same way where a field of the file begins with a quote, as pandas writes it, and plain text where none does;
a line that is neither is refused. What is written here is quoted, so that it reads back as it was.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice, tee
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.files import BOM, read_bytes, text_of
from fire_toolkit.tables.columns import PAIR, bytes_of
from fire_toolkit.tables.ids import with_encoded_ids

_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_NO_ROW = re.compile(rb"[\r\n]*\Z")
_OPENING = re.compile(rb'(?:\A|[\t\r\n])"')
_QUOTE, _LINE_ENDS = ord('"'), (ord("\r"), ord("\n"))
_LONGEST_FIELD = 1 << 17
_NOT_EXACT = 2.0**53  # from where on a float skips whole numbers
_BLOCK_BYTES, _MOST_BYTES = 1 << 20, (1 << 31) - 1  # small blocks are read into memory that is there already
_FIELD = r'(?:"[^"]*(?:""[^"]*)*"|[^"\t\r\n]*)'
_QUOTED_ROW = re.compile(f"{_FIELD}(?:\t{_FIELD})*(?:\r\n?|\n)?")
_ALL_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"(?:\t"[^"]*(?:""[^"]*)*")*(?:\r\n?|\n)?')
_NEEDLESS = re.compile(rb'[\t\n]("[^"\t\r\n]+")(?=[\t\r\n]|$)')


def read_delimited(
    path: str | Path,
    *,
    required: Sequence[str] = (),
    only: Collection[str] | None = None,
    numbers: Collection[str] = (),
    numbers_repeats: bool = False,
) -> pd.DataFrame:
    """Return a CSV or TSV file as a frame of text; the header line decides how fields are separated.

    Args:
        path: a file with a header line (`-`: standard input; gzip by content).
        required: columns that the header must name; others are kept. Where a pair is among them (query_id,
            doc_id), ids with blanks are percent-encoded (`tables.ids`).
        only: the columns to return if the file has them; by default all.
        numbers: the columns to return as floats, NaN where a field is empty, if all of their fields are
            numbers that a float holds exactly or as near as it can; else they are text as the others.
        numbers_repeats: a name that several columns have is no error; they are `name (1)`, `name (2)` …

    Raises:
        FormatError: no header, a name twice (but see `numbers_repeats`), a required column missing, a line
            with too few or too many fields, a quote that is not closed, or in TSV one that fits neither CSV
            quoting nor plain text; names path and line.

    Warns:
        FileNote: a TSV has quotes around a field that needs none, which are taken off; ids have blanks.
    """
    raw = read_bytes(path).removeprefix(BOM)
    if b'"' in raw:
        _note_needless_quotes(raw, path)
    shown = raw.lstrip(b"\r\n")  # from the header on
    first = shown[: shown.find(b"\n") + 1] or shown
    if b"\0" in raw or not (raw.isascii() or _is_utf8(raw)) or not first.strip():
        text_of(raw, path)
        raise FormatError(f"{path}: begins with a line of blanks, expected a header line; delete it")
    mark = delimiter_of(first.decode())
    is_quoted = b'"' in raw and (mark != "\t" or _OPENING.search(raw) is not None)
    _, header, start = next(_rows(raw, mark, path, is_quoted=is_quoted))
    names = [name.strip() for name in header]
    if numbers_repeats:
        seen = [f"{name} ({names[:n].count(name) + 1})".strip() for n, name in enumerate(names)]
        names = [own if names.count(name) > 1 else name for name, own in zip(names, seen, strict=True)]
    check_header(names, required, path)
    body = memoryview(raw)[start:]
    kept = [name for name in names if only is None or name in only] or names[:1]
    is_odd = is_quoted and not _is_well_quoted(body, mark)
    # Arrow loses a line feed that begins a block and stands behind a return within quotes.
    blocks = (_MOST_BYTES,) if is_quoted and b"\r" in raw else (_BLOCK_BYTES, _MOST_BYTES)
    read = partial(_columns, body, names, kept, mark, is_quoted=is_quoted, blocks=blocks)
    columns = None if is_odd else (read(numbers) if numbers else None) or read()
    if columns is not None:
        texts = [each for each in columns if each.type == pa.large_string()]
        is_odd = any(
            (compute.max(compute.binary_length(each)).as_py() or 0) >= _LONGEST_FIELD for each in texts
        )
        if is_quoted and mark == "\t":  # may be rows of plain text
            n_ends = raw.count(b"\n", start) + raw.count(b"\r", start) - raw.count(b"\r\n", start)
            is_odd = is_odd or len(columns[0]) < n_ends + (not raw.endswith((b"\n", b"\r")))
    if is_odd or columns is None:
        for line, fields, _ in _rows(raw, mark, path, is_quoted=is_quoted):
            if len(fields) != len(names):
                raise FormatError(
                    f"{path}:{line}: {len(fields)} fields, expected {len(names)} ({','.join(names)})"
                )
        columns = columns or read()
    if columns is None:
        raise FormatError(f"{path}: expected CSV or TSV with a header line; save it again as such")
    arrays = [
        each.to_numpy(False) if each.type == pa.float64() else pd.array(each, dtype="str") for each in columns
    ]
    found = pd.DataFrame(dict(zip(kept, arrays, strict=True)), copy=False)
    ids = [column for name, column in zip(kept, columns, strict=False) if name in PAIR]
    if {*PAIR} <= {*required} and any(b" " in bytes_of(each) for each in ids):
        found = with_encoded_ids(found, str(path))
    return found if only is None else found[[name for name in kept if name in only]]


def delimiter_of(header: str) -> str:
    """Return what separates the fields of a header: a tab, else a comma, else a semicolon."""
    return next((mark for mark in ("\t", ",", ";") if mark in header), ",")


def names_in(text: str) -> list[str]:
    """Return the fields of a text's first line, without blanks around them; none if its quotes are not CSV's.

    Examples:
        >>> names_in("query_id; doc_id"), names_in("a,b" + chr(10) + "1,2")
        (['query_id', 'doc_id'], ['a', 'b'])
    """
    line = re.split("[\r\n]", text.lstrip("\ufeff\r\n"), maxsplit=1)[0]
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter_of(line), strict=True))]
    except csv.Error:
        return []


def unquoted(text: str) -> str:
    """Return a text without the quotes of CSV, if it is one field of CSV in quotes."""
    try:
        fields = next(csv.reader([text], strict=True)) if text[:1] == text[-1:] == '"' else []
    except csv.Error:
        return text
    return fields[0] if len(fields) == 1 else text


def _is_utf8(raw: bytes) -> bool:
    """Whether bytes are text in UTF-8, without making a text of them."""
    ends = pa.array([0, len(raw)], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(raw)])
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _columns(
    body: memoryview,
    names: Sequence[str],
    kept: Sequence[str],
    mark: str,
    numbers: Collection[str] = (),
    *,
    is_quoted: bool,
    blocks: Sequence[int],
) -> list[Any] | None:
    """Return the columns `kept` of rows as large strings; None where Arrow refuses the rows.

    numbers: those of them to return as floats, missing where a field is empty; None where one of them has
    something else, or a number that a float may not hold to the last digit. blocks: how many bytes are read
    at once; the next where a row is longer.
    """
    types = {name: pa.float64() if name in numbers else pa.large_string() for name in kept}
    if _NO_ROW.match(body):
        return [pa.array([], kind) for kind in types.values()]
    for block in blocks:
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(body),
                arrow_csv.ReadOptions(
                    column_names=list(names), use_threads=False, block_size=min(block, len(body) + 1)
                ),
                arrow_csv.ParseOptions(
                    delimiter=mark, quote_char='"' if is_quoted else False, newlines_in_values=is_quoted
                ),
                arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(kept),
                    null_values=[""] if numbers else [],
                    check_utf8=False,
                ),
            )
            break
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):  # else a row is longer than the block
                return None
    else:
        return None
    columns = [each.chunk(0) if each.num_chunks == 1 else each.combine_chunks() for each in table.columns]
    floats = (each for each in columns if each.type == pa.float64())
    are_exact = (compute.all(compute.less(compute.abs(each), _NOT_EXACT)).as_py() for each in floats)
    return None if False in are_exact else columns


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


def _rows(
    raw: bytes, mark: str, path: str | Path, *, is_quoted: bool
) -> Iterator[tuple[int, list[str], int]]:
    """Yield the line that each row begins on, its fields, and where it ends in the bytes; no blank lines."""
    line, width = 1, 0
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    found, again = tee(_LINE.finditer(raw))
    rows = csv.reader((each[0].decode() for each in found), delimiter=mark, quoting=quoting, strict=True)
    try:
        for fields in rows:
            own = [*islice(again, rows.line_num + 1 - line)]  # of the row
            if is_quoted and mark == "\t":
                _check_quotes([each[0].decode() for each in own], width, f"{path}:{line}")
            width = width or len(fields)
            if fields:
                yield line, fields, own[-1].end()
            line += len(own)
    except csv.Error as error:
        if mark == "\t" and "larger than" not in str(error):
            _check_quotes([each[0].decode() for each in islice(again, 1)], 0, f"{path}:{line}")
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
    lines = raw.lstrip(b"\r\n")
    head = lines[: lines.find(b"\n") + 1]
    if b"\t" not in head or b'"' in head:
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
    twice = sorted({name or "without a name" for name in header if list(header).count(name) > 1})
    if twice:
        raise FormatError(f"{path}:1: column {', '.join(twice)} appears twice in the header")
