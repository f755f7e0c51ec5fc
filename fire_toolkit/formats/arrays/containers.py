"""The arrays in npy, npz, torch, safetensors and pickle files: a tree of names, its arrays not read yet.

A tree is nested dicts and lists; its leaves are `Stored` arrays and the plain values of a pickle. All
containers are alike: a header says which arrays lie where in some bytes, those of the file or of a member of
a zip, and `_lying` makes the arrays. Nothing in a file is run or unpacked to disk.
"""

from __future__ import annotations

import io
import json
import math
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipInfo

import numpy as np
from numpy.lib import format as npy_format

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import (
    BFLOAT16,
    Array,
    Stored,
    mapped,
    members_of,
    start_of_member,
    unpacked,
    view,
)
from fire_toolkit.formats.arrays.pickles import Name, Refused, load_plain

_NPY_HEADER_BYTES, _SAFETENSORS_HEADER_BYTES = 12 + 65_536, 16 << 20
_PICKLE_BYTES, _OBJECTS_BYTES, _TORCH_PICKLE_BYTES = 512 << 20, 256 << 20, 64 << 20
_VIEW_BYTES = 1 << 30  # of a tensor that repeats what it views
_MOST_SIZES = 64  # of an array and its strides; the product of very many would take for ever
_TORCH_BEFORE_1_6 = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # a number of torch's own, pickled
_PICKLE_STARTS = re.compile(
    rb"\x80[\x02-\x05]"  # a protocol from 2 on says so
    rb"|\([ld]p[0-9]+\n|[\]}]q."  # a list or a dict of protocol 0 or 1
    rb"|\((?:V[^\n]*\np[0-9]+\n|S['\"]|[ILF][-0-9.L]+\n|X.{4})|V[^\n]*\np0\n\."  # a tuple, or a text
    rb"|c(?:numpy[\w.]*|collections|__builtin__|copy_reg)\n\w+\n(?:p[0-9]+\n|q.)",  # an array, a set
    re.DOTALL,
)
_FORMAT: Any = npy_format
# The third version differs from the second in the names of records, which are not scores.
_READ_HEADER: dict[tuple[int, int], Any] = {
    (1, 0): _FORMAT.read_array_header_1_0,
    **dict.fromkeys([(2, 0), (3, 0)], _FORMAT.read_array_header_2_0),
}
# What safetensors and torch call the types of numbers that are read.
_TYPES: dict[str, Any] = {
    **{f"F{8 * size}": f"f{size}" for size in (8, 4, 2)},
    **{f"{kind.upper()}{8 * size}": f"{kind}{size}" for kind in "iu" for size in (8, 4, 2, 1)},
    "BF16": BFLOAT16,
}
_STORAGES: dict[str, Any] = {"Double": "f8", "Float": "f4", "Half": "f2", "BFloat16": BFLOAT16, "Bool": "?"}
_STORAGES |= {"Long": "i8", "Int": "i4", "Short": "i2", "Char": "i1", "Byte": "u1"}


def _lying(
    where: str, raw_of: Callable[[], Array], offset: int, shape: Sequence[int], dtype: Any, **how: Any
) -> Stored:
    """Return the array that lies from an offset on in bytes; how: `strides` or `is_fortran`, as of `view`."""
    shape = tuple(shape)
    return Stored(where, shape, dtype, partial(view, raw_of, where, offset, shape, dtype, **how))


def _are_sizes(values: Any) -> bool:
    is_short = isinstance(values, list) and len(values) <= _MOST_SIZES
    return is_short and all(type(value) is int and 0 <= value < 2**60 for value in values)


def _bytes_of(path: Path, member: ZipInfo | None = None, where: str = "") -> Callable[[], Array]:
    """Return what gives the bytes of a file, or of a member of a zip; another process can call it too."""
    return partial(unpacked, path.absolute(), member, where) if member else partial(mapped, path.absolute())


def container_of(start: bytes, path: Path) -> str:
    """Return which of `FORMATS` a file of arrays has, by its first bytes; empty where it holds none."""
    if start.startswith(b"\x93NUMPY"):
        return "npy"
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "torch" if _torch_pickles(path) else "npz"
    if _TORCH_BEFORE_1_6 in start[:32]:
        return "torch"
    if start[5:9] == b"\0\0\0{" and start[0:5] != bytes(5):
        return "safetensors"
    return "pickle" if _PICKLE_STARTS.match(start) else ""


def _of_npy(path: Path) -> Any:
    """Return the array of a `.npy` file, or what an array of objects holds."""
    with path.open("rb") as stream:
        return _npy(str(path), stream.read(_NPY_HEADER_BYTES), _bytes_of(path))


def _of_npz(path: Path) -> dict[str, Stored]:
    """Return the arrays of an `.npz` file by name."""
    found = {}
    for file, member in members_of(path).items():
        if file.endswith(".npy"):
            name, start = file.removesuffix(".npy"), start_of_member(path, member, _NPY_HEADER_BYTES)
            found[name] = _npy(f"{path}: {name}", start, _bytes_of(path, member, f"{path}: {name}"))
    return found


