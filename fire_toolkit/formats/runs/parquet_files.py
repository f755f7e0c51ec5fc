"""Parquet of other tools: long tables, vectors in a column of lists; and the opening of any Parquet file."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.columns import RANK, SCORE, find_name, pair_column, pair_columns
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
    """Return the columns of a Parquet file, checked to the last value, but for those of pictures and sounds.

    Hugging Face keeps these as a struct with their bytes.
    """
    import pyarrow as pa

    file = open_parquet(path)
    fields = guarded(path, lambda: list(file.schema_arrow))
    kept = [own.name for own in fields if not (pa.types.is_struct(own.type) and "bytes" in own.type.names)]
    table = guarded(path, lambda: file.read(kept if len(kept) < len(fields) else None))
    guarded(path, lambda: table.validate(full=True))  # lengths, offsets, and that text is UTF-8
    return table


def read_parquet(path: Path, key: str | None = None) -> Listed:
    """Return a long Parquet table (columns as in `listed`) as ranked lists.

    Raises:
        FormatError: the file is damaged, lacks the columns, or has an id that is not text or a whole number;
            of lists the options that read them are named.
    """
    table = whole_table(path)
    names = [name for name in table.column_names if name not in (lists := lists_in(table))]
    if lists and not (pair_columns(names, "doc_id") and find_name(names, (*SCORE, *RANK))):
        raise FormatError(
            f"{path}: columns of lists ({', '.join(lists)}); of ids and their scores say --scores similarity "
            "or --scores distance; of vectors --similarity, with the file of the other side"
        )
    frame = guarded(path, partial(table.to_pandas, ignore_metadata=True))  # an index is columns
    return listed_table(frame, str(path), key)


def read_parquet_vectors(path: Path) -> Arrays:
    """Return the columns of lists of numbers as matrices, and a column of ids for whichever side they are.

    Raises:
        FormatError: damaged, no such column, or a list or a number of it is missing, or has another length.
    """
    import pyarrow as pa

    table, matrices = whole_table(path), dict[str, Matrix]()
    for name, (lengths, values) in lists_in(table).items():
        if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
            continue
        where, width = f"{path}: column {name}", lengths[0] if len(lengths) else 0
        if width < 1:
            raise FormatError(f"{where}: row 0: no numbers, expected a vector a row")
        if (is_strange := lengths != width).any():
            row = int(np.argmax(is_strange))
            found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]} numbers"
            raise FormatError(f"{where}: row {row}: {found}, expected {width} numbers")
        if values.null_count:
            row = int(np.argmax(np.asarray(values.is_null()))) // width
            raise FormatError(f"{where}: row {row}: a number is missing in the list")
        matrices[name] = Matrix(path, name, values.to_numpy().reshape(-1, width))
    if not matrices:
        shown = ", ".join(f"{column.name} ({column.type})" for column in list(table.schema)[:8])
        raise FormatError(
            f"{path}: columns {shown}; expected a list of numbers a row; a row for each pair is a run's "
            "table, which needs neither --scores nor --similarity"
        )
    names = [name for name in table.column_names if name not in matrices]
    sides = (pair_column(names, role, is_loose=False) for role in ("query_id", "doc_id"))
    named = next(filter(None, sides), find_name(names, _IDS))
    ids = None if named is None else id_texts(table[named].to_pylist(), f"{path}: column {named}")
    return Arrays(matrices, ids, ids)


def lists_in(table: Any) -> dict[str, tuple[Ints, Any]]:
    """Return of each column of lists how long they are, -1 where one is missing, and their values."""
    import pyarrow as pa
    from pyarrow import compute

    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    lists = {each.name: table[each.name] for each in table.schema if any(own(each.type) for own in kinds)}
    return {
        name: (np.asarray(compute.list_value_length(own).fill_null(-1)), compute.list_flatten(own))
        for name, own in lists.items()
    }
