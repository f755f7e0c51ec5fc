"""A run from any file this toolkit reads, recognised by its content."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FileNote
from fire_toolkit.files import STDIN
from fire_toolkit.formats.runs.axis_ids import Given, axes_of, id_file_for, with_ids
from fire_toolkit.formats.runs.listed import OF_GROUPS, Listed
from fire_toolkit.formats.runs.matrices import MatrixRun, readings_of
from fire_toolkit.formats.runs.native import NativeRunFile, open_native_run
from fire_toolkit.formats.runs.ranked import QUERIES_COLUMNS, QUERIES_ROWS, run_name, run_of_lists
from fire_toolkit.formats.runs.reader import recognise
from fire_toolkit.formats.runs.trec import read_trec_run
from fire_toolkit.matching.ranking import top
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.tables.ids import are_ids


def read_run(path: str | Path, *, depth: int | None = None, **given: Any) -> Run:
    """Return the run in a file whole, or of each query `depth` docs, as `open_run` takes path and `given`."""
    return whole_run(open_run(path, **given), depth)


def open_run(
    path: str | Path,
    *,
    run_id: str | None = None,
    query_ids: Given = None,
    doc_ids: Given = None,
    qrels: Callable[[], Qrels] | None = None,
) -> Run | NativeRunFile | MatrixRun:
    """Return the run in a file of any format in `reader.READERS`, for `score_runs`.

    The toolkit's own files and matrices (queries × docs) are read only when they are scored; others are read
    whole.

    Args:
        path: the file; `-` is TREC text on standard input.
        run_id: the run's id; by default the one in the file, or the file's name.
        query_ids, doc_ids: for a matrix: files with one id per row, and one per column, in any format of
            `read_ids`, by default `NAME.query_ids.txt` and `NAME.doc_ids.txt` beside it (or `.npy`, `.json`);
            they also name the places in lists of places.
        qrels: reads those of a matrix, for the warning below.

    Raises:
        FormatError: the file cannot be read as what it is.
        TableError: its rows make no run (a doc twice under a query, an id with white space).

    Warns:
        FileNote: a matrix lies the other way round, as its shape shows or the file says, and is turned; or
            it is square, and nothing says what its rows are; or the positives of `qrels` stand in it as they
            would by chance.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "a.run"
        >>> _ = file.write_text("q Q0 d1 1 2.0 a\\n")
        >>> open_run(file)["run_id"].tolist(), len(read_run(file))
        (['a'], 1)
    """
    path = Path(path)
    if str(path) == STDIN or (reader := recognise(path)).name == "trec":
        return run_of_lists(read_trec_run(path, is_named=run_id is not None), path, run_id=run_id)
    if reader.name == "run":
        return open_native_run(path, run_id=run_id)
    found = reader.read(path)
    ids = id_file_for(path, "query_id", query_ids), id_file_for(path, "doc_id", doc_ids)
    if isinstance(found, Listed):
        if OF_GROUPS in found.notes:
            warnings.warn(f"{path}: {OF_GROUPS}", FileNote, stacklevel=2)
        return run_of_lists(with_ids(found, path, ids), path, run_id=run_id)
    axes = axes_of(path, (found.query_ids, found.doc_ids), ids, found.texts)
    name, readings = readings_of(found, path, axes, wanted=found.orientation, may_be_padded=False)
    if is_turned := QUERIES_ROWS not in readings:
        how = "the file says" if found.orientation else "the shape shows"
        warnings.warn(f"{path}: columns are queries, as {how}", FileNote, stacklevel=2)
    elif len(readings) > 1:
        rows = "square, and its rows are taken for queries; bring it in with add-run --expect to be sure"
        warnings.warn(f"{path}: {rows}", FileNote, stacklevel=2)
    may_be_turned = found.query_ids is None and found.orientation is None and QUERIES_COLUMNS in readings
    matrix = MatrixRun(path, run_name(path, run_id), found.matrices[name], *axes, is_turned, may_be_turned)
    for words in () if qrels is None else matrix.doubts(qrels()):
        warnings.warn(f"{path}: {words}", FileNote, stacklevel=2)
    can_be_scored = all(map(are_ids, ([matrix.run_id], matrix.query_ids, matrix.doc_ids)))
    return matrix if can_be_scored else matrix.top(None)


def whole_run(run: Run | NativeRunFile | MatrixRun, depth: int | None = None) -> Run:
    """Return one run as a table, of each query at most `depth` docs."""
    if not isinstance(run, pd.DataFrame):
        return run.top(depth or None)
    return top(run, depth) if depth else run


def renamed(run: Run | NativeRunFile | MatrixRun, run_id: str) -> Any:
    """Return one run under another id."""
    if isinstance(run, pd.DataFrame):
        return Run(run.assign(run_id=run["run_id"].cat.rename_categories([run_id])))
    return replace(run, run_id=run_id)
