"""Files of `torch.save`, read without torch: a zip with a pickle that says where each tensor is.

The pickle is read as data (see `safe_pickle`); tensors stay in the file until they are needed.
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
from fire_toolkit.formats.arrays.arrays import ArrayCollector, Arrays
from fire_toolkit.formats.arrays.pickle_builders import Builder, Name, Refused
from fire_toolkit.formats.arrays.safe_pickle import load_plain
from fire_toolkit.formats.arrays.zips import ZIP_MAGIC, member_bytes, member_matrix, members
from fire_toolkit.formats.runs.matrix import Array, HeldMatrix, Matrix, as_floats, from_bfloat16
from fire_toolkit.formats.runs.reader import RunReader

_BEFORE_1_6 = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # a number of torch's own, pickled
_PICKLE_BYTES = 64 << 20
_GATHER_BYTES = 1 << 30
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


def is_torch(start: bytes, path: Path) -> bool:
    """Whether the file is a zip with a `data.pkl`, or begins like a file of torch before 1.6."""
    if _BEFORE_1_6 in start[:32]:
        return True
    return start.startswith(ZIP_MAGIC) and any(_is_pickle(name) for name in members(path))


def _is_pickle(name: str) -> bool:
    return name.rpartition("/")[2] == "data.pkl"


def read_torch(path: Path) -> Arrays:
    """Return the tensors of a file by their path of keys (`test/sims`); large ones are not read yet.

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
        io.BytesIO(member_bytes(path, archive[pickles[0]], most=_PICKLE_BYTES)),
        max_bytes=_PICKLE_BYTES,
        where=str(path),
        builders=_TENSOR_BUILDERS,
        persistent=_storage_of,
    )
    order = "<"
    if f"{folder}byteorder" in archive:
        order = ">" if member_bytes(path, archive[f"{folder}byteorder"], most=16).strip() == b"big" else "<"
    tensors = _TensorCollector(str(path), path=path, archive=archive, folder=folder, order=order)
    tensors.put_tree("", value)
    return tensors.arrays()


@dataclass(kw_only=True)
class _TensorCollector(ArrayCollector):
    """Collects tensors too; their storages are members of the zip."""

    path: Path
    archive: dict[str, zipfile.ZipInfo]
    folder: str
    order: str

    def put_tree(self, name: str, value: Any) -> None:
        """Add a value, or everything in nested dicts and lists, by its path of keys."""
        if not isinstance(value, Tensor):
            super().put_tree(name, value)
        elif self.wants_matrix(name, len(value.shape), np.dtype(value.storage.dtype)):
            self.matrices[name] = self._matrix(value)
        elif self.wants_values(name):
            super().put_tree(name, self._values(value))

    def _member(self, storage: Storage) -> zipfile.ZipInfo:
        member = self.archive.get(f"{self.folder}data/{storage.key}")
        if member is None:
            raise FormatError(
                f"{self.path}: no data/{storage.key[:40]} in the file; copy it again from its source"
            )
        return member

    def _matrix(self, tensor: Tensor) -> Matrix:
        member, layout = self._member(tensor.storage), _layout_of(tensor)
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
        if math.prod(tensor.shape) * 8 > _GATHER_BYTES:
            raise FormatError(f"{where}: a tensor that is a view; save tensor.contiguous()")
        return _gathered(tensor, member_bytes(self.path, member, most=_GATHER_BYTES), self.order, where)


@dataclass(frozen=True)
class Storage:
    """A sequence of numbers that tensors share: its dtype, its name in the file, and its length."""

    dtype: str
    is_bfloat16: bool
    key: str
    n_values: int

    def in_order(self, order: str) -> np.dtype[Any]:
        """Return the dtype in a byte order, `<` or `>`."""
        return np.dtype(self.dtype).newbyteorder("<" if order == "<" else ">")


@dataclass(frozen=True)
class Tensor:
    """A view of a storage: its offset, shape and strides, counted in numbers."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def _storage_of(reference: object) -> Storage:
    """Return the storage that a persistent id of torch names.

    Raises:
        Refused: it is not a storage of real numbers.
    """
    is_storage = isinstance(reference, tuple) and len(reference) == 5 and reference[0] == "storage"
    if not isinstance(reference, tuple) or not is_storage:
        raise Refused("refers to something outside the file, expected tensors")
    kind, key, n_values = reference[1], reference[2], reference[4]
    name = kind.name.removeprefix("torch.") if isinstance(kind, Name) else ""
    if name not in _STORAGES:
        raise Refused(f"a tensor of {name or 'an unknown kind'}, expected floats or integers")
    if not isinstance(key, str) or not _is_size(n_values):
        raise Refused("a tensor without a place in the file")
    return Storage(_STORAGES[name], name == "BFloat16Storage", key, n_values)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**60


def _tensor(storage: object, offset: object, shape: object, stride: object, *more: object) -> Tensor:
    if any(isinstance(entry, dict) and (entry.get("neg") or entry.get("conj")) for entry in more[2:]):
        raise Refused("a tensor that is a negative or conjugate view; save tensor.resolve_neg()")
    if not isinstance(storage, Storage) or not _is_size(offset):
        raise Refused("a tensor without its storage")
    if not (isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride) <= 16):
        raise Refused("a tensor without a shape")
    if not all(map(_is_size, (*shape, *stride))):
        raise Refused(f"a tensor of shape {shape} and stride {stride}, expected sizes of 0 or more")
    tensor = Tensor(storage, int(offset), shape, stride)  # type: ignore[call-overload]
    if math.prod(shape) and _last(tensor) >= storage.n_values:
        raise Refused(f"a tensor of shape {shape} beyond its {storage.n_values:,} values")
    return tensor


def _last(tensor: Tensor) -> int:
    steps = zip(tensor.shape, tensor.stride, strict=True)
    return tensor.offset + sum((size - 1) * step for size, step in steps)


_TENSOR_BUILDERS: Mapping[str, Builder] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.Size": lambda shape=(): shape,
    "torch.device": lambda *names: ":".join(map(str, names)),
    "argparse.Namespace": lambda *_: {},  # a program's settings, often saved beside its results
}


def _layout_of(tensor: Tensor) -> str:
    """Return how a storage holds a tensor: by `rows`, by `columns` (a transposed matrix) or as a `view`."""
    if len(tensor.shape) == 2 and tensor.stride == (1, tensor.shape[0]) and tensor.shape[1] > 1:
        return "columns"
    return "rows" if _is_row_major(tensor) else "view"


def _gathered(tensor: Tensor, content: bytes, order: str, where: str) -> Array:
    """Return a tensor of any strides as an array in memory.

    Args:
        tensor: of no more than `_GATHER_BYTES`.
        content: the bytes of its storage.
        order: their byte order, `<` or `>`.
        where: the storage's name for errors.
    """
    dtype = tensor.storage.in_order(order)
    values = np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype=dtype)
    if math.prod(tensor.shape) and _last(tensor) >= len(values):
        raise FormatError(f"{where}: truncated; copy it again from its source")
    places = np.array(tensor.offset, dtype=np.int64)
    for size, step in zip(tensor.shape, tensor.stride, strict=True):
        places = places[..., None] + np.arange(size, dtype=np.int64) * step
    picked = values[places]
    if tensor.storage.is_bfloat16:
        return from_bfloat16(picked)
    return picked if picked.dtype.kind in "biu" else as_floats(picked, where)


def _is_row_major(tensor: Tensor) -> bool:
    step = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


READER = RunReader("torch", "a file of torch.save", "a zip with data.pkl", is_torch, read_arrays=read_torch)
