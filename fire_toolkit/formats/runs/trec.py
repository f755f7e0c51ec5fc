"""TREC text: runs (`query_id Q0 doc_id rank score run_id`) and qrels (`query_id 0 doc_id relevance`).

The ranks in a run are not used (the order is that of `ranking`), but scores that rise with them are refused.
Fields after a run's sixth are left out, and so are lines that start with `#` before the first row and do not
have the fields of a row; both are counted in a `FileNote`. Any other line with `#` is data: ids may begin
with it. Arrow reads the rows. What it refuses goes through one pass over the lines, which names the first
that is wrong, or evens out what lies between fields for Arrow to read.
"""

from __future__ import annotations

import math
import re
import shlex
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, csv

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.files import BOM, read_bytes, read_text
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.formats.runs.listed import Listed, chosen_run, coded, refuse_distances
from fire_toolkit.tables import Qrels, check_qrels
from fire_toolkit.tables.columns import arrow_text, code_texts
from fire_toolkit.tables.ids import are_ids
from fire_toolkit.words import n_of

RUN_FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "run_id")
_QRELS_FIELDS = ("query_id", "0", "doc_id", "stratum", "relevance")
_BLOCK_BYTES = 1 << 20
_GRADE = re.compile("[+-]?[0-9]{1,15}")
_NUMBER = re.compile("[-+.0-9eE]+")
_OF_MBEIR = re.compile("[0-9]+:[0-9]+")  # a doc's id: those of a data set and in it


@dataclass(frozen=True)
class _Kind:
    """What the rows of a file are: the columns that are read, with their types, and the fields in words."""

    types: Mapping[str, Any]
    expected: str
    are_qrels: bool = False

    def shape_of(self, fields: Sequence[str]) -> tuple[tuple[str, ...], int]:
        """Return the names of a row's fields, and how many are data: none where they are no row's.

        An id with a space in it makes them too many; what stands for a grade or a score may be no number.
        """
        names: tuple[str, ...] = ()
        n, n_of_run = len(fields), len(RUN_FIELDS)
        if self.are_qrels:
            names = _QRELS_FIELDS if n == 5 else (*_QRELS_FIELDS[:3], "relevance") if n == 4 else ()
            return names, n if names and _GRADE.fullmatch(fields[-1]) else 0
        if n == n_of_run:  # whose ranks are not looked at
            names = tuple("" if name == "rank" else name for name in RUN_FIELDS)
        elif n > n_of_run and fields[3].isdigit():
            names = (*RUN_FIELDS, *map(str, range(n - n_of_run)))
        return names, n_of_run if names and _NUMBER.fullmatch(fields[4]) else 0

    def plain(self, fields: list[str], first: Sequence[Any], where: str) -> list[Any]:
        """Return a row's fields as columns take them; first: those of the first row.

        Raises:
            FormatError: they are no row's.
        """
        n_expected = len(first) if self.are_qrels else len(RUN_FIELDS)
        names, _ = self.shape_of(first)
        if len(fields) != n_expected or not names:
            is_known = self.are_qrels and names
            expected = f"{n_expected} as on the first line" if is_known else self.expected
            raise FormatError(f"{where}: {len(fields)} fields, expected {expected}")
        if strange := next((field for field in fields if not are_ids([field])), None):
            raise FormatError(f"{where}: {strange[:60]!r} holds control characters, expected ids")
        if not self.are_qrels:
            return [*fields[:3], None, _score(fields[4], where), fields[5]]
        if not _GRADE.fullmatch(fields[-1]):
            raise FormatError(f"{where}: relevance {fields[-1][:60]!r}, expected a whole number below 10^15")
        return fields


RUN = _Kind(
    dict.fromkeys(("query_id", "doc_id", "run_id"), pa.string())
    | {"score": pa.float64(), "rank": pa.int64()},  # the rank of longer rows, which have one there
    f"6 ({' '.join(RUN_FIELDS)})",
)
QRELS = _Kind(
    dict.fromkeys(_QRELS_FIELDS, pa.string()),
    "4 or 5 (query_id 0 doc_id relevance, or query_id 0 doc_id stratum relevance)",
    are_qrels=True,
)


