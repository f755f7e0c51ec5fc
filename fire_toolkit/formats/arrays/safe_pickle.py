"""Pickles read as data: Python's own reader, with plain containers and numpy arrays and nothing else.

A pickle is a program that names functions and calls them. Here each name is looked up in a table of builders
of our own, and a name that is not in the table ends the reading: nothing is imported. Arrays are
made from their bytes with a dtype of plain numbers or text, never by numpy's own `__setstate__`, which trusts
what it is given; no attribute of anything is set.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.pickle_builders import (
    BARE_NAMES,
    BUILDERS,
    Builder,
    Name,
    Refused,
    Unfinished,
    as_key,
    of_objects,
)

_MAX_DEPTH = 64
_MAX_SHARING = 16  # how many values a value of the file may stand for on average, through references


def load_plain(
    stream: BinaryIO,
    *,
    max_bytes: int,
    where: str = "pickle",
    builders: Mapping[str, Builder] | None = None,
    persistent: Callable[[object], object] | None = None,
) -> object:
    """Return the plain value that a pickle holds, of protocols 0 to 5, without running anything in it.

    Args:
        stream: an open binary file, read to its end.
        max_bytes: refuse more than this many; the value in memory may take some sixty times as much.
        where: the file's name for errors.
        builders: more names that may be called, `module.name` → a function of our own that is given
            the plain arguments (a bare name among them is a `Name`).
        persistent: what a persistent id stands for; by default such ids are refused.

    Returns:
        dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, bool, None, and
        numpy arrays (read-only), scalars and dtypes of booleans, numbers, text or plain objects,
        written by numpy 1 or 2. OrderedDict, defaultdict and Counter become dict. A byte string of
        Python 2 is text where it is UTF-8, bytes otherwise.

    Raises:
        FormatError: the bytes are not a complete pickle, or contain anything else; nesting deeper than 64; a
            value that contains itself; few bytes that stand for very many values.

    Examples:
        >>> import pickle
        >>> load_plain(io.BytesIO(pickle.dumps({"clip": [["a", "dog"]]})), max_bytes=1000)
        {'clip': [['a', 'dog']]}
        >>> load_plain(io.BytesIO(b"cos\\nsystem\\n(Vls\\ntR."), max_bytes=1000)
        Traceback (most recent call last):
        ...
        fire_toolkit.errors.FormatError: pickle: refers to 'os.system', expected plain data: ...
    """
    raw = stream.read(max_bytes + 1)
    if len(raw) > max_bytes:
        raise FormatError(f"{where}: a pickle of more than {max_bytes:,} bytes is not read")
    try:
        value = _PlainUnpickler(raw, {**BUILDERS, **(builders or {})}, persistent).load()
        walk = _Walk()
        finished = walk.of(value, 0)
    except Refused as refused:
        raise FormatError(f"{where}: {refused}") from None
    except Exception as error:  # damaged bytes make the reader fail in any way
        words = str(error) or type(error).__name__
        raise FormatError(f"{where}: damaged or truncated pickle ({words}); copy it again") from None
    if finished.n_values > 1000 + _MAX_SHARING * walk.n_items:
        raise FormatError(
            f"{where}: stands for {finished.n_values:,} values through references, expected a few for each"
        )
    return finished.value


_PYTHONS: Any = pickle._Unpickler  # not the one in C, which has no steps to override


class _PlainUnpickler(_PYTHONS):  # type: ignore[misc]
    """Python's reader, whose names are builders, whose keys are scalars, and which sets no attributes."""

    def __init__(
        self, raw: bytes, builders: Mapping[str, Builder], persistent: Callable[[object], object] | None
    ) -> None:
        super().__init__(io.BytesIO(raw))
        self.n_bytes = len(raw)
        self.builders, self.persistent = builders, persistent

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        found = Name(full, self.builders.get(full))
        if found.build is None and full not in BARE_NAMES and self.persistent is None:
            raise found.refused()
        return found

    def persistent_load(self, pid: object) -> object:
        if self.persistent is None:
            raise Refused("refers to something outside the file (a persistent id), expected plain data")
        return self.persistent(pid)

    def _decode_string(self, value: bytes) -> str | bytes:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value

    def _load_new(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self.stack[-1](*arguments)

    def _load_build(self) -> None:
        state, made = self.stack.pop(), self.stack[-1]
        if isinstance(made, Unfinished):
            made.value = made.finish(state)
        elif not isinstance(made, dict):
            raise Refused("sets attributes of an object, expected plain data")

    def _load_dict(self) -> None:
        items = self.pop_mark()
        self.stack.append(dict(zip(map(as_key, items[::2]), items[1::2], strict=True)))

    def _load_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._put([key, value])

    def _load_items(self) -> None:
        self._put(self.pop_mark())

    def _put(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise Refused("sets items of something other than a dict, expected plain data")
        self.stack[-1].update(zip(map(as_key, items[::2]), items[1::2], strict=True))

    def _load_members(self) -> None:
        members = self.pop_mark()
        if not isinstance(self.stack[-1], set):
            raise Refused("adds to something other than a set, expected plain data")
        self.stack[-1].update(map(as_key, members))

    def _load_frozenset(self) -> None:
        members = self.pop_mark()
        self.stack.append(frozenset(map(as_key, members)))

    def _load_bytearray(self) -> None:
        (length,) = struct.unpack("<Q", self.read(8))
        if length > self.n_bytes:
            raise ValueError(f"{length:,} bytes in a pickle of {self.n_bytes:,}")
        self.stack.append(bytearray(self.read(length)))

    dispatch = {  # noqa: RUF012  # as the class above has it
        **_PYTHONS.dispatch,
        pickle.NEWOBJ[0]: _load_new,
        pickle.BUILD[0]: _load_build,
        pickle.DICT[0]: _load_dict,
        pickle.SETITEM[0]: _load_item,
        pickle.SETITEMS[0]: _load_items,
        pickle.ADDITEMS[0]: _load_members,
        pickle.FROZENSET[0]: _load_frozenset,
        pickle.BYTEARRAY8[0]: _load_bytearray,
    }


@dataclass(frozen=True)
class _Finished:
    """A value whose arrays are made, how many values it stands for, and how deep it is nested."""

    value: Any
    n_values: int = 1
    height: int = 0


class _Walk:
    """Puts finished arrays in their places, and refuses leftover names, deep nesting and cycles.

    n_items: the values in all containers, each container counted once.
    """

    def __init__(self) -> None:
        self.seen: dict[int, tuple[object, _Finished]] = {}  # with the object, whose id is so not given again
        self.n_items = 0

    def of(self, value: Any, depth: int) -> _Finished:
        """Return a value as it is to be handed out."""
        if isinstance(value, Name):
            raise value.refused()
        if isinstance(value, Unfinished):
            if value.value is None:
                raise Refused("an array without its content")
            value = value.value
        is_array = isinstance(value, np.ndarray) and value.dtype.hasobject
        if not is_array and not isinstance(value, dict | list | tuple):
            return _Finished(value)
        known = self.seen.get(id(value))
        if depth + (known[1].height if known else 0) > _MAX_DEPTH:
            raise Refused(f"nested deeper than {_MAX_DEPTH}, or contains itself")
        if known:
            return known[1]
        inner = list(value.values()) if isinstance(value, dict) else list(value.flat if is_array else value)
        parts = [self.of(each, depth + 1) for each in inner]
        self.n_items += len(parts)
        n_values, height = (
            1 + sum(part.n_values for part in parts),
            1 + max((p.height for p in parts), default=0),
        )
        finished = _Finished(_with_parts(value, [part.value for part in parts]), n_values, height)
        self.seen[id(value)] = value, finished
        return finished


def _with_parts(value: Any, parts: list[Any]) -> Any:
    """Return a container with these values in the places of its own."""
    if isinstance(value, tuple):
        return tuple(parts)
    if isinstance(value, dict):
        value.update(zip(value, parts, strict=True))
        return value
    if isinstance(value, list):
        value[:] = parts
        return value
    return of_objects(parts, value.shape)
