"""TREC text: runs (`query_id Q0 doc_id rank score run_id`) and qrels (`query_id 0 doc_id relevance`).

The ranks in a run are not used: the order is that of `ranking`. Fields after a run's sixth are left out, and
so are lines that start with `#` before the first row and do not have the fields of a row; both are counted in
a `FileNote`. Any other line with `#` is data: ids may begin with it. Arrow reads the rows. What it refuses
goes through one pass over the lines, which names the first that is wrong, or evens out what lies between
fields for Arrow to read.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute, csv

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.files import STDIN, read_bytes, read_text, start_of, without_mark
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.tables.columns_text import field_texts, joined_lines
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Qrels, Run, check_qrels
from fire_toolkit.tables.checks import are_ids

RUN_FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "run_id")
_BLOCK_BYTES = 1 << 22
_CODED = pa.dictionary(pa.int32(), pa.string())
_Width = Callable[[Sequence[str]], int]
_GRADE = re.compile("[+-]?[0-9]{1,15}")
_QRELS_NAMES = ("query_id", "0", "doc_id", "stratum", "relevance")
_QRELS_FIELDS = "query_id 0 doc_id relevance, or query_id 0 doc_id stratum relevance"


def read_trec_run(path: str | Path, *, run_id: str | None = None) -> Run:
    """Return a TREC run file (gzip or not) as a Run.

    Args:
        path: six fields per line, separated by white space; more may follow if the fourth is a rank.
        run_id: the run's id; by default the sixth field, which must then be one and the same.

    Raises:
        FormatError: a line with another number of fields, a score that is not a finite number, several
            run ids, an empty file.
        TableError: a doc stands twice under a query.
    """
    scored = _read(path, _RUN)
    tag = pd.Index([run_id or _one_tag(scored, path)], dtype="str")
    named = scored.assign(run_id=pd.Categorical.from_codes(np.zeros(len(scored), dtype=np.int8), tag))
    return rank_run(named, where=str(path))


def is_trec_qrels(path: str | Path) -> bool:
    """Whether a file's first line that is neither blank nor a comment has the fields of qrels."""
    if str(path) == STDIN:
        return False
    _, row = _above_and_row(start_of(path)[0], _qrels_width)
    return _qrels_width(row.split()) > 0


def is_trec_run(start: bytes, path: Path) -> bool:
    """Whether the first line that is neither blank nor a comment has the fields of a run."""
    return b"\0" not in start and _are_run_fields(_above_and_row(start, _run_width)[1].split())


def _above_and_row(start: bytes, width_of: _Width) -> tuple[list[str], str]:
    """Return the lines above the first row of a file with this beginning, and the row; empty if none is."""
    lines = without_mark(start).decode(errors="replace").split("\n")
    place = _first_row(lines, width_of)
    return lines[:place], lines[place] if place < len(lines) else ""


def _first_row(lines: Sequence[str], width_of: _Width) -> int:
    """Return the place of the first row; the number of lines where there is none.

    A line that starts with # is a row if it has as many fields as the first line that does not.

    Args:
        lines: the file's, or its first ones.
        width_of: how many of a line's fields are data; 0 where it does not have those of a row.
    """
    split = (line.split() for line in lines)
    usual = next((width_of(fields) for fields in split if fields and not fields[0].startswith("#")), 0)
    for place, line in enumerate(lines):
        fields = line.split()
        width = width_of(fields)
        if fields and (not fields[0].startswith("#") or (width and width == (usual or width))):
            return place
    return len(lines)


def _are_run_fields(fields: Sequence[str | bytes]) -> bool:
    """Whether there are six fields, or more of which the fourth is a rank: no id with a space in it."""
    n = len(RUN_FIELDS)
    return len(fields) == n or (len(fields) > n and fields[3].isdigit())


def _note_left_out(path: str | Path, above: Sequence[str], n_longer: int, n_ids: int) -> None:
    n_comments = sum(bool(line.strip()) for line in above)
    left_out = [f"{n_comments:,} lines that start with #"] if n_comments else []
    left_out += [f"the fields past the sixth on {n_longer:,} lines"] if n_longer else []
    if left_out:
        warnings.warn(f"{path}: left out {' and '.join(left_out)}", FileNote, stacklevel=2)
    if n_ids:
        text = f"{path}: {n_ids:,} lines start with # and have the fields of data; they are read as data, "
        warnings.warn(text + "though trec_eval 10 takes them as comments", FileNote, stacklevel=2)


def read_trec_lists(path: Path, key: str | None = None) -> Listed:
    """Return a TREC run file as ranked lists; `key` names one of several runs in it.

    Raises:
        FormatError: as `read_trec_run`.
    """
    scored = _read(path, _RUN)
    if key is None:
        return Listed(scored, _one_tag(scored, path))
    own = scored[scored["run_id"] == key]
    if own.empty:
        raise FormatError(
            f"{path}: no run {key!r} in it; choose one with --key: {', '.join(_tags(scored)[:8])}"
        )
    return Listed(own.reset_index(drop=True), key)


def _tags(scored: pd.DataFrame) -> list[str]:
    return sorted(map(str, scored["run_id"].unique()))


