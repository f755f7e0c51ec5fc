"""Arrays that lie in files, mapped and not read until they are used, and matrices in blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
