"""Arrays in zip archives: nothing is unpacked to disk, and sizes are bounded."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.matrix import FileMatrix, open_member

ZIP_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = 30
_BOMB_BYTES = 256 << 20
_BOMB_RATIO = 200


def members(path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by name.

    Raises:
        FormatError: the archive is damaged, or has a name twice.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise FormatError(f"{path}: damaged zip ({error}); copy it again from its source") from None
    by_name = {info.filename: info for info in found}
    if len(by_name) < len(found):
        raise FormatError(f"{path}: the zip has two members of one name; save it again")
    return by_name


def member_bytes(path: Path, info: zipfile.ZipInfo, *, most: int) -> bytes:
    """Return the content of a small member.

    Raises:
        FormatError: it is damaged, or unpacks to more than `most` bytes.
    """
    with open_member(path, info.filename) as stream:
        content = _read(path, info, stream, most + 1)
    if len(content) > most:
        raise FormatError(f"{path}: {info.filename}: unpacks to more than {most:,} bytes, which is not read")
    return content


def member_start(path: Path, info: zipfile.ZipInfo, n_bytes: int) -> bytes:
    """Return the first `n_bytes` of a member, fewer when it is shorter."""
    with open_member(path, info.filename) as stream:
        return _read(path, info, stream, n_bytes)


def _read(path: Path, info: zipfile.ZipInfo, stream: Any, n_bytes: int) -> bytes:
    try:
        content: bytes = stream.read(n_bytes)
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
        raise FormatError(f"{path}: {info.filename}: damaged ({error}); copy it again") from None
    return content


def member_matrix(
    path: Path,
    info: zipfile.ZipInfo,
    *,
    offset: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    is_flipped: bool = False,
    is_bfloat16: bool = False,
) -> FileMatrix:
    """Return the matrix that begins `offset` bytes into a member; an uncompressed member is read in place.

    Raises:
        FormatError: the member is too short, or compressed so strongly that it looks like a zip bomb.
    """
    where = f"{path}: {info.filename}"
    n_bytes = math.prod(shape) * dtype.itemsize
    if info.file_size < offset + n_bytes:
        raise FormatError(
            f"{where}: truncated: {info.file_size:,} bytes, expected {offset + n_bytes:,} for shape {shape}"
        )
    if info.file_size > _BOMB_BYTES and info.file_size > _BOMB_RATIO * max(1, info.compress_size):
        raise FormatError(
            f"{where}: {info.compress_size:,} bytes unpack to {info.file_size:,}: this looks like "
            "a zip bomb and is not read; if it is real, save it with numpy.savez or numpy.save"
        )
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        return FileMatrix(where, path, offset, shape, dtype, is_flipped, is_bfloat16, info.filename)
    offset += _data_offset(path, info)
    if path.stat().st_size < offset + n_bytes:
        raise FormatError(f"{where}: truncated; copy it again from its source")
    return FileMatrix(where, path, offset, shape, dtype, is_flipped, is_bfloat16)


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    """Return the offset of an uncompressed member's bytes, after its local header."""
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(ZIP_MAGIC):
        raise FormatError(f"{path}: {info.filename}: damaged zip; copy it again from its source")
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return info.header_offset + _LOCAL_HEADER + name + extra
