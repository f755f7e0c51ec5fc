"""Matrices read in blocks of rows, from an offset in a file, a zip member, or memory.

A file is read front to back; no memory map is used (a mapped matrix fills memory with its own pages and
reads slower).
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from fire_toolkit.errors import FormatError

Array = npt.NDArray[Any]

BLOCK_BYTES = 8 << 20
_EXACT_INTEGERS = 2**53


class Matrix(Protocol):
    """Real numbers in rows, readable in blocks."""

    @property
    def where(self) -> str:
        """Return its name for errors."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Return rows × columns, or three axes of which the first two are rows."""
        ...

    @property
    def is_flipped(self) -> bool:
        """Return whether the file stores the transpose of the matrix that was saved."""
        ...

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield all rows in order, `n_rows` at a time, as float32 or float64 of rows × columns."""
        ...


def n_rows_columns(matrix: Matrix) -> tuple[int, int]:
    """Return the shape with all axes but the last as rows."""
    return math.prod(matrix.shape[:-1]), matrix.shape[-1]


def rows_per_block(matrix: Matrix) -> int:
    """Return how many rows of 4-byte numbers fill a block, at least one."""
    return max(1, BLOCK_BYTES // max(1, 4 * matrix.shape[-1]))


def check_dtype(where: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return `dtype`, or raise FormatError unless it is of real numbers of up to 8 bytes."""
    if dtype.kind not in "fiu" or dtype.itemsize > 8 or dtype.hasobject:
        raise FormatError(f"{where}: holds {dtype}, expected real numbers (save with dtype float32)")
    return dtype


def as_floats(values: Array, where: str) -> Array:
    """Return float32 or float64 of the same values; integers that no float64 holds are refused."""
    if values.dtype.kind == "f":
        kept = np.dtype(np.float64 if values.dtype.itemsize == 8 else np.float32)
        return values.astype(kept, copy=False)
    if values.dtype.itemsize <= 2:
        return values.astype(np.float32)
    if values.dtype.itemsize == 8 and values.size:
        largest = max(abs(int(values.min())), abs(int(values.max())))
        if largest > _EXACT_INTEGERS:
            raise FormatError(f"{where}: holds the integer {largest}, expected scores of at most 2**53")
    return values.astype(np.float64)


def from_bfloat16(values: Array) -> Array:
    """Return the float32 of bfloat16 numbers that are held as uint16."""
    return (values.astype(np.uint32) << 16).view(np.float32)


@dataclass(frozen=True)
class HeldMatrix:
    """A matrix in memory."""

    where: str
    values: Array
    is_flipped: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return its shape."""
        return self.values.shape

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of rows."""
        rows = self.values.reshape(-1, self.values.shape[-1])
        for start in range(0, len(rows), n_rows):
            yield as_floats(rows[start : start + n_rows], self.where)


def held(where: str, values: Array) -> HeldMatrix:
    """Return an array in memory as a matrix.

    Raises:
        FormatError: its dtype is not one of real numbers.
    """
    check_dtype(where, values.dtype)
    return HeldMatrix(where, values)


def by_rows(matrix: Matrix) -> Matrix:
    """Return a matrix of two axes whose rows can be read one by one; a column-major one is read whole."""
    if not matrix.is_flipped:
        return matrix
    return HeldMatrix(matrix.where, np.ascontiguousarray(all_rows(matrix)))


def all_rows(matrix: Matrix) -> Array:
    """Return a whole matrix in memory, its first axis first."""
    rows = np.concatenate(list(matrix.blocks(rows_per_block(matrix))))
    return np.asarray(rows.T if matrix.is_flipped else rows)


@dataclass(frozen=True)
class FileMatrix:
    """A matrix in row-major order from byte `offset` of a file, or of an unpacked zip member.

    dtype: of the numbers, or uint16 with `is_bfloat16`. member: the zip member it is packed in.
    on_read: called with the number of bytes after each block.
    """

    where: str
    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_flipped: bool = False
    is_bfloat16: bool = False
    member: str | None = None
    on_read: Callable[[int], None] | None = None

    def watched(self, on_read: Callable[[int], None] | None) -> FileMatrix:
        """Return the matrix that reports its reading."""
        return replace(self, on_read=on_read)

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a row."""
        return self.shape[-1] * self.dtype.itemsize

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of rows."""
        total = n_rows_columns(self)[0]
        with self._open() as stream:
            for start in range(0, total, n_rows):
                yield self._read(stream, min(n_rows, total - start))

    def _open(self) -> BinaryIO:
        if self.member is not None:
            return open_member(self.path, self.member, self.offset)
        stream = self.path.open("rb", buffering=0)
        stream.seek(self.offset)
        return stream

    def _read(self, stream: BinaryIO, n_rows: int) -> Array:
        raw = _read_exactly(stream, n_rows * self.row_bytes, self.where)
        if self.on_read:
            self.on_read(len(raw))
        values = np.frombuffer(raw, dtype=self.dtype).reshape(n_rows, self.shape[-1])
        return from_bfloat16(values) if self.is_bfloat16 else as_floats(values, self.where)


def _read_exactly(stream: BinaryIO, n_bytes: int, where: str) -> memoryview:
    view, done = np.empty(n_bytes, dtype=np.uint8).data, 0
    while done < n_bytes:
        try:
            got = stream.readinto(view[done : done + (64 << 20)])  # type: ignore[attr-defined]
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise FormatError(f"{where}: damaged ({error}); copy it again from its source") from None
        if not got:
            raise FormatError(f"{where}: truncated while it was read; copy it again from its source")
        done += got
    return view


def open_member(path: Path, member: str, offset: int = 0) -> BinaryIO:
    """Return an open zip member, `offset` bytes in.

    Raises:
        FormatError: the member is encrypted, damaged, or of a kind of compression not known.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            stream = archive.open(member)
            stream.read(offset)
    except (OSError, EOFError, RuntimeError, ValueError, NotImplementedError, zlib.error) as error:
        raise FormatError(f"{path}: {member}: cannot be unpacked ({error}); save it again") from None
    except (zipfile.BadZipFile, KeyError) as error:
        raise FormatError(f"{path}: {member}: damaged zip ({error}); copy it again") from None
    return stream  # type: ignore[return-value]
