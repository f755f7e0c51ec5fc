"""Parquet of other tools: long tables, vectors in a column of lists; and the opening of any Parquet file."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.columns import find_name, pair_column
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.listed import Listed, listed_table
from fire_toolkit.formats.runs.named_arrays import Arrays, Matrix

PARQUET_MAGIC = b"PAR1"
_IDS = ("id", "ids", "query", "topic", "topic_id")
_MOST_ROWS = 500_000_000
_MOST_BYTES = 64 << 30
_T = TypeVar("_T")


def open_parquet(path: Path, **options: Any) -> Any:
    """Return a Parquet file, opened; pages are checked as they are read.

    Raises:
        FormatError: it is damaged, or larger than a run can be.
    """
    from pyarrow import parquet

    file = guarded(path, lambda: parquet.ParquetFile(path, page_checksum_verification=True, **options))
    about = file.metadata
    n_bytes = sum(about.row_group(i).total_byte_size for i in range(min(about.num_row_groups, 100_000)))
    if about.num_rows > _MOST_ROWS or n_bytes > _MOST_BYTES:
        raise FormatError(f"{path}: {about.num_rows:,} rows of {n_bytes:,} bytes, more than a run can have")
    return file


def guarded(path: Path, read: Callable[[], _T]) -> _T:
    """Return the result of `read`; the library's errors become a FormatError of one line."""
    import pyarrow as pa

    try:
        return read()
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise FormatError(f"{path}: damaged Parquet file ({reason}); copy it again") from None


def whole_table(path: Path) -> Any:
    """Return the columns of a Parquet file, checked to the last value."""
    table = guarded(path, lambda: open_parquet(path).read())
    guarded(path, lambda: table.validate(full=True))  # lengths, offsets, and that text is UTF-8
    return table


def read_parquet(path: Path, key: str | None = None) -> Listed:
    """Return a long Parquet table (columns as in `listed`) as ranked lists.

    Raises:
        FormatError: the file is damaged, lacks the columns, or has an id that is not text or a whole number.
    """
    frame = guarded(path, partial(whole_table(path).to_pandas, ignore_metadata=True))  # an index is columns
    return listed_table(frame, str(path), key)


def read_parquet_vectors(path: Path) -> Arrays:
    """Return the columns of lists of numbers as matrices, and a column of ids for whichever side they are.

    Raises:
        FormatError: damaged, no such column, or a list or a number of it is missing, or has another length.
    """
    import pyarrow as pa

    table, matrices = whole_table(path), dict[str, Matrix]()
    for field in table.schema:
        kind = field.type.value_type if is_list(field.type) else None
        if kind is not None and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            values = _vectors(table[field.name], f"{path}: column {field.name}")
            matrices[field.name] = Matrix(path, field.name, values)
    if not matrices:
        shown = ", ".join(f"{column.name} ({column.type})" for column in list(table.schema)[:8])
        raise FormatError(
            f"{path}: columns {shown}; expected a list of numbers a row; a row for each pair is a run's "
            "table, which needs neither --scores nor --similarity"
        )
    names = [name for name in table.column_names if name not in matrices]
    sides = (pair_column(names, role, is_loose=False) for role in ("query_id", "doc_id"))
    name = next(filter(None, sides), find_name(names, _IDS))
    ids = None if name is None else id_texts(table[name].to_pylist(), f"{path}: column {name}")
    return Arrays(matrices, ids, ids)


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is of lists."""
    import pyarrow as pa

    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def _vectors(column: Any, where: str) -> Array:
    """Return the lists of a column as rows."""
    from pyarrow import compute

    first = column[0].as_py() if len(column) else None
    if not first:
        raise FormatError(f"{where}: row 0: no numbers, expected a vector a row")
    parts, start, width = list[Array](), 0, len(first)
    for lists in column.chunks:
        lengths = np.asarray(compute.list_value_length(lists).fill_null(-1))
        if (is_strange := lengths != width).any():
            place = int(np.argmax(is_strange))
            found = "no list" if lengths[place] < 0 else f"a list of {lengths[place]} numbers"
            raise FormatError(f"{where}: row {start + place}: {found}, expected {width} numbers")
        values = lists.flatten()
        if values.null_count:
            place = int(np.argmax(np.asarray(values.is_null()))) // width
            raise FormatError(f"{where}: row {start + place}: a number is missing in the list")
        parts.append(values.to_numpy(zero_copy_only=False).reshape(-1, width))
        start += len(lists)
    return np.concatenate(parts)
