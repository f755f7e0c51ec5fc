"""Tensors as torch's pickles describe them, and where a reader finds their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import ArrayCollector
from fire_toolkit.formats.arrays.pickle_builders import Builder, Name, Refused
from fire_toolkit.formats.runs.matrix import Array, HeldMatrix, Matrix, as_floats

PICKLE_BYTES = 64 << 20
GATHER_BYTES = 1 << 30
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
class Storage:
    """A stretch of numbers that tensors share: its dtype, its name in the file, and how many there are."""

    dtype: str
    is_bfloat16: bool
    key: str
    n_values: int

    def in_order(self, order: str) -> np.dtype[Any]:
        """Return the dtype in a byte order, `<` or `>`."""
        return np.dtype(self.dtype).newbyteorder("<" if order == "<" else ">")


@dataclass(frozen=True)
class Tensor:
    """A view of a storage: where it begins, its sizes, and its steps, in numbers."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def storage_of(reference: object) -> Storage:
    """Return the storage that a persistent id of torch names.

    Raises:
        Refused: it is none, or of no real numbers.
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
    if any(isinstance(said, dict) and (said.get("neg") or said.get("conj")) for said in more[2:]):
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


def _parameter(tensor: object, *_: object) -> object:
    return tensor


def _size(shape: object = ()) -> object:
    return shape


def _device(*names: object) -> str:
    return ":".join(map(str, names))


def _settings(*_: object) -> dict[str, Any]:
    """Stand for a program's settings, which are often saved beside its results; they are left out."""
    return {}


TENSOR_BUILDERS: Mapping[str, Builder] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": _size,
    "torch.device": _device,
    "argparse.Namespace": _settings,
}


class Storages(Protocol):
    """The numbers of a file's tensors, wherever in it they lie."""

    def where(self, storage: Storage) -> str:
        """Return the storage's name for errors; refuse one that the file does not have."""
        ...

    def matrix(self, tensor: Tensor, shape: tuple[int, ...], *, is_flipped: bool) -> Matrix:
        """Return the numbers from the tensor's first on as a matrix of `shape`, unread."""
        ...

    def content(self, storage: Storage) -> bytes:
        """Return the bytes of a storage of no more than `GATHER_BYTES`."""
        ...


@dataclass(frozen=True)
class Filler:
    """Puts the tensors of a loaded value on a collector."""

    storages: Storages
    collector: ArrayCollector
    order: str

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
            self.collector.put_tree(name, self._gathered(value))

    def _matrix(self, tensor: Tensor) -> Matrix:
        is_flipped = len(tensor.shape) == 2 and tensor.stride == (1, tensor.shape[0]) and tensor.shape[1] > 1
        if not is_flipped and not _is_row_major(tensor):
            return HeldMatrix(self.storages.where(tensor.storage), self._gathered(tensor))
        shape = tensor.shape[::-1] if is_flipped else tensor.shape
        return self.storages.matrix(tensor, shape, is_flipped=is_flipped)

    def _gathered(self, tensor: Tensor) -> Array:
        """Return a tensor of any strides as an array in memory, of no more than its storage holds."""
        where = self.storages.where(tensor.storage)
        n_values = math.prod(tensor.shape)
        if n_values * 8 > GATHER_BYTES:
            raise FormatError(f"{where}: a tensor that is a view; save tensor.contiguous()")
        content = self.storages.content(tensor.storage)
        dtype = tensor.storage.in_order(self.order)
        values = np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype=dtype)
        if n_values and _last(tensor) >= len(values):
            raise FormatError(f"{where}: cut off; copy it again from its source")
        places = np.array(tensor.offset, dtype=np.int64)
        for size, step in zip(tensor.shape, tensor.stride, strict=True):
            places = places[..., None] + np.arange(size, dtype=np.int64) * step
        picked = values[places]
        if tensor.storage.is_bfloat16:
            return (picked.astype(np.uint32) << 16).view(np.float32)
        return picked if picked.dtype.kind in "biu" else as_floats(picked, where)


def _is_row_major(tensor: Tensor) -> bool:
    step = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True