def _one_tag(scored: pd.DataFrame, path: str | Path) -> str:
    tags = _tags(scored)
    if not tags:
        raise FormatError(f"{path}: nothing but comments, expected the lines of a run")
    if len(tags) > 1:
        raise FormatError(
            f"{path}: {len(tags)} run ids in one file ({', '.join(tags[:3])}), expected one; "
            f"name the run yourself with NAME={path}"
        )
    return tags[0]


def _read(path: str | Path, rows: _Rows) -> pd.DataFrame:
    """Return the columns of a file, read by Arrow: as it lies, else with its lines made plain."""
    found = _as_it_lies(path, rows)
    if found is None:
        found = rows.frame_of(_in_plain_lines(path, rows))
    assert found is not None, "plain lines hold what rows hold"
    return found


def _as_it_lies(path: str | Path, rows: _Rows) -> pd.DataFrame | None:
    """Return the columns of a file whose fields have one separator between them; None of another."""
    if str(path) == STDIN:
        return None
    start, is_packed = start_of(path)
    above, row = _above_and_row(start, rows.width_of)
    if not row:
        return None
    names = rows.names_of(row.split())
    try:
        source = pa.BufferReader(read_bytes(path)) if is_packed else pa.OSFile(str(path))
        table = _by_arrow(source, names, rows.types, above=len(above), between="\t" if "\t" in row else " ")
    except (pa.ArrowInvalid, OSError):
        return None
    found = rows.frame_of(table) if table.num_rows else None
    if found is not None:
        n_ids = compute.sum(compute.starts_with(table["query_id"], "#")).as_py()
        _note_left_out(path, above, table.num_rows if len(names) > len(RUN_FIELDS) else 0, n_ids)
    return found


def _by_arrow(
    source: Any,
    names: Sequence[str],
    types: Mapping[str, Any],
    *,
    above: int = 0,
    between: str = " ",
    block: int = _BLOCK_BYTES,
) -> Any:
    kept = {name: types[name] for name in names if name in types}
    return csv.read_csv(
        source,
        csv.ReadOptions(column_names=names, use_threads=False, block_size=block, skip_rows=above),
        csv.ParseOptions(delimiter=between, quote_char=False),
        csv.ConvertOptions(column_types=kept, null_values=[], include_columns=list(kept), check_utf8=True),
    )


def _in_plain_lines(path: str | Path, rows: _Rows) -> Any:
    """Return the columns of a file, its rows as Arrow takes them; note at the end what was left out.

    Raises:
        FormatError: a line is no row; it is named.
    """
    n_longer = n_ids = 0
    plain, top = list[str](), list[str]()
    lines = read_text(path).split("\n")
    first = _first_row(lines, rows.width_of)
    for number, line in enumerate(lines[first:], start=first + 1):
        fields = line.split()
        if fields:
            width = rows.width_of(fields)
            own = fields[: width or None]
            top = top or own
            if not are_ids(own):
                found = next(field for field in own if not are_ids([field]))
                raise FormatError(f"{path}:{number}: {found[:60]!r} holds control characters, expected ids")
            plain.append(" ".join(rows.plain(own, top, f"{path}:{number}")))
            n_ids += fields[0].startswith("#")
            n_longer += 0 < width < len(fields)
    _note_left_out(path, lines[:first], n_longer, n_ids)
    names = rows.names_of(top)
    if not plain:
        return pa.schema([(name, rows.types[name]) for name in names if name in rows.types]).empty_table()
    source, longest = pa.BufferReader("\n".join(plain).encode()), 4 * max(map(len, plain)) + 1
    return _by_arrow(source, names, rows.types, block=max(longest, _BLOCK_BYTES))


@dataclass(frozen=True)
class _Rows:
    """What the rows of a file are.

    width_of: how many of a line's fields are data; 0 where it does not have those of a row.
    names_of: the names of the fields, of those on the first row. types: of the columns that are read.
    frame_of: the columns; None where one holds what `plain` refuses or writes in another way.
    plain: a row's fields as Arrow takes them, of its fields, those of the first row, and its place in the
    file; it raises `FormatError`.
    """

    width_of: _Width
    names_of: Callable[[Sequence[str]], Sequence[str]]
    types: Mapping[str, Any]
    frame_of: Callable[[Any], pd.DataFrame | None]
    plain: Callable[[list[str], Sequence[str], str], list[str]]


def _run_width(fields: Sequence[str]) -> int:
    if not _are_run_fields(fields):
        return 0
    return len(RUN_FIELDS) if re.fullmatch(r"[-+.0-9eE]+", fields[4]) else 0


def _run_names(fields: Sequence[str]) -> list[str]:
    n_more = len(fields) - len(RUN_FIELDS) if _are_run_fields(fields) else 0
    if not n_more:
        return ["query_id", "Q0", "doc_id", "", "score", "run_id"]
    return [*RUN_FIELDS, *(f"more{place}" for place in range(n_more))]


