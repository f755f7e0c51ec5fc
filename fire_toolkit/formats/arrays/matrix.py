"""Arrays that lie in files, mapped and not read until they are used, and matrices in blocks of rows.

Bytes of files and zip members are mapped where they lie as they are; no size that one claims is believed.
"""

import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.errors import FormatError

Array = npt.NDArray[Any]
BFLOAT16 = np.dtype([("bfloat16", "<u2")])  # numpy has no such type, so its bits stand for it
CHUNK_CELLS = 1 << 20
TURNED_CELLS = 1 << 25  # copied at once of a matrix whose rows do not lie together
_SMALL_BYTES = 256 << 20
_BOMB_BYTES, _BOMB_RATIO = 256 << 20, 200
_EXACT_INTEGERS = 2**53
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError, ValueError)


@contextmanager
def zip_opened(path: Path, where: str) -> Iterator[zipfile.ZipFile]:
    """Open a zip; what a damaged one raises becomes a FormatError of one line."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FormatError:
        raise
    except _ZIP_ERRORS as error:
        raise FormatError(f"{where}: damaged zip ({error}); copy it again from its source") from None


@dataclass(frozen=True)
class Raw:
    """The bytes of a file, or of a member of a zip; where: their name for errors."""

    where: str
    path: Path
    member: zipfile.ZipInfo | None = None

    def start(self, n_bytes: int) -> bytes:
        """Return the first bytes, fewer where there are no more."""
        if self.member is None:
            with self.path.open("rb") as stream:
                return stream.read(n_bytes)
        with zip_opened(self.path, self.where) as archive, archive.open(self.member) as stream:
            return stream.read(n_bytes)

    def all(self) -> Array:
        """Return all bytes, mapped but for packed members; the checksum of a member holds."""
        if self.member is None:
            return np.memmap(self.path, np.uint8, "r") if self.path.stat().st_size else np.empty(0, np.uint8)
        size, packed, at = self.member.file_size, self.member.compress_size, self.member.header_offset
        if size > _BOMB_BYTES and size > _BOMB_RATIO * max(1, packed):
            raise FormatError(
                f"{self.where}: {packed:,} bytes unpack to {size:,}: this looks like a zip bomb and is not "
                "read; if it is real, save it with numpy.savez or numpy.save"
            )
        with zip_opened(self.path, self.where) as archive, archive.open(self.member):  # checks the header
            if self.member.compress_type != zipfile.ZIP_STORED:
                return np.frombuffer(archive.read(self.member), np.uint8)
            whole = Raw(self.where, self.path).all()
            after_header = at + 30 + int(whole[at + 26 : at + 30].view("<u2").sum())  # a name, an extra field
            raw = whole[after_header : after_header + size]
            if size != packed or zlib.crc32(np.ascontiguousarray(raw).data) != self.member.CRC:
                raise ValueError("its checksum does not hold")
            return raw


@dataclass(frozen=True)
class Stored:
    """An array in a file, or one in memory.

    where: its name for errors. shape, dtype: as it was saved. source: where its bytes lie, or what gives its
    values. offset, strides: in bytes; is_fortran: whether its columns lie together.
    """

    where: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    source: Raw | Callable[[], Any]
    offset: int = 0
    strides: tuple[int, ...] | None = None
    is_fortran: bool = False

    @property
    def is_numbers(self) -> bool:
        """Return whether it holds real numbers."""
        return self.dtype.kind in "fiu" or self.dtype.names == BFLOAT16.names

    @property
    def is_in_file(self) -> bool:
        """Return whether another process can read it too."""
        return isinstance(self.source, Raw)

    def read(self) -> Any:
        """Return it as it lies.

        Raises:
            FormatError: the file has fewer bytes than it takes, or is damaged.
        """
        if not isinstance(self.source, Raw):
            return self.source()
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        raw, needed = self.source.all(), self.offset + math.prod(self.shape) * self.dtype.itemsize
        if self.strides is not None:
            steps = zip(self.shape, self.strides, strict=True)
            needed = self.offset + sum((n - 1) * step for n, step in steps) + self.dtype.itemsize
        if len(raw) < needed:
            raise FormatError(
                f"{self.where}: truncated: {len(raw):,} bytes, expected {needed:,} for shape {self.shape} of "
                f"{self.dtype}; copy it again"
            )
        order: Any = "F" if self.is_fortran else "C"
        return np.ndarray(self.shape, self.dtype, raw, self.offset, self.strides, order)

    def matrix(self) -> Array:
        """Return it, if it holds real numbers of up to 8 bytes.

        Raises:
            FormatError: it holds others, or is damaged.
        """
        if not self.is_numbers or self.dtype.itemsize > 8:
            raise FormatError(
                f"{self.where}: holds {self.dtype}, expected real numbers (save with dtype float32)"
            )
        return np.asarray(self.read())

    def values(self) -> Any:
        """Return a small array, of numbers, text or plain objects.

        Raises:
            FormatError: it is large, or damaged.
        """
        if math.prod(self.shape) * self.dtype.itemsize > _SMALL_BYTES:
            raise FormatError(
                f"{self.where}: unpacks to more than {_SMALL_BYTES:,} bytes, expected a small array"
            )
        values = self.read()
        return as_floats(values, self.where) if self.dtype.names == BFLOAT16.names else values


def held(values: Array, where: str) -> Stored:
    """Return an array in memory as those in files are."""
    return Stored(where, values.shape, values.dtype, lambda: values)


def as_floats(values: Array, where: str) -> Array:
    """Return a copy by rows, float32 or float64 of the same values; integers beyond 2**53 are refused."""
    if values.dtype.names == BFLOAT16.names:
        return (np.ascontiguousarray(values["bfloat16"], dtype=np.uint32) << 16).view(np.float32)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        largest = max(abs(int(values.min())), abs(int(values.max())))
        if largest > _EXACT_INTEGERS:
            raise FormatError(f"{where}: holds the integer {largest}, expected scores of at most 2**53")
    is_narrow = values.dtype.itemsize <= (4 if values.dtype.kind == "f" else 2)
    return np.array(values, dtype=np.float32 if is_narrow else np.float64, order="C")


def by_rows(values: Array) -> Array:
    """Return an array with all axes but the last as rows."""
    return values.reshape(math.prod(values.shape[:-1]), values.shape[-1])


def blocks_of(values: Array, where: str, on_read: Callable[[int], None] | None = None) -> Iterator[Array]:
    """Yield rows in order, about a million cells at a time, as float32 or float64.

    on_read: called with the number of bytes of each part that was read.
    """
    rows = by_rows(values)
    is_turned = abs(rows.strides[1]) > rows.itemsize
    step = max(1, (TURNED_CELLS if is_turned else CHUNK_CELLS) // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        if on_read:
            on_read(part.nbytes)
        yield from chunks_of(as_floats(part, where))


def chunks_of(rows: Array) -> Iterator[Array]:
    """Yield rows, about a million cells at a time."""
    step = max(1, CHUNK_CELLS // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
