"""TREC text: runs (`query_id Q0 doc_id rank score run_id`) and qrels (`query_id 0 doc_id relevance`).

The ranks in a run are not used: the order is that of `ranking`. Fields after a run's sixth are left out, and
so are lines that start with `#` before the first row and do not have the fields of a row; both are counted in
a `FileNote`. Any other line with `#` is data: ids may begin with it. The fast reader takes files with
one separator between fields; anything else, and every error, goes through the line-by-line reader.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.files import check_regular, is_gzip, read_bytes, read_text, without_mark
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.reader import RunReader
from fire_toolkit.formats.tables.columns_text import field_texts, joined_lines
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Qrels, Run, check_qrels
from fire_toolkit.tables.checks import are_ids

RUN_FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "run_id")
_LONGEST_LINE = 1 << 16
_BLOCK_BYTES = 1 << 22
_GRADE = re.compile("[+-]?[0-9]{1,15}")
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
    scored = _scored(path)
    tag = pd.Index([run_id or _one_tag(scored, path)], dtype="str")
    named = scored.assign(run_id=pd.Categorical.from_codes(np.zeros(len(scored), dtype=np.int8), tag))
    return rank_run(named, where=str(path))


def is_trec_run(start: bytes, path: Path) -> bool:
    """Whether the first line that is neither blank nor a comment has the fields of a run."""
    if b"\0" in start:
        return False
    lines = without_mark(start).decode(errors="replace").split("\n")
    place = _first_row(lines, _run_width)
    return place < len(lines) and _are_run_fields(lines[place].split())


def _first_row(lines: Sequence[str], width_of: Callable[[Sequence[str]], int]) -> int:
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


def _note_left_out(path: str | Path, n_comments: int, n_longer: int, n_ids: int = 0) -> None:
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
    scored = _scored(path)
    if key is None:
        return Listed(scored, _one_tag(scored, path))
    own = scored[scored["run_id"] == key]
    if own.empty:
        raise FormatError(
            f"{path}: no run {key!r} in it; choose one with --key: {', '.join(_tags(scored)[:8])}"
        )
    return Listed(own.reset_index(drop=True), key)


def _scored(path: str | Path) -> pd.DataFrame:
    scored = _read_fast(path)
    return _read_run_lines(path) if scored is None else scored


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


def _read_fast(path: str | Path) -> pd.DataFrame | None:
    """Return the columns of a well-formed run, or None if the line-by-line reader must read it."""
    import pyarrow as pa

    if str(path) == "-":
        return None
    coded = pa.dictionary(pa.int32(), pa.string())
    types = {"query_id": pa.string(), "doc_id": coded, "run_id": pa.string(), "score": pa.float64()}

    def names_of(fields: Sequence[str]) -> tuple[str, ...]:
        more = fields[len(RUN_FIELDS) :] if _are_run_fields(fields) else []
        return RUN_FIELDS + tuple(f"more{place}" for place in range(len(more)))

    table = _read_columns(path, names_of, types, _run_width)
    if table is None:
        return None
    score = table["score"].to_numpy()
    if not np.isfinite(score).all():
        return None
    columns = {name: _coded(table[name]) for name in ("query_id", "doc_id", "run_id")}
    if any(column is None for column in columns.values()):
        return None
    return pd.DataFrame({**columns, "score": score}, copy=False)


def well_formed_qrels(path: str | Path) -> pd.DataFrame | None:
    """Return the columns of well-formed TREC qrels, or None if a line-by-line reader must read them."""
    import pyarrow as pa

    names = ("query_id", "0", "doc_id", "stratum", "relevance")
    types = {**dict.fromkeys(names, pa.string()), "0": pa.dictionary(pa.int32(), pa.string())}
    types["relevance"] = pa.int64()

    def names_of(fields: Sequence[str]) -> tuple[str, ...]:
        return names if len(fields) == len(names) else (*names[:3], names[4])

    table = _read_columns(path, names_of, types, _qrels_width)
    if table is None:
        return None
    unused = table["0"].combine_chunks().dictionary.to_pylist()
    found: pd.DataFrame = table.drop_columns("0").to_pandas()
    ids = [own.array.factorize()[1].tolist() for name, own in found.items() if name != "relevance"]
    return found if all(map(are_ids, [unused, *ids])) else None


def _read_columns(
    path: str | Path,
    names_of: Callable[[Sequence[str]], Sequence[str]],
    types: Mapping[str, Any],
    width_of: Callable[[Sequence[str]], int],
) -> Any | None:
    """Return the columns of `types` that a file has; None if it is not well-formed or has no line.

    Args:
        path: fields with one separator between them, gzip or not.
        names_of: returns the names of the fields, from those of the first row.
        types: of the columns to keep.
        width_of: as `_first_row` takes it.
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    try:
        start, source = _source(path)
        lines = start.decode(errors="replace").split("\n")
        place = _first_row(lines, width_of)
        if place == len(lines):
            return None
        names = list(names_of(lines[place].split()))
        kept = {name: types[name] for name in names if name in types}
        table = csv.read_csv(
            source,
            read_options=csv.ReadOptions(
                column_names=names, use_threads=False, block_size=_BLOCK_BYTES, skip_rows=place
            ),
            parse_options=csv.ParseOptions(delimiter="\t" if "\t" in lines[place] else " ", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=kept, null_values=[], include_columns=list(kept), check_utf8=True
            ),
        )
    except (pa.ArrowInvalid, OSError):
        return None
    if not table.num_rows:
        return None
    n_comments = sum(bool(line.strip()) for line in lines[:place])
    n_ids = compute.sum(compute.starts_with(table["query_id"], "#")).as_py()
    _note_left_out(path, n_comments, table.num_rows if len(names) > len(RUN_FIELDS) else 0, n_ids)
    return table


