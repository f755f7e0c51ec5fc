"""Rows of other tools' files, whatever their form, and those that hold several answers taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.syntax import parse_json

Record = Mapping[str, Any]


def records_of(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns of a file in their order, and its rows.

    A column of a name that others have too goes by its number (`fits (2)`). The two further headers of
    Qualtrics, questions and their ids, are no rows.

    Raises:
        FormatError: neither a table with a header line, nor JSON Lines, nor a list of objects.
    """
    text = read_text(path)
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        table = read_delimited(path, numbers_repeats=True)
        names = [str(name) for name in table.columns]
        rows = [dict(zip(names, row, strict=True)) for row in table.itertuples(index=False)]
        return names, rows[_n_headers(rows) :]
    if start == "[":
        records = parse_json(text, str(path), as_written=True)
    else:
        lines = enumerate(text.split("\n"), start=1)
        records = [parse_json(line, str(path), line=n, as_written=True) for n, line in lines if line.strip()]
    bad = next((n for n, record in enumerate(records, start=1) if not isinstance(record, dict)), 0)
    if bad or not records:
        raise FormatError(
            f"{path}: {f'entry {bad} is not an object' if bad else 'no rows'}; expected one each"
        )
    return list(dict.fromkeys(name for record in records for name in record)), records


def _n_headers(rows: Sequence[Record]) -> int:
    """Return how many of the first rows are headers: Qualtrics has two more, its questions and their ids."""
    return 2 * (len(rows) > 1 and str(next(iter(rows[1].values()), "")).startswith('{"ImportId":'))


def list_of_responses(roles: Mapping[str, str], records: Sequence[Record], names: Sequence[str]) -> str:
    """Return the column whose lists hold the annotators (responses of Argilla's API); empty if none does."""
    parent, dot, _ = roles.get("annotator", "").partition(".")
    values = [record.get(parent) for record in records if record.get(parent) is not None]
    is_so = dot and roles["annotator"] not in names and values and all(map(_are_objects, values))
    return parent if is_so else ""


def says_status(records: Sequence[Record], within: str) -> bool:
    """Return whether the entries of lists in the column `within` have a status."""
    return any("status" in entry for record in records for entry in record.get(within) or ())


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def unfolded(records: Sequence[Record], within: str) -> Iterator[tuple[int, Record]]:
    """Yield each row with its number, once for each entry of its list in the column `within`."""
    for number, record in enumerate(records, start=1):
        entries = record.get(within) or [] if within else [None]
        yield from ((number, {**record, within: entry} if within else record) for entry in entries)
