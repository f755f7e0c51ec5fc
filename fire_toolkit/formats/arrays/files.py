"""The arrays in npy, npz, torch, safetensors and pickle files: a tree of names, its arrays not read yet.

A tree is nested dicts and lists; its leaves are `Stored` arrays and the plain values of a pickle. Nothing in
a file is run or unpacked to disk, and no size that a file claims is believed.
"""

from __future__ import annotations

import io
import json
import lzma
import math
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import BFLOAT16, Array, Stored
from fire_toolkit.formats.arrays.pickles import Name, Refused, load_plain

NPY_MAGIC, _ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"
_NPY_HEADER_BYTES, _SAFETENSORS_HEADER_BYTES = 12 + 65_536, 16 << 20
_PICKLE_BYTES, _TORCH_PICKLE_BYTES, _OBJECTS_BYTES = 512 << 20, 64 << 20, 256 << 20
_BOMB_BYTES, _BOMB_RATIO = 256 << 20, 200
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
_PICKLE_STARTS = re.compile(
    rb"\x80[\x02-\x05]"  # a protocol from 2 on says so
    rb"|\([ld]p[0-9]+\n|[\]}]q."  # a list or a dict of protocol 0 or 1
    rb"|\((?:V[^\n]*\np[0-9]+\n|S['\"]|[ILF][-0-9.L]+\n|X.{4})|V[^\n]*\np0\n\."  # a tuple, or a text
    rb"|c(?:numpy[\w.]*|collections|__builtin__|copy_reg)\n\w+\n(?:p[0-9]+\n|q.)",  # an array, a set
    re.DOTALL,
)
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
)
_FORMAT: Any = npy_format
# The third version differs from the second in the names of records, which are not scores.
_READ_HEADER: dict[tuple[int, int], Any] = {
    (1, 0): _FORMAT.read_array_header_1_0,
    (2, 0): _FORMAT.read_array_header_2_0,
    (3, 0): _FORMAT.read_array_header_2_0,
}


def is_torch(start: bytes, path: Path) -> bool:
    """Whether the file is a zip with a `data.pkl`, or begins like a file of torch before 1.6."""
    return _TORCH_BEFORE_1_6 in start[:32] or (start.startswith(_ZIP_MAGIC) and _torch_pickles(path) != [])


def is_npz(start: bytes, path: Path) -> bool:
    """Whether the file is a zip without a `data.pkl`."""
    return start.startswith((_ZIP_MAGIC, b"PK\x05\x06")) and not _torch_pickles(path)


def is_npy(start: bytes, path: Path) -> bool:
    """Whether the file begins as `.npy` does."""
    return start.startswith(NPY_MAGIC)


def is_pickle(start: bytes, path: Path) -> bool:
    """Whether the file begins like a pickle: protocol 2 to 5, or a container or array in protocol 0 or 1."""
    return bool(_PICKLE_STARTS.match(start))


def is_safetensors(start: bytes, path: Path) -> bool:
    """Whether the file begins with the length of a JSON header."""
    return start[5:9] == b"\0\0\0{" and start[0:5] != bytes(5)


@contextmanager
def _zip_errors(where: str, what: str = "damaged") -> Iterator[None]:
    """Make a FormatError of one line of what a damaged zip raises."""
    try:
        yield
    except FormatError:
        raise
    except _ZIP_ERRORS as error:
        raise FormatError(f"{where}: {what} ({error}); copy it again from its source") from None


def _members(path: Path) -> dict[str, zipfile.ZipInfo]:
    with _zip_errors(str(path), "damaged zip"), zipfile.ZipFile(path) as archive:
        found = archive.infolist()
    by_name = {info.filename: info for info in found}
    if len(by_name) < len(found):
        raise FormatError(f"{path}: the zip has two members of one name; save it again")
    return by_name


def _torch_pickles(path: Path) -> list[str]:
    return [name for name in _members(path) if name.rpartition("/")[2] == "data.pkl"]


def _start(path: Path, member: zipfile.ZipInfo, n_bytes: int) -> bytes:
    """Return the first bytes of a zip member, fewer where it is shorter."""
    with (
        _zip_errors(f"{path}: {member.filename}"),
        zipfile.ZipFile(path) as archive,
        archive.open(member) as stream,
    ):
        return stream.read(n_bytes)


