"""A file that several readers look at: its bytes, text, JSON and records, each read once."""

from __future__ import annotations

import csv
import io
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_bytes, without_mark
from fire_toolkit.formats.arrays.pickles import load_plain
from fire_toolkit.formats.runs.parquet_files import guarded
from fire_toolkit.formats.tables.delimited import delimiter_of, read_delimited
from fire_toolkit.syntax import parse_json

Records = list[dict[str, Any]]

_MAX_PICKLE = 1 << 28
_PICKLES = (b"\x80", b"(dp", b"}q")


class Source:
    """One file; a property is None, or empty, if the file is not of that kind. raw: its bytes, if known."""

    def __init__(self, path: str | Path, raw: bytes | None = None) -> None:
        self.path = Path(path)
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
            text = without_mark(self.raw).decode("utf-8")
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
            return guarded(self.path, self._parquet_records)
        if self.text.lstrip()[:1] == "{" and self._has_json_lines:
            return [self._json_line(number, line) for number, line in self.numbered_lines]
        found = self.json
        are_objects = isinstance(found, list) and found and all(isinstance(entry, dict) for entry in found)
        return found if are_objects else None

    def _parquet_records(self) -> Records:
        from pyarrow import parquet

        found: Records = parquet.read_table(io.BytesIO(self.raw), page_checksum_verification=True).to_pylist()
        return found

    def _json_line(self, number: int, line: str) -> dict[str, Any]:
        entry = parse_json(line, str(self.path), line=number)
        if not isinstance(entry, dict):
            raise FormatError(f"{self.path}:{number}: {line[:30]!r}, expected a JSON object a line")
        return entry

    @cached_property
    def header(self) -> list[str]:
        """Return the names on the first line of a CSV or TSV file; empty where there is none."""
        first = self.lines[0] if self.lines else "{"
        if first.lstrip()[:1] in ("{", "["):
            return []
        try:
            fields = next(csv.reader([first], delimiter=delimiter_of(first), strict=True))
        except csv.Error:
            return []
        return [name.strip() for name in fields]

    @property
    def columns(self) -> list[str]:
        """Return the names in the header, or the fields of the first record; empty where there are none."""
        return self.header or (list(self.records[0]) if self.records else [])

    def column(self, name: str) -> list[Any]:
        """Return the values of a column of a table or of records.

        Raises:
            FormatError: a line has another number of fields, or a record lacks the field.
        """
        if self.header:
            return read_delimited(self.path, required=[name])[name].tolist()
        records = self.records or []
        absent = next((n for n, record in enumerate(records) if name not in record), None)
        if absent is not None:
            raise FormatError(f"{self.path}: entry {absent}: no field {name!r}")
        return [record[name] for record in records]

    @cached_property
    def pickled(self) -> object:
        """Return the plain value of a pickle; None for other files."""
        if not self.raw.startswith(_PICKLES):
            return None
        return load_plain(io.BytesIO(self.raw), max_bytes=_MAX_PICKLE, where=str(self.path))
