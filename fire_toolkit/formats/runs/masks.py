"""Masks that say which rows of a padded matrix are real."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import MASKS
from fire_toolkit.formats.arrays.npy import NPY, read_values
from fire_toolkit.formats.arrays.pickle_files import READER as PICKLE
from fire_toolkit.formats.arrays.safe_pickle import load_plain
from fire_toolkit.formats.runs.matrix import Array
from fire_toolkit.formats.runs.readers import recognise

_PICKLE_BYTES = 256 << 20


def read_mask(path: Path) -> Array:
    """Return the only array of 0 and 1 in a file as flags, one per row (two axes are read row by row).

    Raises:
        FormatError: the file holds no such array, or several.
    """
    reader = recognise(path)
    if reader is NPY:
        values = np.asarray(read_values(path))
    elif reader is PICKLE:
        with path.open("rb") as stream:
            values = _in_pickle(load_plain(stream, max_bytes=_PICKLE_BYTES, where=str(path)), path)
    else:
        arrays = reader.read_arrays(path) if reader.read_arrays else None
        if arrays is None or (arrays.mask is None and len(arrays.matrices) != 1):
            raise FormatError(f"{path}: {reader.what} without a mask, expected one array of 0 and 1")
        if arrays.mask is not None:
            return arrays.mask
        matrix = next(iter(arrays.matrices.values()))
        values = np.concatenate(list(matrix.blocks(4096)))
    if not values.size or values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise FormatError(f"{path}: empty, or has values other than 0 and 1, expected a mask")
    return np.asarray(values.reshape(-1).astype(bool))


def _in_pickle(value: object, path: Path) -> Array:
    """Return the array itself, the one under a mask's name, or the only one in a dict."""
    if isinstance(value, dict):
        held = [inner for inner in value.values() if isinstance(inner, np.ndarray)]
        value = next((value[name] for name in MASKS if name in value), held[0] if len(held) == 1 else None)
    if not isinstance(value, np.ndarray | list):
        raise FormatError(f"{path}: a pickle without a mask, expected one array of 0 and 1")
    try:
        return np.asarray(value)
    except ValueError:
        raise FormatError(f"{path}: rows of different lengths, expected an array of 0 and 1") from None
