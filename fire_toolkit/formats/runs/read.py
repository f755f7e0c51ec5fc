"""A run from any file this toolkit reads, recognised by its content."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.files import STDIN
from fire_toolkit.formats.arrays.matrix import Matrix
from fire_toolkit.formats.runs.axis_ids import IdFile, axes_of, id_file_for
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.matrix_runs import MatrixRun, can_be_scored
from fire_toolkit.formats.runs.named_arrays import choose_matrix
from fire_toolkit.formats.runs.native import NativeRunFile, open_native_run, read_native_run
from fire_toolkit.formats.runs.places import named_by_place, named_where_places
from fire_toolkit.formats.runs.ranked import QUERIES_COLUMNS, QUERIES_ROWS, run_of_lists
from fire_toolkit.formats.runs.reader import RunReader
from fire_toolkit.formats.runs.readers import find_reader
from fire_toolkit.formats.runs.trec import read_trec_run
from fire_toolkit.matching.ranking import top
from fire_toolkit.tables import Run

_Given = str | Path | IdFile | None
_COLUMNS = ("query_id", "doc_id")


def read_run(
    path: str | Path,
    *,
    run_id: str | None = None,
    query_ids: _Given = None,
    doc_ids: _Given = None,
    depth: int | None = None,
) -> Run:
    """Return the run in a file of any format in `readers`; a matrix is queries × docs.

    Args:
        path: the file; `-` is TREC text on standard input.
        run_id: the run's id; by default the one in the file, or the file's name.
        query_ids: for a matrix: a file with one id per row, in any format of `read_ids`; it also names the
            places in lists of places, and is not used for lists of ids.
        doc_ids: for a matrix: a file with one id per column, in the same formats.
            By default `NAME.query_ids.txt` and `NAME.doc_ids.txt` beside the matrix (or `.npy`, `.json`).
        depth: keep this many docs a query; None keeps all.

    Raises:
        FormatError: the file cannot be read as what it is.
        TableError: its rows make no run (a doc twice under a query, an id with white space).

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "a.run"
        >>> _ = file.write_text("q Q0 d1 1 2.0 a\\nq Q0 d2 2 1.0 a\\n")
        >>> read_run(file, depth=1)
          run_id query_id doc_id  rank  score
        0      a        q     d1     1    2.0
    """
    reader = None if str(path) == STDIN else find_reader(Path(path))
    if reader is None or reader.name == "trec":  # what nobody knows is told what is wrong with it as TREC
        run = read_trec_run(path, run_id=run_id)
        return top(run, depth) if depth else run
    path = Path(path)
    if reader.read_lists is None:
        matrix = open_matrix(path, reader, query_ids=query_ids, doc_ids=doc_ids)
        return MatrixRun(path, run_id or path.stem, *matrix).top(depth)
    is_own = reader.name == "run"
    lists = read_native_run(path, depth=depth or None) if is_own else reader.read_lists(path, None)
    run = run_of_lists(_with_ids(lists, path, query_ids, doc_ids), path, run_id=run_id)
    return top(run, depth) if depth else run


def open_run(
    path: str | Path, *, run_id: str | None = None, query_ids: _Given = None, doc_ids: _Given = None
) -> Run | NativeRunFile | MatrixRun:
    """Return the run in a file for `score_runs`: the same run as from `read_run`.

    The toolkit's own files and matrices are read only when they are scored; others are read whole.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "a.run"
        >>> _ = file.write_text("q Q0 d1 1 2.0 a\\n")
        >>> run_id_of(open_run(file))
        'a'
    """
    path = Path(path)
    reader = find_reader(path) if path.is_file() else None
    if reader is not None and reader.name == "run":
        return open_native_run(path, run_id=run_id)
    if reader is not None and reader.read_arrays is not None:
        matrix = open_matrix(path, reader, query_ids=query_ids, doc_ids=doc_ids)
        run = MatrixRun(path, run_id or path.stem, *matrix)
        if can_be_scored(run):
            return run
    return read_run(path, run_id=run_id, query_ids=query_ids, doc_ids=doc_ids)


def run_id_of(run: Run | NativeRunFile | MatrixRun) -> str:
    """Return the id of one run, empty where it has no row."""
    if isinstance(run, pd.DataFrame):
        return str(run["run_id"].iloc[0]) if len(run) else ""
    return run.run_id


def renamed(run: Run | NativeRunFile | MatrixRun, run_id: str) -> Any:
    """Return one run under another id."""
    if isinstance(run, pd.DataFrame):
        return Run(run.assign(run_id=run["run_id"].cat.rename_categories([run_id])))
    return replace(run, run_id=run_id)


def open_matrix(
    path: Path, reader: RunReader, *, query_ids: _Given = None, doc_ids: _Given = None
) -> tuple[Matrix, list[str], list[str]]:
    """Return the matrix of queries × docs in a file, and the ids of both; arguments as for `read_run`.

    Raises:
        FormatError: the file holds no matrix, or no ids that fit it.
        UsageError: ids were given, and the file has others of its own.

    Warns:
        FileNote: the matrix lies the other way round, as its shape shows or the file says; it is turned.
    """
    if reader.read_arrays is None:
        raise FormatError(f"{path}: {reader.what} holds no run")
    arrays = reader.read_arrays(path)
    own = arrays.query_ids, arrays.doc_ids
    queries, docs = axes_of(path, own, _id_files(path, query_ids, doc_ids))
    expected = len(queries), len(docs)
    shapes: set[tuple[int, ...]] = {expected, expected[::-1]}
    matrix: Any = arrays.matrices[choose_matrix(arrays, str(path), key=None, shapes=shapes)]
    shape = matrix.shape[::-1] if matrix.is_flipped else matrix.shape
    if len(shape) != 2 or 0 in shape:
        raise FormatError(f"{path}: shape {shape}, expected a matrix of queries × docs")
    if shape not in shapes:
        raise FormatError(
            f"{path}: shape {shape[0]} × {shape[1]}, but {len(queries)} query ids and {len(docs)} doc ids; "
            "expected queries × docs"
        )
    if arrays.orientation == QUERIES_COLUMNS or (shape != expected and arrays.orientation is None):
        shape, matrix = shape[::-1], replace(matrix, is_flipped=not matrix.is_flipped)
        how = "the file says" if arrays.orientation else "the shape shows"
        warnings.warn(f"{path}: columns are queries, as {how}", FileNote, stacklevel=2)
    if shape != expected or arrays.orientation not in (None, QUERIES_ROWS, QUERIES_COLUMNS):
        raise FormatError(
            f"{path}: orientation {arrays.orientation!r} in the file, which its shape does not fit"
        )
    return matrix, queries, docs


def _id_files(path: Path, *given: _Given) -> list[IdFile | None]:
    return [id_file_for(path, column, file) for column, file in zip(_COLUMNS, given, strict=True)]


def _with_ids(listed: Listed, path: Path, *given: _Given) -> Listed:
    """Return lists with ids for places; values that could be either stay, unless the user gave ids."""
    if not listed.has_places and given == (None, None):
        return listed
    files = _id_files(path, *given)
    if listed.has_places:
        return named_by_place(listed, path, *axes_of(path, (None, None), files))
    return named_where_places(listed, path, *files)