def read_trec_run(path: str | Path, key: str | None = None, *, is_named: bool = False) -> Listed:
    """Return a TREC run file (gzip or not) as ranked lists.

    Args:
        path: six fields per line, separated by white space; more may follow if the fourth is a rank.
        key: the one of several runs in it, by the sixth field.
        is_named: whether the run has another name, so that all lines are one run, whatever their sixth field.

    Raises:
        FormatError: a line with another number of fields, a score that is not a finite number, several
            run ids and no `key`, an empty file; ranks that rise with the score.
    """
    scored = _read(path, RUN)
    pa.default_memory_pool().release_unused()  # what held the text
    rows = (line.split() for line in start_of(path)[0].decode(errors="replace").split("\n")[:-1])
    shown = pd.DataFrame([fields[:5] for fields in rows if len(fields) > 5], columns=list(RUN_FIELDS[:5]))
    refuse_distances(shown["query_id"], shown["rank"], pd.to_numeric(shown["score"], "coerce"), str(path))
    if not (tags := [*map(str, scored["run_id"].array.categories)]):
        raise FormatError(f"{path}: nothing but comments, expected the lines of a run")
    if is_named and key is None:
        return Listed(scored)
    run_id = chosen_run(tags, key, str(path), hint=f", or name all of it yourself with NAME={path}")
    own = scored if len(tags) == 1 else scored[scored["run_id"] == run_id].reset_index(drop=True)
    return Listed(own, run_id)


def read_trec_qrels(path: str | Path) -> Qrels:
    """Return a TREC qrels file of four columns, or of five with a stratum, as Qrels.

    The table has the column stratum if the file has it. Relevance is a whole number; below 0 means
    pooled and not judged. Every pair's source is `original`.

    Raises:
        FormatError: a line with another number of fields, a relevance that is not a whole number.
        TableError: a pair stands twice.
    """
    found = _read(path, QRELS)
    ends = sorted({*zip(found["stratum"], found["relevance"], strict=True)}) if "stratum" in found else []
    if {stratum for stratum, _ in ends} == {"1"} and (
        (len(ends) == 1 and ends[0][1] not in (1, -1)) or all(map(_OF_MBEIR.fullmatch, found["doc_id"]))
    ):
        shown = " or ".join(f"1 {task}" for _, task in ends)
        raise FormatError(
            f"{path}: all lines end in {shown}, a grade and a task's number (M-BEIR), and in no stratum "
            f"and grade; keep four fields: awk '{{print $1,$2,$3,$4}}' {shlex.quote(str(path))} > NEW"
        )
    return check_qrels(found, where=str(path))


class FirstRow(NamedTuple):
    """The first row of a file, empty where it has none: its text, the lines above it, and its shape."""

    above: list[str]
    text: str
    names: tuple[str, ...]
    n_fields: int


def first_row(start: bytes | str, kind: _Kind) -> FirstRow:
    """Return the first row of a file with this beginning.

    A line that starts with # is a row if it has as many fields as the first line that does not.
    """
    text = start if isinstance(start, str) else start.removeprefix(BOM).decode(errors="replace")
    lines = text.split("\n")
    rows = (fields for fields in map(str.split, lines) if fields and not fields[0].startswith("#"))
    _, usual = kind.shape_of(next(rows, ()))
    for place, line in enumerate(lines):
        fields = line.split()
        names, width = kind.shape_of(fields)
        if fields and (not fields[0].startswith("#") or (width and width == (usual or width))):
            return FirstRow(lines[:place], line, names, width)
    return FirstRow(lines, "", (), 0)