def _run_frame(table: Any) -> pd.DataFrame | None:
    score = table["score"].to_numpy()
    if not np.isfinite(score).all():
        return None
    columns = {name: _coded(table[name]) for name in ("query_id", "doc_id", "run_id")}
    if any(column is None for column in columns.values()):
        return None
    return pd.DataFrame({**columns, "score": score}, copy=False)


def _plain_run_row(fields: list[str], first: Sequence[str], where: str) -> list[str]:
    if len(fields) != len(RUN_FIELDS):
        raise FormatError(f"{where}: {len(fields)} fields, expected 6 ({' '.join(RUN_FIELDS)})")
    return [*fields[:4], repr(_score(fields[4], where)), fields[5]]


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


_RUN_TYPES = {"query_id": pa.string(), "doc_id": _CODED, "run_id": pa.string(), "score": pa.float64()}
_RUN_TYPES |= {"rank": pa.int64()}  # of longer rows, which have a rank there
_RUN = _Rows(_run_width, _run_names, _RUN_TYPES, _run_frame, _plain_run_row)


def _qrels_width(fields: Sequence[str]) -> int:
    return len(fields) if len(fields) in (4, 5) and _GRADE.fullmatch(fields[-1]) else 0


def _qrels_names(fields: Sequence[str]) -> tuple[str, ...]:
    return _QRELS_NAMES if len(fields) == len(_QRELS_NAMES) else (*_QRELS_NAMES[:3], "relevance")


def _qrels_frame(table: Any) -> pd.DataFrame | None:
    codes, grades = _codes(table["relevance"])
    _, unused = _codes(table["0"])
    if not all(map(_GRADE.fullmatch, grades.to_pylist())):
        return None
    found: pd.DataFrame = table.drop_columns(["0", "relevance"]).to_pandas()
    ids = [column.array.factorize()[1].tolist() for _, column in found.items()]
    if not all(map(are_ids, [unused.to_pylist(), *ids])):
        return None
    relevance = np.array([int(grade) for grade in grades.to_pylist()], dtype=np.int64)[codes]
    return found.assign(relevance=relevance)


def _plain_qrels_row(fields: list[str], first: Sequence[str], where: str) -> list[str]:
    width = len(first)
    if len(fields) != width or width not in (4, 5):
        expected = f"{width} as on the first line" if width in (4, 5) else f"4 or 5 ({_QRELS_FIELDS})"
        raise FormatError(f"{where}: {len(fields)} fields, expected {expected}")
    if not _GRADE.fullmatch(fields[-1]):
        raise FormatError(f"{where}: relevance {fields[-1][:60]!r}, expected a whole number below 10^15")
    return fields


_QRELS_TYPES = dict.fromkeys(_QRELS_NAMES, pa.string()) | {"0": _CODED, "relevance": _CODED}
_QRELS = _Rows(_qrels_width, _qrels_names, _QRELS_TYPES, _qrels_frame, _plain_qrels_row)


def _coded(column: Any) -> pd.Categorical | None:
    """Return a column as a category; None where an id is empty or holds white space."""
    codes, distinct = (_codes if pa.types.is_dictionary(column.type) else _codes_of_stretches)(column)
    ids = distinct.to_pylist()
    if not are_ids(ids):
        return None
    return pd.Categorical.from_codes(codes, pd.Index(ids, dtype="str"), validate=False)


def _codes(column: Any) -> tuple[npt.NDArray[np.int32], Any]:
    """Return the codes of a dictionary column, and the ids they stand for."""
    chunks = column.unify_dictionaries().chunks
    return np.concatenate([chunk.indices.to_numpy() for chunk in chunks]), chunks[0].dictionary


def _codes_of_stretches(column: Any) -> tuple[npt.NDArray[np.int32], Any]:
    """Return codes and ids of text that repeats from row to row; each repeated stretch is looked up once."""
    stretches = [compute.run_end_encode(chunk) for chunk in column.chunks]
    coded = pa.chunked_array([each.values for each in stretches]).combine_chunks().dictionary_encode()
    lengths = [np.diff(each.run_ends.to_numpy(), prepend=0) for each in stretches]
    return np.repeat(coded.indices.to_numpy(), np.concatenate(lengths)), coded.dictionary


def read_trec_qrels(path: str | Path) -> Qrels:
    """Return a TREC qrels file of four columns, or of five with a stratum, as Qrels.

    The table has the column stratum if the file has it. Relevance is a whole number; below 0 means
    pooled and not judged. Every pair's source is `original`.

    Raises:
        FormatError: a line with another number of fields, a relevance that is not a whole number.
        TableError: a pair stands twice.
    """
    return check_qrels(_read(path, _QRELS), where=str(path))


def trec_qrels_text(qrels: Qrels) -> str:
    """Return Qrels as TREC text in the order of the table: four columns, or five with strata.

    A pair without a stratum has `-` there.
    """
    if qrels.empty:
        return ""
    query, doc, relevance = (field_texts(qrels[name]) for name in ("query_id", "doc_id", "relevance"))
    strata = [field_texts(qrels["stratum"].replace("", "-").fillna("-")), " "] if "stratum" in qrels else []
    return b"".join(joined_lines([query, " 0 ", doc, " ", *strata, relevance])).decode()