def _source(path: str | Path) -> tuple[bytes, Any]:
    """Return the start of a file, and what the fast reader takes: the file, or its unpacked bytes."""
    import pyarrow as pa

    check_regular(path)
    with Path(path).open("rb") as stream:
        start = stream.read(_LONGEST_LINE)
    if not is_gzip(start):
        return start, pa.OSFile(str(path))
    raw = read_bytes(path)
    return raw[:_LONGEST_LINE], pa.BufferReader(raw)


def _coded(column: Any) -> pd.Categorical | None:
    """Return a column as a category; None where an id is empty or holds white space."""
    import pyarrow as pa

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
    import pyarrow as pa
    from pyarrow import compute

    stretches = [compute.run_end_encode(chunk) for chunk in column.chunks]
    coded = pa.chunked_array([each.values for each in stretches]).combine_chunks().dictionary_encode()
    lengths = [np.diff(each.run_ends.to_numpy(), prepend=0) for each in stretches]
    return np.repeat(coded.indices.to_numpy(), np.concatenate(lengths)), coded.dictionary


def _lines(path: str | Path, width_of: Callable[[Sequence[str]], int]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and fields of each line from the first row on, and at the end note what was left out.

    width_of: as `_first_row` takes it.
    """
    n_longer = n_ids = 0
    lines = read_text(path).split("\n")
    first = _first_row(lines, width_of)
    for number, line in enumerate(lines[first:], start=first + 1):
        fields = line.split()
        width = width_of(fields)
        if fields:
            n_ids += fields[0].startswith("#")
            n_longer += 0 < width < len(fields)
            yield number, fields[: width or None]
    n_comments = sum(bool(line.strip()) for line in lines[:first])
    _note_left_out(path, n_comments, n_longer, n_ids)


def _run_width(fields: Sequence[str]) -> int:
    if not _are_run_fields(fields):
        return 0
    return len(RUN_FIELDS) if re.fullmatch(r"[-+.0-9eE]+", fields[4]) else 0


def _qrels_width(fields: Sequence[str]) -> int:
    return len(fields) if len(fields) in (4, 5) and _GRADE.fullmatch(fields[-1]) else 0


def _read_run_lines(path: str | Path) -> pd.DataFrame:
    rows: list[tuple[str, str, float, str]] = []
    for number, fields in _lines(path, _run_width):
        if len(fields) != len(RUN_FIELDS):
            raise FormatError(f"{path}:{number}: {len(fields)} fields, expected 6 ({' '.join(RUN_FIELDS)})")
        query_id, _, doc_id, _, score, tag = fields
        rows.append((query_id, doc_id, _score(score, path, number), tag))
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "run_id"])


def _score(text: str, path: str | Path, number: int) -> float:
    try:
        score = float(text if "_" not in text and text.isascii() else "none")
    except ValueError:
        raise FormatError(f"{path}:{number}: score {text[:60]!r} is not a number") from None
    if not math.isfinite(score):
        raise FormatError(
            f"{path}:{number}: score {text!r}, expected a finite number; leave out docs that have no score"
        )
    return score


def read_trec_qrels(path: str | Path) -> Qrels:
    """Return a TREC qrels file of four columns, or of five with a stratum, as Qrels.

    The table has the column stratum if the file has it. Relevance is a whole number; below 0 means
    pooled and not judged. Every pair's source is `original`.

    Raises:
        FormatError: a line with another number of fields, a relevance that is not a whole number.
        TableError: a pair stands twice.
    """
    found = well_formed_qrels(path)
    return check_qrels(_read_qrels_lines(path) if found is None else found, where=str(path))


def _read_qrels_lines(path: str | Path) -> pd.DataFrame:
    rows: list[tuple[str, str, int, str]] = []
    width = 0
    for number, fields in _lines(path, _qrels_width):
        width = width or len(fields)
        if len(fields) != width or width not in (4, 5):
            expected = f"{width} as on the first line" if width in (4, 5) else f"4 or 5 ({_QRELS_FIELDS})"
            raise FormatError(f"{path}:{number}: {len(fields)} fields, expected {expected}")
        if not _GRADE.fullmatch(fields[-1]):
            found = fields[-1][:60]
            raise FormatError(f"{path}:{number}: relevance {found!r}, expected a whole number below 10^15")
        rows.append((fields[0], fields[2], int(fields[-1]), fields[3]))
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "stratum"])
    return table if width == 5 else table.drop(columns="stratum")


def trec_qrels_text(qrels: Qrels) -> str:
    """Return Qrels as TREC text in the order of the table: four columns, or five with strata.

    A pair without a stratum has `-` there.
    """
    if qrels.empty:
        return ""
    query, doc, relevance = (field_texts(qrels[name]) for name in ("query_id", "doc_id", "relevance"))
    strata = [field_texts(qrels["stratum"].replace("", "-").fillna("-")), " "] if "stratum" in qrels else []
    return b"".join(joined_lines([query, " 0 ", doc, " ", *strata, relevance])).decode()


READER = RunReader("trec", "a TREC run", "six fields on the first line", is_trec_run, read_trec_lists)
