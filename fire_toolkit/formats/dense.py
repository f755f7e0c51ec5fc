"""Dense similarity matrices, `.npy` and `.npz`: rows are queries, columns are docs.

An `.npz` holds `sims`, `query_ids` and `doc_ids`; for an `.npy` the ids come from files. Nothing is
unpickled. `.npy` is read in blocks of rows, so that a large matrix is never whole in memory when only
its top ranks are asked for.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.delimited import read_delimited
from fire_toolkit.formats.files import read_text
from fire_toolkit.ranking import rank_run, top_of_rows
from fire_toolkit.tables import Run

_BLOCK_BYTES = 32 << 20
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK\x03\x04"
Array = npt.NDArray[Any]


def is_dense(path: Path) -> bool:
    """Whether the file begins as `.npy` or `.npz` does."""
    with path.open("rb") as stream:
        start = stream.read(6)
    return start == _NPY_MAGIC or start.startswith(_ZIP_MAGIC)


def read_dense_run(
    path: str | Path,
    *,
    run_id: str,
    query_ids: Sequence[str] | None = None,
    doc_ids: Sequence[str] | None = None,
    depth: int | None = None,
) -> Run:
    """Return a similarity matrix as a Run.

    Args:
        path: `.npy` (queries × docs), or `.npz` with `sims` and, unless given, `query_ids`, `doc_ids`.
        run_id: the run's id.
        query_ids: one id a row.
        doc_ids: one id a column.
        depth: keep this many docs a query; None keeps all.

    Raises:
        FormatError: damaged or of another shape, a dtype that is no real number, ids that do not
            match the shape, or a score that is NaN or infinite (with its row and column).
    """
    path = Path(path)
    with path.open("rb") as stream:
        is_zip = stream.read(4) == _ZIP_MAGIC
    if is_zip:
        sims, found_queries, found_docs = _read_npz(path)
        query_ids, doc_ids = query_ids or found_queries, doc_ids or found_docs
        blocks: Iterator[Array] = iter([sims])
        shape = sims.shape
    else:
        shape, blocks = _read_npy(path)
    queries, docs = _check_ids(path, shape, query_ids, doc_ids)
    return rank_run(_top_rows(path, blocks, queries, docs, depth or shape[1], run_id), where=str(path))


def _check_ids(
    path: Path, shape: tuple[int, ...], query_ids: Sequence[str] | None, doc_ids: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    if len(shape) != 2 or 0 in shape:
        raise FormatError(f"{path}: shape {shape}, expected a matrix of queries × docs")
    if query_ids is None or doc_ids is None:
        absent = " and ".join(
            name for name, ids in (("query ids", query_ids), ("doc ids", doc_ids)) if ids is None
        )
        raise FormatError(
            f"{path}: no {absent}; give --query-ids and --doc-ids, or put {path.stem}.query_ids.txt and "
            f"{path.stem}.doc_ids.txt beside it, or save an .npz with sims, query_ids, doc_ids"
        )
    if (len(query_ids), len(doc_ids)) != shape:
        turned = (len(doc_ids), len(query_ids)) == shape
        raise FormatError(
            f"{path}: shape {shape[0]} × {shape[1]}, but {len(query_ids)} query ids and {len(doc_ids)} "
            "doc ids; "
            + ("the matrix is docs × queries: save its transpose" if turned else "expected queries × docs")
        )
    for what, ids in (("query ids", query_ids), ("doc ids", doc_ids)):
        if len(set(ids)) < len(ids):
            twice = pd.Series(list(ids))[pd.Series(list(ids)).duplicated()].iloc[0]
            raise FormatError(f"{path}: {what}: {twice!r} is given twice, expected one of each")
    return list(query_ids), list(doc_ids)


def _top_rows(
    path: Path, blocks: Iterator[Array], queries: list[str], docs: list[str], depth: int, run_id: str
) -> pd.DataFrame:
    doc_order = np.argsort(np.array(docs, dtype=object), kind="stable")
    tie_codes = np.empty(len(docs), dtype=np.int64)
    tie_codes[doc_order] = np.arange(len(docs))
    parts: list[tuple[Array, Array, Array]] = []
    start = 0
    for block in blocks:
        _check_finite(path, block, start, queries, docs)
        rows, columns = top_of_rows(block, depth, tie_codes)
        parts.append((rows + start, columns, block[rows, columns].astype(np.float64)))
        start += len(block)
    rows, columns, scores = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return pd.DataFrame(
        {
            "run_id": pd.Categorical.from_codes(np.zeros(len(rows), dtype=np.int8), pd.Index([run_id])),
            "query_id": pd.Categorical.from_codes(rows, pd.Index(queries, dtype="str")),
            "doc_id": pd.Categorical.from_codes(columns, pd.Index(docs, dtype="str")),
            "score": scores,
        }
    )


def _check_finite(path: Path, block: Array, start: int, queries: list[str], docs: list[str]) -> None:
    bad = ~np.isfinite(block)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise FormatError(
            f"{path}: {int(bad.sum())} scores that are NaN or infinite, the first at row {start + row}, "
            f"column {column} (query {queries[start + row]}, doc {docs[column]}: {block[row, column]}); "
            f"expected finite numbers: leave padding rows out, or give such pairs the lowest score"
        )


def _check_dtype(path: Path, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "fiu" or dtype.hasobject:
        raise FormatError(f"{path}: holds {dtype}, expected real numbers (save with dtype float32)")


def _read_npy(path: Path) -> tuple[tuple[int, ...], Iterator[Array]]:
    with path.open("rb") as stream:
        shape, fortran, dtype = _npy_header(path, stream)
        at = stream.tell()
    _check_dtype(path, dtype)
    needed, found = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize + at, path.stat().st_size
    if found < needed:
        raise FormatError(
            f"{path}: cut off: {found} bytes, expected {needed} for shape {shape} of {dtype}; copy it again"
        )
    if fortran or len(shape) != 2:
        return shape, iter([np.load(path, allow_pickle=False)])
    return shape, _npy_blocks(path, at, shape, dtype)


def _npy_header(path: Path, stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        header: Any = np.lib.format
        version = header.read_magic(stream)
        read = header.read_array_header_1_0 if version == (1, 0) else header.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except (ValueError, EOFError, SyntaxError, TypeError) as error:
        raise FormatError(f"{path}: damaged .npy header ({error}); save it again with numpy.save") from None
    return shape, fortran, dtype


def _npy_blocks(path: Path, at: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[Array]:
    n_rows, n_docs = shape
    step = max(1, _BLOCK_BYTES // max(1, n_docs * dtype.itemsize))
    with path.open("rb") as stream:
        stream.seek(at)
        for start in range(0, n_rows, step):
            rows = min(step, n_rows - start)
            yield np.fromfile(stream, dtype=dtype, count=rows * n_docs).reshape(rows, n_docs)


def _read_npz(path: Path) -> tuple[Array, list[str] | None, list[str] | None]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if "sims" not in archive.files:
                raise FormatError(
                    f"{path}: arrays {', '.join(archive.files) or 'none'}; expected sims, query_ids, doc_ids"
                )
            sims = archive["sims"]
            ids = [_npz_ids(path, archive, name) for name in ("query_ids", "doc_ids")]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, SyntaxError) as error:
        hint = "ids saved as Python objects? save np.array(ids, dtype=str)" if "pickle" in str(error) else ""
        raise FormatError(f"{path}: damaged .npz or not readable without pickle ({error}) {hint}") from None
    _check_dtype(path, sims.dtype)
    return sims, ids[0], ids[1]


def _npz_ids(path: Path, archive: Any, name: str) -> list[str] | None:
    if name not in archive.files:
        return None
    ids = archive[name]
    if ids.ndim != 1 or ids.dtype.kind not in "USiu":
        raise FormatError(f"{path}: {name} has shape {ids.shape} of {ids.dtype}, expected a list of text")
    return [item.decode("utf-8") if isinstance(item, bytes) else str(item) for item in ids.tolist()]


def read_ids(path: str | Path, column: str) -> list[str]:
    """Return the ids in a file, in its order: one a line, or column `column` of a CSV or TSV."""
    header = read_text(path).split("\n", 1)[0].replace("\t", ",").split(",")
    if column in (name.strip() for name in header):
        return [str(value) for value in read_delimited(path)[column]]
    return [line.strip() for line in read_text(path).split("\n") if line.strip()]
