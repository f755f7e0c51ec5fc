"""Safetensors: a length, a JSON header, then numbers; read in blocks, without the library."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import ArrayCollector, Arrays
from fire_toolkit.formats.runs.matrix import FileMatrix
from fire_toolkit.formats.runs.reader import RunReader

_MOST_HEADER = 16 << 20
_DTYPES = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"},
    **{"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2"},
    "U8": "u1",
}


def _sniff(start: bytes, path: Path) -> bool:
    return start[5:9] == b"\0\0\0{" and start[0:5] != bytes(5)


def read_safetensors(path: Path) -> Arrays:
    """Return the matrices of a safetensors file; they are read in blocks.

    Raises:
        FormatError: the header is damaged or larger than 16 MiB, a tensor lies beyond the file's end or has
            other bytes than its shape, or there is no matrix of real numbers.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(_MOST_HEADER, size - 8):
            raise FormatError(
                f"{path}: a header of {length:,} bytes in a file of {size:,}, expected at most "
                f"{_MOST_HEADER:,} and within the file; copy it again from its source"
            )
        raw = stream.read(length)
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError):
        raise FormatError(f"{path}: the header is not JSON; copy it again from its source") from None
    if not isinstance(header, dict):
        raise FormatError(f"{path}: the header is not a table of tensors; copy it again from its source")
    collector, others = ArrayCollector(str(path)), list[str]()
    for name, about in header.items():
        if name == "__metadata__":
            continue
        shape, dtype, offset = _checked(about, f"{path}: tensor {name[:60]!r}", size - 8 - length)
        if len(shape) in (2, 3) and dtype in _DTYPES:
            where, is_bfloat16 = f"{path}: {name}", dtype == "BF16"
            kind = np.dtype(_DTYPES[dtype])
            collector.matrices[name] = FileMatrix(
                where, path, 8 + length + offset, shape, kind, is_bfloat16=is_bfloat16
            )
        else:
            others.append(f"{name[:60]} ({dtype} of shape {list(shape)})")
    if not collector.matrices and others:
        raise FormatError(
            f"{path}: {'; '.join(others[:8])}; expected a matrix of F64, F32, F16, BF16 or whole numbers"
        )
    return collector.arrays()


def _checked(about: Any, where: str, n_bytes: int) -> tuple[tuple[int, ...], str, int]:
    about = about if isinstance(about, dict) else {}
    shape, dtype, places = (about.get(key) for key in ("shape", "dtype", "data_offsets"))
    if not (isinstance(dtype, str) and _are_sizes(shape) and _are_sizes(places) and len(places) == 2):
        raise FormatError(f"{where}: lacks dtype, shape or data_offsets; save the file again")
    first, last = places
    wanted = math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize if dtype in _DTYPES else last - first
    if last > n_bytes:
        raise FormatError(
            f"{where}: ends at byte {last:,} of {n_bytes:,} that the file has; truncated: copy it again"
        )
    if last - first != wanted or first > last:
        raise FormatError(
            f"{where}: {last - first:,} bytes, expected {wanted:,} of {dtype} with shape {shape}; save it "
            "again"
        )
    return tuple(shape), dtype, first


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


READER = RunReader(
    "safetensors",
    "a safetensors file",
    "begins with the length of a JSON header",
    _sniff,
    read_arrays=read_safetensors,
)
