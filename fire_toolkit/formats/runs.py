"""A run from any file this toolkit reads, recognised by its content."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.dense import is_dense, read_dense_run, read_ids
from fire_toolkit.formats.trec import read_trec_run
from fire_toolkit.ranking import top
from fire_toolkit.tables import Run


def read_run(
    path: str | Path,
    *,
    run_id: str | None = None,
    query_ids: str | Path | None = None,
    doc_ids: str | Path | None = None,
    depth: int | None = None,
) -> Run:
    """Return the run in a file: TREC text (gzip or not), or a dense matrix `.npy` or `.npz`.

    Args:
        path: the file; `-` is TREC text on standard input.
        run_id: the run's id; by default the sixth field of TREC text, or a matrix's file name.
        query_ids: for a matrix: a file with one id a row (a line each, or a table with `query_id`).
        doc_ids: for a matrix: a file with one id a column (a line each, or a table with `doc_id`).
            By default `NAME.query_ids.txt` and `NAME.doc_ids.txt` beside the matrix.
        depth: keep this many docs a query; None keeps all.

    Raises:
        FormatError: the file cannot be read as what it is.
        TableError: its rows make no run (a doc twice under a query, an id with white space).
    """
    if str(path) != "-" and not Path(path).is_file():
        raise FormatError(f"{path}: no such file")
    if str(path) == "-" or not is_dense(Path(path)):
        run = read_trec_run(path, run_id=run_id)
        return top(run, depth) if depth else run
    path = Path(path)
    query_file = query_ids or _beside(path, "query_ids")
    doc_file = doc_ids or _beside(path, "doc_ids")
    return read_dense_run(
        path,
        run_id=run_id or path.stem,
        query_ids=read_ids(query_file, "query_id") if query_file else None,
        doc_ids=read_ids(doc_file, "doc_id") if doc_file else None,
        depth=depth,
    )


def _beside(path: Path, what: str) -> Path | None:
    for name in (f"{path.stem}.{what}.txt", f"{what}.txt"):
        if (path.parent / name).is_file():
            return path.parent / name
    return None