def _npy(where: str, start: bytes, raw_of: Callable[[], Array]) -> Stored:
    """Return the array that the beginning of a `.npy` describes."""
    stream = io.BytesIO(start)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 2 wrote sizes as 5L
            shape, is_fortran, dtype = _READ_HEADER[_FORMAT.read_magic(stream)](stream)
    except Exception:  # a header is a Python literal and a dtype's name, which fail in many ways
        raise FormatError(f"{where}: damaged .npy header; save it again with numpy.save") from None
    if dtype.names is not None or dtype.kind not in "biufcSUOV" or dtype.subdtype is not None:
        found = "an array of records" if dtype.names is not None else f"holds {dtype}"
        raise FormatError(f"{where}: {found}, expected real numbers (save with dtype float32)")
    if len(shape) > 32 or min(shape, default=0) < 0 or math.prod(shape) * max(1, dtype.itemsize) > 2**62:
        raise FormatError(f"{where}: damaged .npy header (shape {shape}); save it again with numpy.save")
    at = stream.tell()

    def objects() -> Any:
        pickled = io.BytesIO(raw_of()[at : at + _OBJECTS_BYTES + 1].tobytes())
        return load_plain(pickled, max_bytes=_OBJECTS_BYTES, where=where)

    if dtype.hasobject:
        return Stored(where, shape, dtype, objects)
    return _lying(where, raw_of, at, shape, dtype, is_fortran=is_fortran)


def _of_pickle(path: Path) -> Any:
    """Return the plain value of a pickle."""
    with path.open("rb") as stream:
        return load_plain(stream, max_bytes=_PICKLE_BYTES, where=str(path))


def _torch_pickles(path: Path) -> list[str]:
    return [name for name in members_of(path) if name.rpartition("/")[2] == "data.pkl"]


def _of_torch(path: Path) -> Any:
    """Return what `torch.save` wrote since torch 1.6: a zip with a pickle that says where each tensor is."""
    with path.open("rb") as stream:
        if _TORCH_BEFORE_1_6 in stream.read(32):
            raise FormatError(
                f"{path}: a file of torch before 1.6; save it again with a newer torch: "
                "torch.save(torch.load(path), path)"
            )
    archive, pickles = members_of(path), _torch_pickles(path)
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
        return Stored(where, (n_values,), dtype, _bytes_of(path, member, where))

    pickled = io.BytesIO(start_of_member(path, archive[pickles[0]], _TORCH_PICKLE_BYTES + 1))
    how: dict[str, Any] = {"known": _TORCH_NAMES, "persistent": storage_of}
    return load_plain(pickled, max_bytes=_TORCH_PICKLE_BYTES, where=str(path), **how)


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any, *more: Any) -> Stored:
    """Return a view of a storage; offset and strides count numbers."""
    if any(isinstance(entry, dict) and (entry.get("neg") or entry.get("conj")) for entry in more[2:]):
        raise Refused("a tensor that is a negative or conjugate view; save tensor.resolve_neg()")
    if not isinstance(storage, Stored) or not (_are_sizes([offset, *shape, *stride]) and len(shape) <= 16):
        raise Refused(f"a tensor of shape {shape} and stride {stride}, expected sizes of 0 or more")
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    n_values, n_stored, size = math.prod(shape), storage.shape[0], storage.dtype.itemsize
    if n_values and last >= n_stored:
        raise Refused(f"a tensor of shape {shape} beyond its {n_stored:,} values")
    if n_values > n_stored and n_values * size > _VIEW_BYTES:
        raise Refused(f"a tensor of shape {shape} that is a view; save tensor.contiguous()")
    strides = tuple(step * size for step in stride)
    return _lying(storage.where, storage.read, offset * size, shape, storage.dtype, strides=strides)


_TORCH_NAMES: dict[str, Any] = {
    **{f"torch.{name}Storage": Name(name) for name in _STORAGES},
    **dict.fromkeys(("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"), _tensor),
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.Size": lambda shape=(): shape,
    "torch.device": lambda *names: ":".join(map(str, names)),
    "argparse.Namespace": lambda *_: {},  # a program's settings, often saved beside its results
}


def _of_safetensors(path: Path) -> dict[str, Stored | Name]:
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
    if dtype not in _TYPES:
        return Name(f"{dtype} of shape {shape}")
    kind = np.dtype(_TYPES[dtype]).newbyteorder("<")
    if (found := places[1] - places[0]) != (needed := math.prod(shape) * kind.itemsize):
        raise FormatError(
            f"{where}: {found:,} bytes, expected {needed:,} of {dtype} with shape {shape}; save it again"
        )
    return _lying(where, _bytes_of(path), start + places[0], shape, kind)


_LENGTH_FIRST = "begins with the length of a JSON header"
# Of each format: its name, what it is, how it is known, whether a file is of it, and its tree.
FORMATS: tuple[tuple[str, str, str, Callable[[Path], Any]], ...] = (
    ("torch", "a file of torch.save", "a zip with data.pkl", _of_torch),
    ("npz", "NumPy arrays, .npz", "a zip without data.pkl", _of_npz),
    ("npy", "a NumPy array, .npy", "begins with \\x93NUMPY", _of_npy),
    ("safetensors", "a safetensors file", _LENGTH_FIRST, _of_safetensors),
    ("pickle", "a pickle of arrays", "begins as pickles do", _of_pickle),
)


def tree_of(start: bytes, path: Path) -> Any:
    """Return what a file of arrays holds, None of another file; start: its first bytes."""
    name = container_of(start, path)
    return next((tree(path) for own, _, _, tree in FORMATS if own == name), None)
