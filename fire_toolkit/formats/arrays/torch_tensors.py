"""Tensors as torch's pickles describe them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.pickle_builders import Builder, Name, Refused
from fire_toolkit.formats.runs.matrix import Array, as_floats, from_bfloat16

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


TENSOR_BUILDERS: Mapping[str, Builder] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.Size": lambda shape=(): shape,
    "torch.device": lambda *names: ":".join(map(str, names)),
    "argparse.Namespace": lambda *_: {},  # a program's settings, often saved beside its results
}


def layout_of(tensor: Tensor) -> str:
    """Return how a storage holds a tensor: by `rows`, by `columns` (a transposed matrix) or as a `view`."""
    if len(tensor.shape) == 2 and tensor.stride == (1, tensor.shape[0]) and tensor.shape[1] > 1:
        return "columns"
    return "rows" if _is_row_major(tensor) else "view"


def gathered(tensor: Tensor, content: bytes, order: str, where: str) -> Array:
    """Return a tensor of any strides as an array in memory.

    Args:
        tensor: of no more than `GATHER_BYTES`.
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
