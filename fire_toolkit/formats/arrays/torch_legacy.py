"""Files of `torch.save` before torch 1.6: five pickles one after the other, then the storages' numbers.

The pickles are a magic number, a version, the system, the value, and the storages' keys in their order.
Each storage is its count in eight bytes, then its numbers.
"""

from __future__ import annotations

import io
import math
import pickletools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import Arrays, ArrayShelf
from fire_toolkit.formats.arrays.safe_pickle import DAMAGED, load_plain
from fire_toolkit.formats.arrays.torch_tensors import (
    GATHER_BYTES,
    PICKLE_BYTES,
    TENSOR_BUILDERS,
    Filler,
    Storage,
    Tensor,
    storage_of,
)
from fire_toolkit.formats.runs.matrix import FileMatrix, Matrix

_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_N_PICKLES = 5
_COUNT_BYTES = 8


def begins_as_legacy(start: bytes) -> bool:
    """Whether bytes begin as these files do."""
    return _MAGIC in start[:32]


def read_legacy(path: Path) -> Arrays:
    """Return the tensors of a file, as `read_torch` does.

    Raises:
        FormatError: as `read_torch`; or the pickles are larger than 64 MiB.
    """
    with path.open("rb") as stream:
        raw = stream.read(PICKLE_BYTES)
    parts, end = _pickles(raw, str(path))
    used: dict[str, Storage] = {}

    def remember(reference: object) -> Storage:
        storage = storage_of(reference)
        return used.setdefault(storage.key, storage)

    system = load_plain(io.BytesIO(parts[2]), max_bytes=PICKLE_BYTES, where=str(path))
    value = load_plain(
        io.BytesIO(parts[3]),
        max_bytes=PICKLE_BYTES,
        where=str(path),
        builders=TENSOR_BUILDERS,
        persistent=remember,
    )
    keys = load_plain(io.BytesIO(parts[4]), max_bytes=PICKLE_BYTES, where=str(path))
    order = ">" if isinstance(system, dict) and system.get("little_endian") is False else "<"
    shelf = ArrayShelf(str(path))
    Filler(_Stretches(path, _places(path, keys, used, end, order), order), shelf, order).fill("", value)
    return shelf.arrays()


def _pickles(raw: bytes, where: str) -> tuple[list[bytes], int]:
    """Return the pickles that a file begins with, and where they end."""
    stream, found = io.BytesIO(raw), []
    try:
        for _ in range(_N_PICKLES):
            start = stream.tell()
            for _opcode in pickletools.genops(stream):
                pass
            found.append(raw[start : stream.tell()])
    except DAMAGED as error:
        raise FormatError(
            f"{where}: damaged, cut off, or a value of more than {PICKLE_BYTES:,} bytes ({error}); save it "
            "again with a newer torch"
        ) from None
    return found, stream.tell()


def _places(path: Path, keys: Any, used: Mapping[str, Storage], start: int, order: str) -> dict[str, int]:
    """Return where the numbers of each storage begin.

    Raises:
        FormatError: a storage is not of the size its tensors say, or the file ends before it.
    """
    if not isinstance(keys, list):
        raise FormatError(f"{path}: damaged: no list of storages; copy it again from its source")
    found, size = {}, path.stat().st_size
    with path.open("rb") as stream:
        for key in keys:
            storage = used.get(key) if isinstance(key, str) else None
            stream.seek(start)
            count = int.from_bytes(stream.read(_COUNT_BYTES), "little" if order == "<" else "big")
            if storage is None or count != storage.n_values:
                raise FormatError(f"{path}: damaged: a storage of {count:,} values that no tensor has")
            found[key] = start + _COUNT_BYTES
            start = found[key] + count * storage.in_order(order).itemsize
            if start > size:
                raise FormatError(f"{path}: cut off: {size:,} bytes, expected {start:,}; copy it again")
    return found


@dataclass(frozen=True)
class _Stretches:
    """Storages as stretches of a file."""

    path: Path
    places: dict[str, int]
    order: str

    def where(self, storage: Storage) -> str:
        """Return the file's name."""
        if storage.key not in self.places:
            raise FormatError(f"{self.path}: no storage {storage.key[:40]!r}; copy it again from its source")
        return str(self.path)

    def content(self, storage: Storage) -> bytes:
        """Return the storage's bytes."""
        n_bytes = storage.n_values * storage.in_order(self.order).itemsize
        if n_bytes > GATHER_BYTES:
            raise FormatError(f"{self.where(storage)}: a tensor that is a view; save tensor.contiguous()")
        with self.path.open("rb") as stream:
            stream.seek(self.places[storage.key])
            return stream.read(n_bytes)

    def matrix(self, tensor: Tensor, shape: tuple[int, ...], *, is_flipped: bool) -> Matrix:
        """Return a matrix in the storage."""
        where, dtype = self.where(tensor.storage), tensor.storage.in_order(self.order)
        start = self.places[tensor.storage.key] + tensor.offset * dtype.itemsize
        if tensor.offset + math.prod(shape) > tensor.storage.n_values:
            raise FormatError(f"{where}: a tensor beyond its storage; copy it again from its source")
        is_bfloat16 = tensor.storage.is_bfloat16
        return FileMatrix(where, self.path, start, shape, dtype, is_flipped, is_bfloat16)
