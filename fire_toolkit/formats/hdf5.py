"""HDF5 files, where h5py is installed; nothing outside the file is followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays import Arrays, ArrayShelf
from fire_toolkit.formats.matrix import Array, Ints, as_floats, check_dtype
from fire_toolkit.formats.reader import RunReader

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_MOST_IDS = 10_000_000


def is_hdf5(start: bytes, path: Path) -> bool:
    """Whether the file begins as HDF5 does."""
    return start.startswith(HDF5_MAGIC)


@dataclass(frozen=True)
class Hdf5Matrix:
    """A dataset, opened anew for each reading."""

    where: str
    path: Path
    name: str
    shape: tuple[int, ...]
    is_flipped: bool = False

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of rows; of three axes, whole slices of the first."""
        step = n_rows if len(self.shape) == 2 else max(1, n_rows // self.shape[1])
        for start in range(0, self.shape[0], step):
            yield as_floats(self._get(slice(start, start + step)), self.where).reshape(-1, self.shape[-1])

    def pick(self, rows: Ints, columns: Ints) -> Array:
        """Return single cells."""
        found, start = np.empty(len(rows)), 0
        for block in self.blocks(4096):
            wanted = (rows >= start) & (rows < start + len(block))
            found[wanted] = block[rows[wanted] - start, columns[wanted]]
            start += len(block)
        return found

    def _get(self, part: slice) -> Array:
        with _open(self.path) as file:
            return np.asarray(_guarded(self.where, lambda: file[self.name][part]))


def read_hdf5(path: Path) -> Arrays:
    """Return the datasets of an HDF5 file by name.

    Raises:
        FormatError: h5py is not installed, the file is damaged, a dataset lies outside the file, or
            there is no matrix.
    """
    shelf = ArrayShelf(str(path))
    with _open(path) as file:
        found: list[tuple[str, Any]] = []
        _guarded(str(path), lambda: file.visititems(lambda name, item: found.append((name, item))))
        for name, item in found:
            if hasattr(item, "dtype"):
                _put(shelf, path, name, item)
    return shelf.arrays()


def _put(shelf: ArrayShelf, path: Path, name: str, dataset: Any) -> None:
    where = f"{path}: {name}"
    if dataset.is_virtual or dataset.external:
        raise FormatError(f"{where}: lies in another file, which is not followed; copy it into this one")
    if shelf.wants_matrix(name, len(dataset.shape or ()), dataset.dtype):
        check_dtype(where, dataset.dtype)
        shelf.put_matrix(name, Hdf5Matrix(where, path, name, tuple(dataset.shape)))
    elif shelf.wants_values(name) and dataset.size <= _MOST_IDS:
        shelf.put_tree(name, _guarded(where, lambda: dataset[()]))


def _open(path: Path) -> Any:
    try:
        h5py: Any = import_module("h5py")
    except ImportError:
        raise FormatError(f"{path}: an HDF5 file, which needs h5py: pip install h5py") from None
    return _guarded(str(path), lambda: h5py.File(path, "r"))


def _guarded(where: str, read: Any) -> Any:
    """Return what `read` returns; the library's own errors become one line."""
    try:
        return read()
    except FormatError:
        raise
    except Exception as error:  # h5py raises OSError, RuntimeError, KeyError, ValueError, TypeError
        raise FormatError(f"{where}: damaged HDF5 ({error}); copy it again from its source") from None


READER = RunReader("hdf5", "HDF5", "begins with \\x89HDF", is_hdf5, read_arrays=read_hdf5)
