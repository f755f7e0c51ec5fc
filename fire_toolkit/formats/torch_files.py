"""Files of `torch.save`, read with NumPy alone: a zip with a pickle that says where each tensor lies.

The pickle is read as data (see `safe_pickle`); tensors stay in the file until they are asked for.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays import Arrays, ArrayShelf
from fire_toolkit.formats.matrix import HeldMatrix, as_floats
from fire_toolkit.formats.pickle_builders import Builder, Name, Refused
from fire_toolkit.formats.reader import RunReader
from fire_toolkit.formats.safe_pickle import load_plain
from fire_toolkit.formats.zips import ZIP_MAGIC, member_bytes, member_matrix, members

_PICKLE_BYTES = 64 << 20
_GATHER_BYTES = 1 << 30
_LEGACY_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "u2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "b1",
}


@dataclass(frozen=True)
class _Storage:
    dtype: str
    is_bfloat16: bool
    key: str
    n_values: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def is_torch(start: bytes, path: Path) -> bool:
    """Whether the file is a zip with a `data.pkl`, or begins as old torch files do."""
    if _LEGACY_MAGIC in start[:32]:
        return True
    return start.startswith(ZIP_MAGIC) and any(_is_pickle(name) for name in members(path))


def _is_pickle(name: str) -> bool:
    return name.rpartition("/")[2] == "data.pkl"


def read_torch(path: Path) -> Arrays:
    """Return the tensors of a file by the path of keys they have (`test/sims`), unread where large.

    float32, float16, bfloat16, float64 and integer tensors are read.

    Raises:
        FormatError: the file is damaged, refers to anything but tensors, arrays and plain values, is
            of torch before 1.6, or holds no tensor of two or three axes.
    """
    with path.open("rb") as stream:
        if _LEGACY_MAGIC in stream.read(32):
            raise FormatError(f"{path}: the format of torch before 1.6; load and save it with a newer torch")
    archive = members(path)
    pickles = [name for name in archive if _is_pickle(name)]
    if len(pickles) != 1:
        raise FormatError(f"{path}: {len(pickles)} data.pkl in one file, expected one; save it again")
    folder = pickles[0].removesuffix("data.pkl")
    value = load_plain(
        io.BytesIO(member_bytes(path, archive[pickles[0]], most=_PICKLE_BYTES)),
        max_bytes=_PICKLE_BYTES,
        where=str(path),
        builders=_BUILDERS,
        persistent=_storage,
    )
    order = "<"
    if f"{folder}byteorder" in archive:
        order = ">" if member_bytes(path, archive[f"{folder}byteorder"], most=16).strip() == b"big" else "<"
    shelf = ArrayShelf(str(path))
    _Filler(path, archive, folder, order, shelf).fill("", value)
    return shelf.arrays()


def _storage(reference: object) -> _Storage:
    if not isinstance(reference, tuple) or len(reference) != 5 or reference[0] != "storage":
        raise Refused("refers to something outside the file, expected tensors")
    kind, key, n_values = reference[1], reference[2], reference[4]
    name = kind.name.removeprefix("torch.") if isinstance(kind, Name) else ""
    if name not in _STORAGES:
        raise Refused(f"a tensor of {name or 'an unknown kind'}, expected floats or integers")
    if not isinstance(key, str) or not _is_size(n_values):
        raise Refused("a tensor without a place in the file")
    return _Storage(_STORAGES[name], name == "BFloat16Storage", key, n_values)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**60


def _tensor(storage: object, offset: object, shape: object, stride: object, *more: object) -> _Tensor:
    if any(isinstance(said, dict) and (said.get("neg") or said.get("conj")) for said in more[2:]):
        raise Refused("a tensor that is a negative or conjugate view; save tensor.resolve_neg()")
    if not isinstance(storage, _Storage) or not _is_size(offset):
        raise Refused("a tensor without its storage")
    if not (isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride) <= 16):
        raise Refused("a tensor without a shape")
    if not all(map(_is_size, (*shape, *stride))):
        raise Refused(f"a tensor of shape {shape} and stride {stride}, expected sizes of 0 or more")
    tensor = _Tensor(storage, int(offset), shape, stride)  # type: ignore[call-overload]
    if math.prod(shape) and _last(tensor) >= storage.n_values:
        raise Refused(f"a tensor of shape {shape} beyond its {storage.n_values:,} values")
    return tensor


def _last(tensor: _Tensor) -> int:
    steps = zip(tensor.shape, tensor.stride, strict=True)
    return tensor.offset + sum((size - 1) * step for size, step in steps)


def _parameter(tensor: object, *_: object) -> object:
    return tensor


def _size(shape: object = ()) -> object:
    return shape


_BUILDERS: Mapping[str, Builder] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": _size,
}


@dataclass(frozen=True)
class _Filler:
    """Puts the tensors of a loaded value on a shelf."""

    path: Path
    archive: dict[str, zipfile.ZipInfo]
    folder: str
    order: str
    shelf: ArrayShelf

    def fill(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self.fill(f"{name}/{key}" if name else str(key), inner)
        elif isinstance(value, list | tuple) and any(isinstance(item, _Tensor | dict) for item in value):
            for place, inner in enumerate(value[:64]):
                self.fill(f"{name}/{place}" if name else str(place), inner)
        elif not isinstance(value, _Tensor):
            self.shelf.put_tree(name, value)
        elif self.shelf.wants_matrix(name, len(value.shape), np.dtype(value.storage.dtype)):
            self.shelf.put_matrix(name, self._matrix(value))
        elif self.shelf.wants_values(name):
            self.shelf.put_tree(name, self._gathered(value))

    def _member(self, tensor: _Tensor) -> tuple[zipfile.ZipInfo, np.dtype[Any]]:
        member = self.archive.get(f"{self.folder}data/{tensor.storage.key}")
        if member is None:
            key = tensor.storage.key[:40]
            raise FormatError(f"{self.path}: no data/{key} in the file; copy it again from its source")
        return member, np.dtype(tensor.storage.dtype).newbyteorder("<" if self.order == "<" else ">")

    def _matrix(self, tensor: _Tensor) -> Any:
        member, dtype = self._member(tensor)
        is_flipped = len(tensor.shape) == 2 and tensor.stride == (1, tensor.shape[0]) and tensor.shape[1] > 1
        shape = tensor.shape[::-1] if is_flipped else tensor.shape
        if not is_flipped and not _is_row_major(tensor):
            values = self._gathered(tensor)
            return HeldMatrix(f"{self.path}: {member.filename}", values)
        return member_matrix(
            self.path,
            member,
            offset=tensor.offset * dtype.itemsize,
            shape=shape,
            dtype=dtype,
            is_flipped=is_flipped,
            is_bfloat16=tensor.storage.is_bfloat16,
        )

    def _gathered(self, tensor: _Tensor) -> Any:
        """Return a tensor of any strides as an array in memory, of no more than its storage holds."""
        member, dtype = self._member(tensor)
        n_values = math.prod(tensor.shape)
        if n_values * 8 > _GATHER_BYTES:
            raise FormatError(f"{self.path}: a tensor that is a view; save tensor.contiguous()")
        content = member_bytes(self.path, member, most=_GATHER_BYTES)
        values = np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype=dtype)
        if n_values and _last(tensor) >= len(values):
            raise FormatError(f"{self.path}: {member.filename}: cut off; copy it again from its source")
        places = np.array(tensor.offset, dtype=np.int64)
        for size, step in zip(tensor.shape, tensor.stride, strict=True):
            places = places[..., None] + np.arange(size, dtype=np.int64) * step
        picked = values[places]
        if tensor.storage.is_bfloat16:
            return (picked.astype(np.uint32) << 16).view(np.float32)
        return picked if picked.dtype.kind in "biu" else as_floats(picked, str(self.path))


def _is_row_major(tensor: _Tensor) -> bool:
    step = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


READER = RunReader("torch", "a file of torch.save", "a zip with data.pkl", is_torch, read_arrays=read_torch)
