"""NumPy's `.npy` and `.npz`: NumPy reads the header; numbers are read in blocks, objects as plain data."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import ArrayCollector, Arrays
from fire_toolkit.formats.arrays.safe_pickle import load_plain
from fire_toolkit.formats.arrays.zips import ZIP_MAGIC, member_bytes, member_matrix, member_start, members
from fire_toolkit.formats.runs.matrix import FileMatrix, check_dtype
from fire_toolkit.formats.runs.reader import RunReader, begins

NPY_MAGIC = b"\x93NUMPY"
_HEADER_BYTES = 12 + 65_536
_SMALL_BYTES = 256 << 20
# The third version differs from the second in the names of records, which are not scores.
_FORMAT: Any = npy_format
_FIRST, _SECOND = _FORMAT.read_array_header_1_0, _FORMAT.read_array_header_2_0
_HEADERS = {(1, 0): _FIRST, (2, 0): _SECOND, (3, 0): _SECOND}


@dataclass(frozen=True)
class Header:
    """A `.npy` header: shape, dtype, column-major or not, and the offset of the data."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    length: int


def parse_header(start: bytes, where: str) -> Header:
    """Return the header at the beginning of `.npy` bytes.

    Raises:
        FormatError: it is not a valid header, or the array has records.
    """
    stream = io.BytesIO(start)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 2 wrote sizes as 5L
            shape, is_fortran, dtype = _HEADERS[_FORMAT.read_magic(stream)](stream)
    except Exception:  # a header is a Python literal and a dtype's name, which fail in many ways
        raise FormatError(f"{where}: damaged .npy header; save it again with numpy.save") from None
    if dtype.names is not None:
        raise FormatError(f"{where}: an array of records, expected real numbers (save with dtype float32)")
    if dtype.kind not in "biufcSUOV" or dtype.subdtype is not None:
        raise FormatError(f"{where}: holds {dtype}, expected real numbers (save with dtype float32)")
    n_values = math.prod(shape)
    if len(shape) > 32 or min(shape, default=0) < 0 or n_values * max(1, dtype.itemsize) > 2**62:
        raise FormatError(f"{where}: damaged .npy header (shape {shape}); save it again with numpy.save")
    return Header(shape, dtype, is_fortran, stream.tell())


def read_npy(path: Path) -> Arrays:
    """Return the array of a `.npy` file without reading it; a column-major one is flipped.

    Raises:
        FormatError: the file is damaged or truncated, or not two or three axes of real numbers.
    """
    with path.open("rb") as stream:
        header = parse_header(stream.read(_HEADER_BYTES), str(path))
    if header.dtype.hasobject:
        collector = ArrayCollector(str(path))
        collector.put_tree("", _objects(path.read_bytes()[header.length :], str(path)))
        return collector.arrays()
    check_dtype(str(path), header.dtype)
    if len(header.shape) not in (2, 3):
        raise FormatError(
            f"{path}: an array of {len(header.shape)} axes (shape {header.shape}), expected scores of "
            "queries × docs, or video × caption × video"
        )
    needed = math.prod(header.shape) * header.dtype.itemsize + header.length
    found = path.stat().st_size
    if found < needed:
        raise FormatError(
            f"{path}: truncated: {found} bytes, expected {needed} for shape {header.shape} of {header.dtype}"
            "; copy it again"
        )
    shape, is_flipped = _row_major(header, str(path))
    return Arrays({"": FileMatrix(str(path), path, header.length, shape, header.dtype, is_flipped)})


def read_values(path: Path) -> Any:
    """Return the whole array of a small `.npy` file, of booleans, numbers, text or plain objects.

    Raises:
        FormatError: damaged, or larger than 256 MiB.
    """
    with path.open("rb") as stream:
        content = stream.read(_SMALL_BYTES + 1)
    if len(content) > _SMALL_BYTES:
        raise FormatError(f"{path}: more than {_SMALL_BYTES:,} bytes, expected a small array")
    return _values(content, parse_header(content[:_HEADER_BYTES], str(path)), str(path))


def named_values(path: Path, names: Sequence[str]) -> Any:
    """Return the small array of an `.npz` under the first of `names` that it has; else its only array.

    Raises:
        FormatError: it has none of the names and several arrays, is damaged, or larger than 256 MiB.
    """
    by_name = {
        name.removesuffix(".npy"): info for name, info in members(path).items() if name.endswith(".npy")
    }
    found = [by_name[name] for name in names if name in by_name] or list(by_name.values())
    if len(found) != 1 and not any(name in by_name for name in names):
        raise FormatError(f"{path}: no {names[0]}; found {', '.join(by_name) or 'no array'}")
    where = f"{path}: {found[0].filename.removesuffix('.npy')}"
    content = member_bytes(path, found[0], most=_SMALL_BYTES)
    return _values(content, parse_header(content[:_HEADER_BYTES], where), where)


def _row_major(header: Header, where: str) -> tuple[tuple[int, ...], bool]:
    if not header.is_fortran or len(header.shape) < 2:
        return header.shape, False
    if len(header.shape) > 2:
        raise FormatError(f"{where}: column-major order of three axes; save numpy.ascontiguousarray of it")
    return header.shape[::-1], True


def is_npz(start: bytes, path: Path) -> bool:
    """Whether the file is a zip with `.npy` members."""
    if not start.startswith((ZIP_MAGIC, b"PK\x05\x06")):
        return False
    return not any(name.endswith("data.pkl") for name in members(path))


def read_npz(path: Path) -> Arrays:
    """Return the arrays of an `.npz` file by name; ids and masks are read, matrices only when needed.

    Raises:
        FormatError: damaged, or no matrix in it.
    """
    collector = ArrayCollector(str(path))
    for name, info in members(path).items():
        if name.endswith(".npy"):
            _put_member(collector, path, name.removesuffix(".npy"), info)
    return collector.arrays()


def _put_member(collector: ArrayCollector, path: Path, name: str, info: zipfile.ZipInfo) -> None:
    where = f"{path}: {name}"
    header = parse_header(member_start(path, info, _HEADER_BYTES), where)
    if collector.wants_matrix(name, len(header.shape), header.dtype):
        shape, is_flipped = _row_major(header, where)
        collector.matrices[name] = member_matrix(
            path, info, offset=header.length, shape=shape, dtype=header.dtype, is_flipped=is_flipped
        )
    elif collector.wants_values(name):
        content = member_bytes(path, info, most=_SMALL_BYTES)
        collector.put_tree(name, _values(content, header, where))


def _values(content: bytes, header: Header, where: str) -> Any:
    body = content[header.length :]
    if header.dtype.hasobject:
        return _objects(body, where)
    n_values = math.prod(header.shape)
    if header.dtype.itemsize == 0 or len(body) < n_values * header.dtype.itemsize:
        raise FormatError(f"{where}: truncated; copy it again from its source")
    values = np.frombuffer(body, dtype=header.dtype, count=n_values)
    return values.reshape(header.shape, order="F" if header.is_fortran else "C")


def _objects(pickled: bytes, where: str) -> Any:
    return load_plain(io.BytesIO(pickled), max_bytes=_SMALL_BYTES, where=where)


NPZ = RunReader("npz", "NumPy arrays, .npz", "a zip without data.pkl", is_npz, read_arrays=read_npz)
NPY = RunReader(
    "npy", "a NumPy array, .npy", "begins with \\x93NUMPY", begins(NPY_MAGIC), read_arrays=read_npy
)
