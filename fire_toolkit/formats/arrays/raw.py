"""Bytes of files and zip members, mapped where they lie as they are; no size that one claims is believed."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array

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