def _read(path: str | Path, kind: _Kind) -> pd.DataFrame:
    """Return the columns of a file, read by Arrow: as it lies, else with its lines made plain."""
    start, is_packed = start_of(path)
    above, row, names, _ = first_row(start, kind)
    found = None
    if names and "\r" not in row.rstrip():
        with suppress(pa.ArrowInvalid, OSError):
            source = pa.BufferReader(read_bytes(path)) if is_packed else pa.OSFile(str(path))
            kept = {name: kind.types[name] for name in names if name in kind.types}
            table = csv.read_csv(
                source,
                csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES, skip_rows=len(above)),
                csv.ParseOptions(delimiter="\t" if "\t" in row else " ", quote_char=False),
                csv.ConvertOptions(
                    column_types=kept, null_values=[], include_columns=list(kept), check_utf8=True
                ),
            )
            found = _frame(table, kind) if table.num_rows else None
    n_longer = table.num_rows if found is not None and len(names) > len(RUN_FIELDS) else 0
    if found is None:
        table, above, n_longer = _in_plain_lines(path, kind)
        found = _frame(table, kind)
        assert found is not None, "plain lines hold what rows hold"
    n_comments = sum(bool(line.strip()) for line in above)
    n_ids = compute.sum(compute.starts_with(table["query_id"], "#")).as_py() or 0
    left_out = [f"{n_of(n_comments, 'line')} beginning with #"] if n_comments else []
    left_out += [f"the fields past the sixth on {n_of(n_longer, 'line')}"] if n_longer else []
    if left_out:
        warnings.warn(f"{path}: left out {' and '.join(left_out)}", FileNote, stacklevel=2)
    if n_ids:
        text = f"{path}: {n_of(n_ids, 'line')} beginning with # and with the fields of data, read as data, "
        warnings.warn(text + "though trec_eval 10 takes such lines as comments", FileNote, stacklevel=2)
    return found


def _in_plain_lines(path: str | Path, kind: _Kind) -> tuple[Any, list[str], int]:
    """Return a file as rows that Arrow takes, the lines above them, and how many rows are longer.

    Raises:
        FormatError: a line is no row; it is named.
    """
    rows, n_longer, text = list[list[Any]](), 0, read_text(path)
    first: list[str] = []
    above = first_row(text, kind).above
    for number, line in enumerate(text.split("\n")[len(above) :], start=len(above) + 1):
        if fields := line.split():
            if "\r" in line.rstrip():
                todo = f"make them line feeds: tr '\\r' '\\n' < {shlex.quote(str(path))} > NEW"
                raise FormatError(f"{path}:{number}: a carriage return alone ends lines; {todo}")
            _, width = kind.shape_of(fields)
            own = fields[: width or None]
            first = first or own
            rows.append(kind.plain(own, first, f"{path}:{number}"))
            n_longer += 0 < width < len(fields)
    names = kind.shape_of(first)[0] if rows else tuple(kind.types)
    columns = zip(names, zip(*rows, strict=True) if rows else [[] for _ in names], strict=True)
    kept = {name: pa.array(own, kind.types[name]) for name, own in columns if name in kind.types}
    return pa.table(kept), above, n_longer


def _score(text: str, where: str) -> float:
    try:
        score = float(text if "_" not in text and text.isascii() else "none")
    except ValueError:
        raise FormatError(f"{where}: score {text[:60]!r} is not a number") from None
    if not math.isfinite(score):
        raise FormatError(
            f"{where}: score {text!r}, expected a finite number; leave out docs that have no score"
        )
    return score


def _frame(table: Any, kind: _Kind) -> pd.DataFrame | None:
    """Return the columns that are read; None where one holds what `_Kind.plain` refuses or rewrites."""
    names = [name for name in table.column_names if name not in ("0", "rank")]
    with ThreadPoolExecutor(2) as both:  # half the time is that of the docs, without Python's lock
        columns = list(both.map(partial(_column, kind=kind), names, (table[name] for name in names)))
    is_odd = any(each is None for each in columns)
    return None if is_odd else pd.DataFrame(dict(zip(names, columns, strict=True)), copy=False)


def _column(name: str, values: Any, kind: _Kind) -> Any:
    """Return a column as a table of ours takes it, ids of a run as codes; None where `_frame` does."""
    if name == "score":
        scores = values.to_numpy()
        return scores if np.isfinite(scores).all() else None
    if name == "relevance":
        codes, grades = code_texts(*values.chunks)
        are_grades = all(map(_GRADE.fullmatch, texts := grades.to_pylist()))
        return np.array([int(grade) for grade in texts], dtype=np.int64)[codes] if are_grades else None
    if kind.are_qrels:
        return pd.array(texts, dtype="str") if are_ids(texts := arrow_text(values.combine_chunks())) else None
    codes, ids = code_texts(*values.chunks, in_order=True)
    return coded(codes, ids) if are_ids(ids) else None
