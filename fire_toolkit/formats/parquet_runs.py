"""Runs as Parquet: the toolkit's own file, one row a query, and long tables of other tools.

The own file keeps scores to the bit and the true rank of each doc, so that positives can stand below the
top that was kept. Pages carry checksums, which are verified when the file is read.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.listed import Listed
from fire_toolkit.formats.names import DOC, QUERY, find_name
from fire_toolkit.formats.reader import RunReader
from fire_toolkit.formats.table_runs import listed_table
from fire_toolkit.tables import Run

PARQUET_MAGIC = b"PAR1"
_KEY = b"fire_toolkit.run"
_VERSION = 1
_MOST_ROWS = 500_000_000
_MOST_BYTES = 64 << 30
_T = TypeVar("_T")


def run_bytes(run: Run) -> bytes:
    """Return a Run of one run as the toolkit's Parquet file: the same run gives the same bytes.

    One row a query, sorted: query_id, doc_ids, ranks (int32), scores (float32 where that is exact, else
    float64). The run's id is in the file's metadata.
    """
    import pyarrow as pa
    from pyarrow import parquet

    query = run["query_id"].cat
    starts = np.flatnonzero(np.diff(query.codes, prepend=-1))
    offsets = pa.array(np.append(starts, len(run)), type=pa.int32())
    scores = run["score"].to_numpy()
    narrow = scores.astype(np.float32)
    kept = narrow if (narrow.astype(np.float64) == scores).all() else scores
    docs = pa.DictionaryArray.from_arrays(
        pa.array(run["doc_id"].cat.codes.to_numpy(), type=pa.int32()),
        pa.array(run["doc_id"].cat.categories.astype(object), type=pa.string()),
    )
    about = {"version": _VERSION, "run_id": str(run["run_id"].iloc[0]) if len(run) else ""}
    table = pa.table(
        {
            "query_id": pa.array(run["query_id"].iloc[starts].astype(object), type=pa.string()),
            "doc_ids": pa.ListArray.from_arrays(offsets, docs),
            "ranks": pa.ListArray.from_arrays(offsets, pa.array(run["rank"].to_numpy(), type=pa.int32())),
            "scores": pa.ListArray.from_arrays(offsets, pa.array(kept)),
        }
    ).replace_schema_metadata({_KEY: json.dumps(about, ensure_ascii=False).encode()})
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd", write_page_checksum=True, store_schema=True)
    return out.getvalue()


def is_parquet(start: bytes, path: Path) -> bool:
    """Whether the file begins as Parquet does."""
    return start.startswith(PARQUET_MAGIC)


def is_own_run(start: bytes, path: Path) -> bool:
    """Whether the file is a run that this toolkit wrote."""
    return is_parquet(start, path) and _KEY in (_open(path).schema_arrow.metadata or {})


def read_own_run(path: Path, key: str | None = None) -> Listed:
    """Return a run of the toolkit's own, with the ranks it holds.

    Raises:
        FormatError: damaged (a page's checksum, or ranks that do not fit the scores), or of a newer version.
    """
    file = _open(path)
    about = _guarded(path, lambda: json.loads((file.schema_arrow.metadata or {})[_KEY]))
    if not isinstance(about, dict) or not isinstance(about.get("run_id"), str):
        raise FormatError(f"{path}: damaged run file; write it again with `fire-toolkit add-run`")
    if about.get("version") != _VERSION:
        raise FormatError(f"{path}: run file of version {about.get('version')}, expected {_VERSION}")
    scored = _guarded(path, lambda: _long(_read(path, file)))
    _check_ranks(path, scored)
    return Listed(scored, about["run_id"], has_ranks=True)


def _long(table: Any) -> pd.DataFrame:
    lists = {name: table[name].combine_chunks() for name in ("doc_ids", "ranks", "scores")}
    lengths = [column.value_lengths().to_numpy() for column in lists.values()]
    if not all((lengths[0] == other).all() for other in lengths[1:]):
        raise ValueError("lists of different lengths")
    flat = {name: column.flatten() for name, column in lists.items()}
    queries = table["query_id"].combine_chunks().dictionary_encode()
    docs = flat["doc_ids"] if hasattr(flat["doc_ids"], "dictionary") else flat["doc_ids"].dictionary_encode()
    return pd.DataFrame(
        {
            "query_id": _coded(
                np.repeat(queries.indices.to_numpy(zero_copy_only=False), lengths[0]), queries
            ),
            "doc_id": _coded(docs.indices.to_numpy(zero_copy_only=False), docs),
            "rank": flat["ranks"].to_numpy(zero_copy_only=False).astype(np.int64),
            "score": flat["scores"].to_numpy(zero_copy_only=False).astype(np.float64),
        },
        copy=False,
    )


def _coded(codes: npt.NDArray[Any], coded: Any) -> pd.Categorical:
    """Return codes as a category of the ids of a dictionary array, which is whole."""
    if coded.null_count:
        raise ValueError("an id is missing")
    return pd.Categorical.from_codes(
        codes, pd.Index(coded.dictionary.to_pylist(), dtype="str"), validate=False
    )


def _check_ranks(path: Path, scored: pd.DataFrame) -> None:
    """Refuse ranks that no run has: not ascending within a query, or against the order of the scores."""
    query, rank = scored["query_id"].cat.codes.to_numpy(), scored["rank"].to_numpy()
    score = scored["score"].to_numpy()
    same = query[1:] == query[:-1]
    bad = same & ((rank[1:] <= rank[:-1]) | ~(score[1:] <= score[:-1]))
    if bad.any() or (rank < 1).any():
        raise FormatError(f"{path}: ranks that do not follow the scores; write the run again with add-run")


def read_parquet(path: Path, key: str | None = None) -> Listed:
    """Return a long Parquet table (columns as in `table_runs`) as ranked lists.

    Raises:
        FormatError: damaged, without the columns, an id that is no text or whole number.
    """
    table = _read(path, _open(path))
    names = [str(name) for name in table.column_names]
    ids = {find_name(names, wanted) for wanted in (QUERY, DOC)}
    frame = _guarded(path, table.to_pandas)
    for name in ids - {None}:
        if pd.api.types.is_integer_dtype(frame[name].dtype):
            frame[name] = frame[name].astype("int64").astype("str")
    return listed_table(frame, str(path), key)


def _open(path: Path) -> Any:
    from pyarrow import parquet

    file = _guarded(path, lambda: parquet.ParquetFile(path, page_checksum_verification=True))
    about = file.metadata
    n_bytes = sum(about.row_group(i).total_byte_size for i in range(min(about.num_row_groups, 100_000)))
    if about.num_rows > _MOST_ROWS or n_bytes > _MOST_BYTES:
        raise FormatError(f"{path}: {about.num_rows:,} rows of {n_bytes:,} bytes, more than a run can have")
    return file


def _read(path: Path, file: Any) -> Any:
    table = _guarded(path, file.read)
    _guarded(path, lambda: table.validate(full=True))  # lengths, offsets, and that text is UTF-8
    return table


def _guarded(path: Path, read: Callable[[], _T]) -> _T:
    """Return what `read` returns; the library's errors become one line."""
    import pyarrow as pa

    try:
        return read()
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise FormatError(f"{path}: damaged Parquet file ({reason}); copy it again") from None


OWN = RunReader(
    "run", "a run of fire-toolkit", "Parquet with fire_toolkit.run in its metadata", is_own_run, read_own_run
)
LONG = RunReader("parquet", "a Parquet table", "begins with PAR1", is_parquet, read_parquet)