def _mapped(path: Path) -> Array:
    return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)


def _unpacked(path: Path, member: zipfile.ZipInfo, where: str) -> Array:
    """Return the bytes of a zip member, whose checksum holds: mapped where they are stored as they are."""
    size, packed = member.file_size, member.compress_size
    if size > _BOMB_BYTES and size > _BOMB_RATIO * max(1, packed):
        raise FormatError(
            f"{where}: {packed:,} bytes unpack to {size:,}: this looks like a zip bomb and is not read; if "
            "it is real, save it with numpy.savez or numpy.save"
        )
    with _zip_errors(where), zipfile.ZipFile(path) as archive, archive.open(member):  # checks the header
        if member.compress_type != zipfile.ZIP_STORED:
            return np.frombuffer(archive.read(member), np.uint8)
        whole, at = _mapped(path), member.header_offset
        first = (
            at + 30 + int(whole[at + 26 : at + 30].view("<u2").sum())
        )  # after the name and the extra field
        raw = whole[first : first + size]
        if len(raw) < size or size != packed or zlib.crc32(np.ascontiguousarray(raw).data) != member.CRC:
            raise FormatError(f"{where}: damaged (its checksum does not hold); copy it again from its source")
        return raw


def _view(
    raw_of: Callable[[], Array],
    where: str,
    offset: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    strides: tuple[int, ...] | None = None,
    is_fortran: bool = False,
) -> Array:
    """Return an array that lies in bytes, as they are.

    Raises:
        FormatError: there are fewer bytes than it takes.
    """
    raw, size = raw_of(), dtype.itemsize
    to_last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if strides else None
    needed = offset + (math.prod(shape) * size if to_last is None else to_last + size)
    if 0 in shape:
        return np.empty(shape, dtype)
    if len(raw) < needed:
        raise FormatError(
            f"{where}: truncated: {len(raw):,} bytes, expected {needed:,} for shape {shape} of {dtype}; "
            "copy it again"
        )
    order: Any = "F" if is_fortran else "C"
    return np.ndarray(shape, dtype, raw, offset, strides, order)


def tree_of_npy(path: Path) -> Any:
    """Return the array of a `.npy` file, or what an array of objects holds."""
    with path.open("rb") as stream:
        return _npy(str(path), stream.read(_NPY_HEADER_BYTES), partial(_mapped, path))


def tree_of_npz(path: Path) -> dict[str, Stored]:
    """Return the arrays of an `.npz` file by name."""
    found = {}
    for name, member in _members(path).items():
        if name.endswith(".npy"):
            where = f"{path}: {name.removesuffix('.npy')}"
            start = _start(path, member, _NPY_HEADER_BYTES)
            found[name.removesuffix(".npy")] = _npy(where, start, partial(_unpacked, path, member, where))
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
            where, shape, dtype, partial(_view, raw_of, where, at, shape, dtype, is_fortran=is_fortran)
        )

    def objects() -> Any:
        pickled = io.BytesIO(raw_of()[at : at + _OBJECTS_BYTES + 1].tobytes())
        return load_plain(pickled, max_bytes=_OBJECTS_BYTES, where=where)

    return Stored(where, shape, dtype, objects)


def tree_of_pickle(path: Path) -> Any:
    """Return the plain value of a pickle."""
    with path.open("rb") as stream:
        return load_plain(stream, max_bytes=_PICKLE_BYTES, where=str(path))


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
    archive, pickles = _members(path), _torch_pickles(path)
    if len(pickles) != 1:
        raise FormatError(f"{path}: {len(pickles)} data.pkl in one file, expected one; save it again")
    folder = pickles[0].removesuffix("data.pkl")
    order = archive.get(f"{folder}byteorder")
    is_big = order is not None and _start(path, order, 16).strip() == b"big"

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
        return Stored(where, (n_values,), dtype, partial(_unpacked, path, member, where))

    pickled = io.BytesIO(_start(path, archive[pickles[0]], _TORCH_PICKLE_BYTES + 1))
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
        _view,
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
        where, shape, kind, partial(_view, partial(_mapped, path), where, start + first, shape, kind)
    )


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
