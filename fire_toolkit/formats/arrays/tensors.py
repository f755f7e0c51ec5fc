"""Tensors that `torch.save` wrote and those of safetensors, read with NumPy alone."""

from __future__ import annotations

import io
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import (
    BFLOAT16,
    Stored,
    mapped,
    members_of,
    start_of_member,
    unpacked,
    view,
)
from fire_toolkit.formats.arrays.pickles import Name, Refused, load_plain

_SAFETENSORS_HEADER_BYTES, _TORCH_PICKLE_BYTES = 16 << 20, 64 << 20
_VIEW_BYTES = 1 << 30  # of a tensor that repeats what it views
_MOST_SIZES = 64  # of an array and its strides; the product of very many would take for ever
_TORCH_BEFORE_1_6 = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # a number of torch's own, pickled
_DTYPES: dict[str, Any] = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "I8": "i1",
}
_DTYPES |= {"U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BF16": BFLOAT16}
_STORAGES: dict[str, Any] = {
    "Double": "f8",
    "Float": "f4",
    "Half": "f2",
    "BFloat16": BFLOAT16,
    "Long": "i8",
    "Int": "i4",
}
_STORAGES |= {"Short": "i2", "Char": "i1", "Byte": "u1", "Bool": "?"}


def is_torch(start: bytes, path: Path) -> bool:
    """Whether the file is a zip with a `data.pkl`, or begins like a file of torch before 1.6."""
    return _TORCH_BEFORE_1_6 in start[:32] or (start.startswith(b"PK\x03\x04") and torch_pickles(path) != [])


def is_safetensors(start: bytes, path: Path) -> bool:
    """Whether the file begins with the length of a JSON header."""
    return start[5:9] == b"\0\0\0{" and start[0:5] != bytes(5)


def torch_pickles(path: Path) -> list[str]:
    """Return the members of a zip that are called `data.pkl`; FormatError as of `members_of`."""
    return [name for name in members_of(path) if name.rpartition("/")[2] == "data.pkl"]


def tree_of_torch(path: Path) -> Any:
    """Return what `torch.save` wrote, read without torch: a zip with a pickle that says where each tensor is.

    float32, float16, bfloat16, float64 and integers are read, of the zip format that torch writes since 1.6.

    Raises:
        FormatError: the file is damaged, or refers to anything but tensors, arrays and plain values; or it is
            of torch before 1.6.
    """
    with path.open("rb") as stream:
        if _TORCH_BEFORE_1_6 in stream.read(32):
            raise FormatError(
                f"{path}: a file of torch before 1.6; save it again with a newer torch: "
                "torch.save(torch.load(path), path)"
            )
    archive, pickles = members_of(path), torch_pickles(path)
    if len(pickles) != 1:
        raise FormatError(f"{path}: {len(pickles)} data.pkl in one file, expected one; save it again")
    folder = pickles[0].removesuffix("data.pkl")
    order = archive.get(f"{folder}byteorder")
    is_big = order is not None and start_of_member(path, order, 16).strip() == b"big"

    def storage_of(reference: Any) -> Stored:
        is_storage = isinstance(reference, tuple) and len(reference) == 5 and reference[0] == "storage"
        if not is_storage or not isinstance(reference[1], Name) or not _are_sizes([reference[4]]):
            raise Refused("refers to something outside the file, expected tensors of floats or integers")
        _, kind, key, _, n_values = reference
        dtype = np.dtype(_STORAGES[kind]).newbyteorder(">" if is_big else "<")
        if f"{folder}data/{key}" not in archive:
            raise Refused(f"no data/{str(key)[:40]} in the file; copy it again from its source")
        member = archive[f"{folder}data/{key}"]
        where = f"{path}: {member.filename}"
        return Stored(where, (n_values,), dtype, partial(unpacked, path.absolute(), member, where))

    pickled = io.BytesIO(start_of_member(path, archive[pickles[0]], _TORCH_PICKLE_BYTES + 1))
    return load_plain(
        pickled, max_bytes=_TORCH_PICKLE_BYTES, where=str(path), known=_TORCH_NAMES, persistent=storage_of
    )


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any, *more: Any) -> Stored:
    """Return a view of a storage; offset and strides count numbers."""
    if any(isinstance(entry, dict) and (entry.get("neg") or entry.get("conj")) for entry in more[2:]):
        raise Refused("a tensor that is a negative or conjugate view; save tensor.resolve_neg()")
    if not isinstance(storage, Stored) or not (_are_sizes([offset, *shape, *stride]) and len(shape) <= 16):
        raise Refused(f"a tensor of shape {shape} and stride {stride}, expected sizes of 0 or more")
    n_values, last = (
        math.prod(shape),
        offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True)),
    )
    if n_values and last >= storage.shape[0]:
        raise Refused(f"a tensor of shape {shape} beyond its {storage.shape[0]:,} values")
    size = storage.dtype.itemsize
    if n_values > storage.shape[0] and n_values * size > _VIEW_BYTES:
        raise Refused(f"a tensor of shape {shape} that is a view; save tensor.contiguous()")
    lies = partial(
        view,
        storage.read,
        storage.where,
        offset * size,
        shape,
        storage.dtype,
        strides=tuple(step * size for step in stride),
    )
    return Stored(storage.where, shape, storage.dtype, lies)


