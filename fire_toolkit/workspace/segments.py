"""Rows of text in append-only segments: Parquet files of a folder, each named by the hash of its bytes.

A damaged or foreign segment is known by its name, two folders are merged by copying files, and after a kill a
segment is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.files import paths_in
from fire_toolkit.workspace.manifests import finish_interrupted, write_files

_SUFFIX = ".parquet"
_NAME_LENGTH = 40


@dataclass(frozen=True)
class SegmentKind:
    """What segments hold: columns of text, and the schema's key and version in each file."""

    names: tuple[str, ...]
    schema_key: bytes
    version: int = 1


def append_segment(folder: Path, rows: pd.DataFrame, kind: SegmentKind) -> Path | None:
    """Add rows to a folder as one segment and return its path; None, and nothing written, without rows.

    Raises:
        FireError: the folder cannot be written, or the disk is full; it is as it was.
    """
    if not len(rows):
        return None
    content = segment_bytes(rows, kind)
    path = folder / segment_name(content)
    write_files({path: content})
    return path


def segment_name(content: bytes) -> str:
    """Return the file name of a segment: the hash of its bytes."""
    return hashlib.sha256(content).hexdigest()[:_NAME_LENGTH] + _SUFFIX


def segment_bytes(rows: pd.DataFrame, kind: SegmentKind) -> bytes:
    """Return rows as the bytes of a segment."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(rows[name].array, pa.string()) for name in kind.names]
    table = pa.table(columns, kind.names, metadata={kind.schema_key: str(kind.version).encode()})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def segments_of(folder: Path) -> list[Path]:
    """Return the segments of a folder by name; none if it is not there.

    Raises:
        FormatError: the folder cannot be read.
    """
    if paths_in(folder):
        finish_interrupted(folder)
    return [path for path in paths_in(folder) if path.suffix == _SUFFIX]


def sound_segments(
    folder: Path,
    kind: SegmentKind,
    *,
    only: Sequence[Path] | None = None,
    names: Sequence[str] | None = None,
) -> tuple[list[Any], list[str]]:
    """Return the Arrow table of each segment that is sound, and for each other one what is wrong.

    only: these of the folder's segments; None: all. names: the columns to read; None: all.
    """
    tables: list[Any] = []
    problems: list[str] = []
    for path in segments_of(folder) if only is None else only:
        try:
            tables.append(_read_segment(path, kind, list(names or kind.names)))
        except FormatError as error:
            problems.append(str(error))
    return tables, problems


def _read_segment(path: Path, kind: SegmentKind, names: list[str]) -> Any:
    """Return a segment's rows, which were checked when it was written, if no bit has changed since."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    if segment_name(content) != path.name:
        raise FormatError(f"{path}: damaged, cut short or foreign: its name is not the hash of its bytes")
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        version = (file.schema_arrow.metadata or {}).get(kind.schema_key, b"").decode()
        rows = file.read(names, use_threads=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not a Parquet file ({' '.join(str(error).split())[:100]})") from None
    if version != str(kind.version):
        raise FormatError(f"{path}: not a segment of schema {kind.version} (found {version or 'none'})")
    return rows.select(names).cast(pa.schema([(name, pa.large_string()) for name in names]))
