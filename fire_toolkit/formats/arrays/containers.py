"""The arrays in npy, npz, torch, safetensors and pickle files, as a tree of names.

A tree is nested dicts and lists; its leaves are arrays, mapped where they lie in the file and unpacked where
they are packed, the plain values of a pickle, and functions that read a pickle within an array. Nothing in a
file is run or unpacked to disk, and no size that it claims is believed.
"""

import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import BFLOAT16, Array
from fire_toolkit.formats.arrays.pickles import Name, Refused, array_in, load_plain, told
from fire_toolkit.formats.recognised import begins

_NPY_HEADER_BYTES, _SAFETENSORS_HEADER_BYTES = 12 + 65_536, 16 << 20
_VIEW_BYTES = 1 << 30  # of a tensor that repeats what it views
_BOMB_BYTES, _BOMB_RATIO = 256 << 20, 200
_FORMAT: Any = npy_format
# The third version differs from the second in the names of records, which are not scores.
_READ_HEADER: dict[tuple[int, int], Any] = {
    (1, 0): _FORMAT.read_array_header_1_0,
    **dict.fromkeys([(2, 0), (3, 0)], _FORMAT.read_array_header_2_0),
}
# What safetensors and torch call the types of numbers that are read.
_TYPES: dict[str, Any] = {
    **{f"F{8 * size}": f"<f{size}" for size in (8, 4, 2)},
    **{f"{kind.upper()}{8 * size}": f"<{kind}{size}" for kind in "iu" for size in (8, 4, 2, 1)},
    "BF16": BFLOAT16,
}
_STORAGES: dict[str, Any] = {"Double": "f8", "Float": "f4", "Half": "f2", "BFloat16": BFLOAT16, "Bool": "?"}
_STORAGES |= {"Long": "i8", "Int": "i4", "Short": "i2", "Char": "i1", "Byte": "u1"}


def _bytes_of(path: Path) -> Array:
    """Return the bytes of a file, mapped."""
    return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)


def _zipped(path: Path) -> dict[str, Callable[[], Array]]:
    """Return what gives the bytes of each member of a zip, by its name."""
    with told(str(path), "damaged zip"), zipfile.ZipFile(path) as archive:
        found, packed = archive.infolist(), path.stat().st_size
        size = sum(each.file_size for each in found)
        if size > max(_BOMB_BYTES, _BOMB_RATIO * packed):
            raise Refused(
                f"{packed:,} bytes unpack to {size:,}: this looks like a zip bomb and is not read; if it is "
                "real, save it with numpy.savez or numpy.save"
            )
        if len({each.filename for each in found}) < len(found):
            raise Refused("the zip has two members of one name; save it again")
    return {each.filename: cache(partial(_bytes_of_member, path, each)) for each in found}


def _bytes_of_member(path: Path, member: zipfile.ZipInfo) -> Array:
    """Return the bytes of a member of a zip, mapped but for packed ones; its checksum holds."""
    at, size = member.header_offset, member.file_size
    with told(f"{path}: {member.filename}", "damaged zip"):
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:  # checks the header
            if member.compress_type != zipfile.ZIP_STORED:
                return np.frombuffer(stream.read(), np.uint8)
        whole = _bytes_of(path)
        after_header = at + 30 + int(whole[at + 26 : at + 30].view("<u2").sum())  # a name, an extra field
        raw = whole[after_header : after_header + size]
        if size != member.compress_size or zlib.crc32(raw.data) != member.CRC:
            raise ValueError("its checksum does not hold")
        return raw