def _are_sizes(values: Any) -> bool:
    is_short = isinstance(values, list) and len(values) <= _MOST_SIZES
    return is_short and all(type(value) is int and 0 <= value < 2**60 for value in values)


_TORCH_NAMES: dict[str, Any] = {
    **{f"torch.{name}Storage": Name(name) for name in _STORAGES},
    **dict.fromkeys(("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"), _tensor),
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.Size": lambda shape=(): shape,
    "torch.device": lambda *names: ":".join(map(str, names)),
    "argparse.Namespace": lambda *_: {},  # a program's settings, often saved beside its results
}


def tree_of_safetensors(path: Path) -> dict[str, Stored | Name]:
    """Return the tensors of a safetensors file by name: a length, a JSON header, then numbers."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(_SAFETENSORS_HEADER_BYTES, size - 8):
            raise FormatError(
                f"{path}: a header of {length:,} bytes in a file of {size:,}, expected at most "
                f"{_SAFETENSORS_HEADER_BYTES:,} and within the file; copy it again from its source"
            )
        raw = stream.read(length)
    try:
        header = dict(json.loads(raw))
    except (ValueError, TypeError, RecursionError):
        raise FormatError(
            f"{path}: the header is not JSON of tensors; copy it again from its source"
        ) from None
    header.pop("__metadata__", None)
    return {name: _safetensor(path, name, about, 8 + length) for name, about in header.items()}


def _safetensor(path: Path, name: str, about: Any, start: int) -> Stored | Name:
    """Return a tensor; of numbers that are not read, what they are."""
    where, about = f"{path}: tensor {name[:60]!r}", about if isinstance(about, dict) else {}
    shape, dtype, places = (about.get(key) for key in ("shape", "dtype", "data_offsets"))
    if not (isinstance(dtype, str) and _are_sizes(shape) and _are_sizes(places) and len(places) == 2):
        raise FormatError(f"{where}: lacks dtype, shape or data_offsets; save the file again")
    first, last = places
    n_bytes = path.stat().st_size - start
    if last > n_bytes:
        raise FormatError(
            f"{where}: ends at byte {last:,} of {n_bytes:,} that the file has; truncated: copy it again"
        )
    if dtype not in _DTYPES:
        return Name(f"{dtype} of shape {shape}")
    kind = np.dtype(_DTYPES[dtype]).newbyteorder("<")
    if last - first != math.prod(shape) * kind.itemsize:
        raise FormatError(
            f"{where}: {last - first:,} bytes, expected {math.prod(shape) * kind.itemsize:,} of {dtype} with "
            f"shape {shape}; save it again"
        )
    where, shape = f"{path}: {name}", tuple(shape)
    return Stored(
        where, shape, kind, partial(view, partial(mapped, path.absolute()), where, start + first, shape, kind)
    )
