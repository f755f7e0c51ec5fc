"""Long tables in Parquet from other tools, and the opening of any Parquet file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.reader import RunReader, begins
from fire_toolkit.formats.runs.table_runs import listed_table

PARQUET_MAGIC = b"PAR1"
is_parquet = begins(PARQUET_MAGIC)
_MOST_ROWS = 500_000_000
_MOST_BYTES = 64 << 30
_T = TypeVar("_T")


def read_parquet(path: Path, key: str | None = None) -> Listed:
    """Return a long Parquet table (columns as in `table_runs`) as ranked lists.

    Raises:
        FormatError: the file is damaged, lacks the columns, or has an id that is not text or a whole number.
    """
    file = open_parquet(path)
    table = guarded(path, file.read)
    guarded(path, lambda: table.validate(full=True))  # lengths, offsets, and that text is UTF-8
    frame = guarded(path, partial(table.to_pandas, ignore_metadata=True))  # an index is columns like others
    return listed_table(frame, str(path), key)


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


READER = RunReader("parquet", "a Parquet table", "begins with PAR1", is_parquet, read_parquet)
