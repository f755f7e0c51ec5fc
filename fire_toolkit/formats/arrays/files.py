"""The arrays in npy, npz, torch, safetensors and pickle files: a tree of names, its arrays not read yet.

A tree is nested dicts and lists; its leaves are `Stored` arrays and the plain values of a pickle. Nothing in
a file is run or unpacked to disk.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from numpy.lib import format as npy_format

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import (
    Array,
    Stored,
    mapped,
    members_of,
    start_of_member,
    unpacked,
    view,
)
from fire_toolkit.formats.arrays.pickles import load_plain
from fire_toolkit.formats.arrays.tensors import (
    is_safetensors,
    is_torch,
    torch_pickles,
    tree_of_safetensors,
    tree_of_torch,
)

_NPY_HEADER_BYTES = 12 + 65_536
_PICKLE_BYTES, _OBJECTS_BYTES = 512 << 20, 256 << 20
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
    (2, 0): _FORMAT.read_array_header_2_0,
    (3, 0): _FORMAT.read_array_header_2_0,
}


def is_npz(start: bytes, path: Path) -> bool:
    """Whether the file is a zip without a `data.pkl`."""
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06")) and not torch_pickles(path)


def is_npy(start: bytes, path: Path) -> bool:
    """Whether the file begins as `.npy` does."""
    return start.startswith(b"\x93NUMPY")


def is_pickle(start: bytes, path: Path) -> bool:
    """Whether the file begins like a pickle: protocol 2 to 5, or a container or array in protocol 0 or 1."""
    return bool(_PICKLE_STARTS.match(start))


def tree_of_npy(path: Path) -> Any:
    """Return the array of a `.npy` file, or what an array of objects holds."""
    with path.open("rb") as stream:
        return _npy(str(path), stream.read(_NPY_HEADER_BYTES), partial(mapped, path.absolute()))


def tree_of_npz(path: Path) -> dict[str, Stored]:
    """Return the arrays of an `.npz` file by name."""
    found = {}
    for name, member in members_of(path).items():
        if name.endswith(".npy"):
            where = f"{path}: {name.removesuffix('.npy')}"
            start = start_of_member(path, member, _NPY_HEADER_BYTES)
            found[name.removesuffix(".npy")] = _npy(
                where, start, partial(unpacked, path.absolute(), member, where)
            )
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
    if not dtype.hasobject:
        return Stored(
            where, shape, dtype, partial(view, raw_of, where, at, shape, dtype, is_fortran=is_fortran)
        )

    def objects() -> Any:
        pickled = io.BytesIO(raw_of()[at : at + _OBJECTS_BYTES + 1].tobytes())
        return load_plain(pickled, max_bytes=_OBJECTS_BYTES, where=where)

    return Stored(where, shape, dtype, objects)


def tree_of_pickle(path: Path) -> Any:
    """Return the plain value of a pickle."""
    with path.open("rb") as stream:
        return load_plain(stream, max_bytes=_PICKLE_BYTES, where=str(path))


class ArrayFormat(NamedTuple):
    """A format of arrays: its name, what it is, how it is known, whether a file is of it, and its tree."""

    name: str
    what: str
    evidence: str
    sniff: Callable[[bytes, Path], bool]
    tree: Callable[[Path], Any]


FORMATS = (
    ArrayFormat("torch", "a file of torch.save", "a zip with data.pkl", is_torch, tree_of_torch),
    ArrayFormat("npz", "NumPy arrays, .npz", "a zip without data.pkl", is_npz, tree_of_npz),
    ArrayFormat("npy", "a NumPy array, .npy", "begins with \\x93NUMPY", is_npy, tree_of_npy),
    ArrayFormat(
        "safetensors",
        "a safetensors file",
        "begins with the length of a JSON header",
        is_safetensors,
        tree_of_safetensors,
    ),
    ArrayFormat("pickle", "a pickle of arrays", "begins as pickles do", is_pickle, tree_of_pickle),
)


def tree_of(start: bytes, path: Path) -> Any:
    """Return what a file of arrays holds, None of another file; start: its first bytes."""
    found = next((each for each in FORMATS if each.sniff(start, path)), None)
    return None if found is None else found.tree(path)
