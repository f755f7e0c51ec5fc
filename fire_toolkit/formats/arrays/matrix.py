"""Matrices read in blocks of rows, from an offset in a file, a zip member, or memory.

A file is read front to back; no memory map is used (a mapped matrix fills memory with its own pages and
reads slower).
"""

from __future__ import annotations

import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.pickles import load_plain

Array = npt.NDArray[Any]
T = TypeVar("T")

BLOCK_BYTES = 8 << 20
_EXACT_INTEGERS = 2**53
_SMALL_BYTES = _BOMB_BYTES = 256 << 20
_VIEW_BYTES = 1 << 30
_BOMB_RATIO = 200
_DAMAGED = (
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    KeyError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


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
class FileArray:
    """An array that lies in row-major order from byte `offset` of a file, or of an unpacked zip member.

    shape: as it lies; is_flipped: of the transpose of the array that was saved. dtype: of the numbers, or
    uint16 with `is_bfloat16`. member: the zip member it lies in. strides: in bytes, of a view that is neither
    row-major nor flipped. on_read: called with the number of bytes after each block.
    """

    where: str
    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_flipped: bool = False
    is_bfloat16: bool = False
    member: zipfile.ZipInfo | None = None
    strides: tuple[int, ...] | None = None
    on_read: Callable[[int], None] | None = None

    def watched(self, on_read: Callable[[int], None] | None) -> FileArray:
        """Return the array that reports its reading."""
        return replace(self, on_read=on_read)

    @property
    def n_bytes(self) -> int:
        """Return the bytes from its first number to its last."""
        if not self.strides or 0 in self.shape:
            return math.prod(self.shape) * self.dtype.itemsize
        steps = zip(self.shape, self.strides, strict=True)
        return sum((size - 1) * step for size, step in steps) + self.dtype.itemsize

    def as_matrix(self) -> FileArray:
        """Return it where it can be read in blocks of rows.

        Raises:
            FormatError: the file is too short, or packed so strongly that it looks like a zip bomb; a
                column-major array of three axes, or a view too large for memory.
        """
        size, needed = self.path.stat().st_size, self.offset + self.n_bytes
        if self.member is not None:
            size, packed = self.member.file_size, self.member.compress_size
            if size > _BOMB_BYTES and size > _BOMB_RATIO * max(1, packed):
                raise FormatError(
                    f"{self.where}: {packed:,} bytes unpack to {size:,}: this looks like a zip bomb and is "
                    "not read; if it is real, save it with numpy.savez or numpy.save"
                )
        if size < needed:
            raise FormatError(
                f"{self.where}: truncated: {size:,} bytes, expected {needed:,} for shape {self.shape} of "
                f"{self.dtype}; copy it again"
            )
        if self.is_flipped and len(self.shape) > 2:
            raise FormatError(
                f"{self.where}: column-major order of three axes; save numpy.ascontiguousarray of it"
            )
        if self.strides and math.prod(self.shape) * 8 > _VIEW_BYTES:
            raise FormatError(f"{self.where}: a tensor that is a view; save tensor.contiguous()")
        return self

    def values(self, most: int = _SMALL_BYTES) -> Any:
        """Return the whole of a small array as it was saved, of numbers, text or plain objects.

        Raises:
            FormatError: it has more than `most` bytes, or is damaged.
        """
        if self.dtype.hasobject:
            return load_plain(io.BytesIO(self.start(most + 1)), max_bytes=most, where=self.where)
        if self.n_bytes > most:
            raise FormatError(f"{self.where}: unpacks to more than {most:,} bytes, expected a small array")
        with self._open() as stream:
            raw = _read_exactly(stream, self.n_bytes, self.where)
        values: Array = np.ndarray(self.shape, self.dtype, raw, strides=self.strides)
        values = from_bfloat16(values) if self.is_bfloat16 else values
        return values.T if self.is_flipped else values

    def start(self, n_bytes: int) -> bytes:
        """Return its first bytes, fewer where it is shorter."""
        with self._open() as stream:
            return bytes(_guarded(lambda: stream.read(n_bytes), self.where))

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of rows."""
        if self.strides:
            yield from HeldMatrix(self.where, self.values(_VIEW_BYTES)).blocks(n_rows)
            return
        total, width = n_rows_columns(self)
        with self._open() as stream:
            for start in range(0, total, n_rows):
                shape = min(n_rows, total - start), width
                raw = _read_exactly(stream, math.prod(shape) * self.dtype.itemsize, self.where)
                if self.on_read:
                    self.on_read(len(raw))
                values: Array = np.ndarray(shape, self.dtype, raw)
                yield from_bfloat16(values) if self.is_bfloat16 else as_floats(values, self.where)

    def _open(self) -> BinaryIO:
        if self.member is not None:
            return open_member(self.path, self.member, self.offset)
        stream = self.path.open("rb", buffering=0)
        stream.seek(self.offset)
        return stream


def _guarded(read: Callable[[], T], where: str) -> T:
    """Return what `read` does; what a damaged zip makes of it becomes a FormatError of one line."""
    try:
        return read()
    except _DAMAGED as error:
        raise FormatError(f"{where}: damaged ({error}); copy it again from its source") from None


def _read_exactly(stream: BinaryIO, n_bytes: int, where: str) -> memoryview:
    view, done = np.empty(n_bytes, dtype=np.uint8).data, 0
    while done < n_bytes:
        part = view[done : done + (64 << 20)]
        got = _guarded(lambda: stream.readinto(part), where)  # type: ignore[attr-defined]  # noqa: B023
        if not got:
            raise FormatError(f"{where}: truncated; copy it again from its source")
        done += got
    return view


def open_member(path: Path, member: zipfile.ZipInfo, offset: int = 0) -> BinaryIO:
    """Return an open zip member, `offset` bytes in.

    Raises:
        FormatError: the member is encrypted, damaged, or of a kind of compression not known.
    """

    def opened() -> BinaryIO:
        with zipfile.ZipFile(path) as archive:
            stream = archive.open(member)
            stream.seek(offset)
        return stream  # type: ignore[return-value]

    return _guarded(opened, f"{path}: {member.filename}")
