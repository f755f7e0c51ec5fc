"""Arrays that lie in files, mapped and not read until they are used, and matrices in blocks of rows.

Bytes of files and zip members are mapped where they lie as they are; no size that one claims is believed.
"""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
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
_EXACT_INTEGERS = 2**53


@dataclass(frozen=True)
class Stored:
    """An array in a file, or one that was held by a pickle.

    where: its name for errors. shape, dtype: as it was saved. read: maps it, or unpacks it into memory.
    """

    where: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], Any]

    @property
    def is_numbers(self) -> bool:
        """Return whether it holds real numbers."""
        return self.dtype.kind in "fiu" or self.dtype.names == BFLOAT16.names

    @property
    def is_in_file(self) -> bool:
        """Return whether another process can read it too, as those cannot that a pickle held."""
        return isinstance(self.read, partial)

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
    held = max(1, (TURNED_CELLS if is_turned else CHUNK_CELLS) // max(1, rows.shape[1]))
    for start in range(0, len(rows), held):
        part = rows[start : start + held]
        if on_read:
            on_read(part.nbytes)
        yield from chunks_of(as_floats(part, where))


def chunks_of(rows: Array) -> Iterator[Array]:
    """Yield rows, about a million cells at a time."""
    step = max(1, CHUNK_CELLS // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


_BOMB_BYTES, _BOMB_RATIO = 256 << 20, 200
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(OSError, EOFError, RuntimeError, ValueError),
)


@contextmanager
def _zip_errors(where: str, what: str = "damaged") -> Iterator[None]:
    """Make a FormatError of one line of what a damaged zip raises."""
    try:
        yield
    except FormatError:
        raise
    except _ZIP_ERRORS as error:
        raise FormatError(f"{where}: {what} ({error}); copy it again from its source") from None


def members_of(path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the members of a zip by name; FormatError where it is damaged, or has a name twice."""
    with _zip_errors(str(path), "damaged zip"), zipfile.ZipFile(path) as archive:
        found = archive.infolist()
    by_name = {info.filename: info for info in found}
    if len(by_name) < len(found):
        raise FormatError(f"{path}: the zip has two members of one name; save it again")
    return by_name


def start_of_member(path: Path, member: zipfile.ZipInfo, n_bytes: int) -> bytes:
    """Return the first bytes of a zip member, fewer where it is shorter."""
    with (
        _zip_errors(f"{path}: {member.filename}"),
        zipfile.ZipFile(path) as archive,
        archive.open(member) as stream,
    ):
        return stream.read(n_bytes)


def mapped(path: Path) -> Array:
    """Return the bytes of a file, which are read where they are looked at."""
    return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)


def unpacked(path: Path, member: zipfile.ZipInfo, where: str) -> Array:
    """Return the bytes of a zip member, whose checksum holds: mapped where they are stored as they are."""
    size, packed = member.file_size, member.compress_size
    if size > _BOMB_BYTES and size > _BOMB_RATIO * max(1, packed):
        raise FormatError(
            f"{where}: {packed:,} bytes unpack to {size:,}: this looks like a zip bomb and is not read; if "
            "it is real, save it with numpy.savez or numpy.save"
        )
    with _zip_errors(where), zipfile.ZipFile(path) as archive, archive.open(member):  # checks the header
        if member.compress_type != zipfile.ZIP_STORED:
            return np.frombuffer(archive.read(member), np.uint8)
        whole, at = mapped(path), member.header_offset
        first = (
            at + 30 + int(whole[at + 26 : at + 30].view("<u2").sum())
        )  # after the name and the extra field
        raw = whole[first : first + size]
        if len(raw) < size or size != packed or zlib.crc32(np.ascontiguousarray(raw).data) != member.CRC:
            raise FormatError(f"{where}: damaged (its checksum does not hold); copy it again from its source")
        return raw


def view(
    raw_of: Callable[[], Array],
    where: str,
    offset: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    strides: tuple[int, ...] | None = None,
    is_fortran: bool = False,
) -> Array:
    """Return an array that lies in bytes, as they are.

    Raises:
        FormatError: there are fewer bytes than it takes.
    """
    raw, size = raw_of(), dtype.itemsize
    to_last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if strides else None
    needed = offset + (math.prod(shape) * size if to_last is None else to_last + size)
    if 0 in shape:
        return np.empty(shape, dtype)
    if len(raw) < needed:
        raise FormatError(
            f"{where}: truncated: {len(raw):,} bytes, expected {needed:,} for shape {shape} of {dtype}; "
            "copy it again"
        )
    order: Any = "F" if is_fortran else "C"
    return np.ndarray(shape, dtype, raw, offset, strides, order)
