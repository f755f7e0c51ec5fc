"""Masks that say which rows of a padded matrix are real."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, FileArray
from fire_toolkit.formats.runs.named_arrays import MASKS, as_mask, leaves_of
from fire_toolkit.formats.runs.readers import TREES, recognise


def read_mask(path: Path) -> Array:
    """Return the array of 0 and 1 in a file as flags, one per row (two axes are read row by row).

    It is the one that is named as a mask, else the only one.

    Raises:
        FormatError: the file holds no such array, or several.
    """
    reader = recognise(path)
    tree = TREES[reader.name](path) if reader.name in TREES else None
    leaves = dict(leaves_of(tree))
    named = [leaf for name, leaf in leaves.items() if name.lower() in MASKS]
    arrays = named[:1] or [leaf for leaf in leaves.values() if isinstance(leaf, FileArray | np.ndarray)]
    if not isinstance(tree, list) and len(arrays) != 1:
        raise FormatError(f"{path}: {reader.what} without a mask, expected one array of 0 and 1")
    found = tree if isinstance(tree, list) else arrays[0]
    return as_mask(found.values() if isinstance(found, FileArray) else found, str(path))