def _npy(raw: Array, where: str) -> Any:
    """Return the array of a `.npy`, or what reads the pickle in it."""
    stream = io.BytesIO(raw[:_NPY_HEADER_BYTES].tobytes())
    with told(where, "damaged .npy header"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 2 wrote sizes as 5L
        shape, is_fortran, dtype = _READ_HEADER[_FORMAT.read_magic(stream)](stream)
        values = raw[stream.tell() :]
        if dtype.hasobject:
            return partial(load_plain, values, where)
        return array_in(values, dtype, shape, "F" if is_fortran else "C")


def _of_npy(path: Path) -> Any:
    found = _npy(_bytes_of(path), str(path))
    found = found() if callable(found) else found
    is_one = isinstance(found, np.ndarray) and found.dtype.hasobject and not found.shape
    return found.item() if is_one else found


def _of_npz(path: Path) -> dict[str, Any]:
    found = {name.removesuffix(".npy"): raw for name, raw in _zipped(path).items() if name.endswith(".npy")}
    return {name: _npy(raw(), f"{path}: {name}") for name, raw in found.items()}


def _torch_pickles(members: Iterable[str]) -> list[str]:
    return [name for name in members if name.rpartition("/")[2] == "data.pkl"]


def _of_torch(path: Path) -> Any:
    """Return what `torch.save` wrote since torch 1.6: a zip with a pickle that says where each tensor is."""
    members = _zipped(path)
    pickles = _torch_pickles(members)
    if len(pickles) != 1:
        raise FormatError(f"{path}: {len(pickles)} data.pkl in one file, expected one; save it again")
    folder = pickles[0].removesuffix("data.pkl")
    said = members.get(f"{folder}byteorder")
    order = "<" if said is None or said().tobytes().strip() != b"big" else ">"

    def tensor(storage: Any, offset: int, shape: Any, strides: Any, *more: Any) -> Any:
        """Return a view of a storage; offset and strides count numbers."""
        if any(isinstance(entry, dict) and (entry.get("neg") or entry.get("conj")) for entry in more[2:]):
            raise Refused("a tensor that is a negative or conjugate view; save tensor.resolve_neg()")
        (dtype, key, n_values), size = storage, storage[0].itemsize
        if (held := members.get(f"{folder}data/{key}")) is None:
            raise Refused(f"no data/{str(key)[:40]} in the file; copy it again from its source")
        raw, steps = held()[: n_values * size], [each * size for each in strides]
        found = array_in(raw, dtype, shape, offset=offset * size, strides=steps)
        if found.nbytes > max(len(raw), _VIEW_BYTES):
            raise Refused(f"a tensor of shape {shape} that is a view; save tensor.contiguous()")
        return found

    names = {f"torch._utils._rebuild_tensor{version}": tensor for version in ("", "_v2")}
    return load_plain(
        members[pickles[0]](),
        str(path),
        _TORCH_NAMES | names,
        lambda each: (np.dtype(_STORAGES[each[1]]).newbyteorder(order), *each[2::2]),
    )


_TORCH_NAMES: dict[str, Any] = {
    **{f"torch.{name}Storage": Name(name) for name in _STORAGES},
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.Size": lambda shape=(): shape,
    "torch.device": lambda *names: ":".join(map(str, names)),
    "argparse.Namespace": lambda *_: {},  # a program's settings, often saved beside its results
}


def _of_safetensors(path: Path) -> dict[str, Any]:
    """Return the tensors of a safetensors file by name: a length, a JSON header, then numbers."""
    raw, found = _bytes_of(path), dict[str, Any]()
    length = int.from_bytes(raw[:8].tobytes(), "little")
    if length > min(_SAFETENSORS_HEADER_BYTES, len(raw) - 8):
        raise FormatError(
            f"{path}: a header of {length:,} bytes in a file of {len(raw):,}, expected at most "
            f"{_SAFETENSORS_HEADER_BYTES:,} and within the file; copy it again from its source"
        )
    with told(str(path), "the header is not JSON of tensors"):
        header = dict(json.loads(raw[8 : 8 + length].tobytes()))
    header.pop("__metadata__", None)
    for name, about in header.items():
        where = f"{path}: tensor {name[:60]!r}"
        with told(where, "lacks dtype, shape or data_offsets"):
            kind, shape, (first, last) = about["dtype"], about["shape"], about["data_offsets"]
            if kind not in _TYPES:
                found[name] = Name(f"{kind} of shape {shape}")
                continue
            found[name] = array_in(raw[8 + length :], np.dtype(_TYPES[kind]), shape, offset=first)
            if last - first != (needed := found[name].nbytes):
                raise Refused(f"{last - first:,} bytes, expected {needed:,} of {kind} with shape {shape}")
    return found


_ZIP = rb"PK(?:\x03\x04|\x05\x06)"
_PICKLE = (
    rb"(?!.{0,20}\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19\.)(?:"  # a number of torch before 1.6
    rb"\x80[\x02-\x05]"  # a protocol from 2 on says so
    rb"|\([ld]p[0-9]+\n|[\]}]q."  # a list or a dict of protocol 0 or 1
    rb"|\((?:V[^\n]*\np[0-9]+\n|S['\"]|[ILF][-0-9.L]+\n|X.{4})|V[^\n]*\np0\n\."  # a tuple, or a text
    rb"|c(?:numpy[\w.]*|collections|__builtin__|copy_reg)\n\w+\n(?:p[0-9]+\n|q.))"  # an array, a set
)

# The formats of files of arrays, each its name, what it is, how it is known, a file's test, and its tree.
FORMATS: tuple[tuple[str, str, str, Callable[[bytes, Path], bool], Callable[[Path], Any]], ...] = (
    (
        *("torch", "a file of torch.save", "a zip with data.pkl"),
        *(begins(_ZIP, lambda _, path: bool(_torch_pickles(_zipped(path)))), _of_torch),
    ),
    (
        *("npz", "NumPy arrays, .npz", "a zip without data.pkl"),
        *(begins(_ZIP, lambda _, path: any(name.endswith(".npy") for name in _zipped(path))), _of_npz),
    ),
    ("npy", "a NumPy array, .npy", "begins with \\x93NUMPY", begins(rb"\x93NUMPY"), _of_npy),
    (
        *("safetensors", "a safetensors file", "begins with the length of a JSON header"),
        *(begins(rb"(?!\0{5}).{5}\0{3}\{"), _of_safetensors),
    ),
    (
        *("pickle", "a pickle of arrays", "begins as pickles do", begins(_PICKLE)),
        lambda path: load_plain(_bytes_of(path), str(path)),
    ),
)


def tree_of(start: bytes, path: Path) -> Any:
    """Return what a file of arrays holds, None of another file; start: its first bytes."""
    return next((tree(path) for *_, sniff, tree in FORMATS if sniff(start, path)), None)
