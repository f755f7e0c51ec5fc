"""Files of `torch.save`, read with NumPy alone: a zip with a pickle that says where each tensor lies.

The pickle is read as data (see `safe_pickle`); tensors stay in the file until they are asked for.
"""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import ArrayCollector, Arrays
from fire_toolkit.formats.arrays.safe_pickle import load_plain
from fire_toolkit.formats.arrays.torch_tensors import (
    GATHER_BYTES,
    PICKLE_BYTES,
    TENSOR_BUILDERS,
    Storage,
    Tensor,
    gathered,
    layout_of,
    storage_of,
)
from fire_toolkit.formats.arrays.zips import ZIP_MAGIC, member_bytes, member_matrix, members
from fire_toolkit.formats.runs.matrix import Array, HeldMatrix, Matrix
from fire_toolkit.formats.runs.reader import RunReader

_BEFORE_1_6 = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # a number of torch's own, pickled


def is_torch(start: bytes, path: Path) -> bool:
    """Whether the file is a zip with a `data.pkl`, or begins as files of torch before 1.6 do."""
    if _BEFORE_1_6 in start[:32]:
        return True
    return start.startswith(ZIP_MAGIC) and any(_is_pickle(name) for name in members(path))


def _is_pickle(name: str) -> bool:
    return name.rpartition("/")[2] == "data.pkl"


def read_torch(path: Path) -> Arrays:
    """Return the tensors of a file by the path of keys they have (`test/sims`), unread where large.

    float32, float16, bfloat16, float64 and integer tensors are read, of the zip format that torch writes
    since 1.6. A program's settings (argparse.Namespace) beside them are left out.

    Raises:
        FormatError: the file is damaged, refers to anything but tensors, arrays and plain values, or holds
            no tensor of two or three axes; or it is of torch before 1.6.
    """
    with path.open("rb") as stream:
        if _BEFORE_1_6 in stream.read(32):
            raise FormatError(
                f"{path}: a file of torch before 1.6; save it again with a newer torch: "
                "torch.save(torch.load(path), path)"
            )
    archive = members(path)
    pickles = [name for name in archive if _is_pickle(name)]
    if len(pickles) != 1:
        raise FormatError(f"{path}: {len(pickles)} data.pkl in one file, expected one; save it again")
    folder = pickles[0].removesuffix("data.pkl")
    value = load_plain(
        io.BytesIO(member_bytes(path, archive[pickles[0]], most=PICKLE_BYTES)),
        max_bytes=PICKLE_BYTES,
        where=str(path),
        builders=TENSOR_BUILDERS,
        persistent=storage_of,
    )
    order = "<"
    if f"{folder}byteorder" in archive:
        order = ">" if member_bytes(path, archive[f"{folder}byteorder"], most=16).strip() == b"big" else "<"
    reader = _TensorReader(path, archive, folder, order, ArrayCollector(str(path)))
    reader.fill("", value)
    return reader.collector.arrays()


@dataclass(frozen=True)
class _TensorReader:
    """Puts the tensors of a loaded value into a collector; their storages are members of the zip."""

    path: Path
    archive: dict[str, zipfile.ZipInfo]
    folder: str
    order: str
    collector: ArrayCollector

    def fill(self, name: str, value: Any) -> None:
        """Put a value, or what lies in nested dicts and lists, by the path of keys."""
        if isinstance(value, dict):
            for key, inner in value.items():
                self.fill(f"{name}/{key}" if name else str(key), inner)
        elif isinstance(value, list | tuple) and any(isinstance(item, Tensor | dict) for item in value):
            for place, inner in enumerate(value[:64]):
                self.fill(f"{name}/{place}" if name else str(place), inner)
        elif not isinstance(value, Tensor):
            self.collector.put_tree(name, value)
        elif self.collector.wants_matrix(name, len(value.shape), np.dtype(value.storage.dtype)):
            self.collector.put_matrix(name, self._matrix(value))
        elif self.collector.wants_values(name):
            self.collector.put_tree(name, self._values(value))

    def _member(self, storage: Storage) -> zipfile.ZipInfo:
        member = self.archive.get(f"{self.folder}data/{storage.key}")
        if member is None:
            raise FormatError(
                f"{self.path}: no data/{storage.key[:40]} in the file; copy it again from its source"
            )
        return member

    def _matrix(self, tensor: Tensor) -> Matrix:
        member, layout = self._member(tensor.storage), layout_of(tensor)
        if layout == "view":
            return HeldMatrix(f"{self.path}: {member.filename}", self._values(tensor))
        dtype = tensor.storage.in_order(self.order)
        return member_matrix(
            self.path,
            member,
            offset=tensor.offset * dtype.itemsize,
            shape=tensor.shape[::-1] if layout == "columns" else tensor.shape,
            dtype=dtype,
            is_flipped=layout == "columns",
            is_bfloat16=tensor.storage.is_bfloat16,
        )

    def _values(self, tensor: Tensor) -> Array:
        """Return a tensor as an array in memory."""
        member = self._member(tensor.storage)
        where = f"{self.path}: {member.filename}"
        if math.prod(tensor.shape) * 8 > GATHER_BYTES:
            raise FormatError(f"{where}: a tensor that is a view; save tensor.contiguous()")
        return gathered(tensor, member_bytes(self.path, member, most=GATHER_BYTES), self.order, where)


READER = RunReader(
    "torch",
    "a file of torch.save",
    "a zip with data.pkl",
    is_torch,
    read_arrays=read_torch,
)
