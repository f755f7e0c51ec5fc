"""Masks: which rows of a matrix with padding are real."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.matrix import Array
from fire_toolkit.formats.npy import NPY, read_values
from fire_toolkit.formats.readers import recognise


def read_mask(path: Path) -> Array:
    """Return the one array of 0 and 1 in a file as flags, one a row (of two axes: row by row).

    Raises:
        FormatError: the file holds no such array, or several.
    """
    reader = recognise(path)
    if reader is NPY:
        values = np.asarray(read_values(path))
    else:
        arrays = reader.read_arrays(path) if reader.read_arrays else None
        if arrays is None or (arrays.mask is None and len(arrays.matrices) != 1):
            raise FormatError(f"{path}: {reader.what} without a mask, expected one array of 0 and 1")
        if arrays.mask is not None:
            return arrays.mask
        matrix = next(iter(arrays.matrices.values()))
        values = np.concatenate(list(matrix.blocks(4096)))
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise FormatError(f"{path}: holds other values than 0 and 1, expected a mask")
    return np.asarray(values.reshape(-1).astype(bool))
