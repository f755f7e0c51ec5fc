"""Matrices of numbers as they lie in files, and their rows in blocks."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.errors import FormatError

Array = npt.NDArray[Any]
BFLOAT16 = np.dtype([("bfloat16", "<u2")])  # numpy has no such type, so its bits stand for it
CHUNK_CELLS = 1 << 20
TURNED_CELLS = 1 << 25  # copied at once of a matrix whose rows do not lie together
_EXACT_INTEGERS = 2**53


def is_numbers(values: Array) -> bool:
    """Return whether an array holds real numbers of up to 8 bytes."""
    return (values.dtype.kind in "fiu" and values.itemsize <= 8) or values.dtype.names == BFLOAT16.names


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
