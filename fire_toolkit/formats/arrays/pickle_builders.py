"""What a pickle may build besides plain containers: numpy arrays and scalars, sets, bytes, dicts.

Each builder stands for one name in a pickle and gets plain arguments. It checks them and builds the value
itself; nothing in the named module is called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Builder = Callable[..., object]
Array = np.ndarray[Any, Any]

_DTYPE = re.compile(r"[<>|=]?(?:b1|\?|[iu][1248]|f(?:2|4|8)|c(?:8|16)|[SU]\d{1,6}|O8?)")
_SCALARS = (str, bytes, int, float, complex, type(None), np.generic)


class Refused(Exception):
    """A pickle is refused; the text says why, and becomes a FormatError that names the file."""


@dataclass(frozen=True)
class Name:
    """A name that a pickle refers to (`numpy.ndarray`), not the thing of that name; and what builds one."""

    name: str
    build: Builder | None = field(default=None, compare=False)

    def __call__(self, *arguments: object) -> object:
        """Return what the builder of this name makes; one without a builder is refused."""
        if self.build is None:
            raise self.refused()
        return self.build(*arguments)

    def refused(self) -> Refused:
        """Return why a name that is not in the table ends the reading."""
        return Refused(
            f"refers to {self.name!r}, expected plain data: containers, text, numbers and numpy arrays; "
            "nothing in the file was run"
        )


@dataclass(eq=False)
class Unfinished:
    """An array or dtype that is made when its state is read; `value` is it."""

    finish: Callable[[Any], object]
    value: Any = None


def of_objects(values: list[Any], shape: tuple[int, ...], order: Any = "C") -> Array:
    """Return an array of these objects in this shape."""
    made: Array = np.empty(len(values), dtype=object)
    for place, item in enumerate(values):
        made[place] = item
    made.flags.writeable = False
    return made.reshape(shape, order=order)


def as_key(value: Any) -> Any:
    """Return `value` if it may be a key: a scalar, or a tuple of scalars."""
    parts = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(part, _SCALARS) for part in parts):
        raise Refused(f"a key is a {type(value).__name__}, expected text, a number or a tuple of them")
    return value


def _text(value: object) -> object:
    return value.decode("ascii") if isinstance(value, bytes) else value


def _as_bytes(value: object) -> bytes | bytearray:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, bytes | bytearray):
        return value
    raise Refused(f"the content of an array is a {type(value).__name__}, expected bytes")


def _start_dtype(spec: object, *_: object) -> Unfinished:
    """Begin a dtype; its state names the byte order, and one with fields is refused."""
    text = _text(spec)
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise Refused(f"an array of type {text!r}, expected booleans, numbers or text")

    def finish(state: Any) -> np.dtype[Any]:
        if not isinstance(state, tuple) or len(state) < 5 or any(part is not None for part in state[2:5]):
            raise Refused("an array of records, expected booleans, numbers or text")
        order = _text(state[1])
        if order not in ("<", ">", "|", "="):
            raise Refused(f"byte order {order!r}, expected <, >, | or =")
        plain = np.dtype(text)
        return plain.newbyteorder(order) if order in ("<", ">") else plain

    return Unfinished(finish)


def _array(content: object, dtype: object, shape: object, order: str) -> Array:
    """Return the array of exactly these values; the content must fill the shape."""
    dtype = dtype.value if isinstance(dtype, Unfinished) else dtype
    if not isinstance(dtype, np.dtype):
        raise Refused("an array without a type")
    if not isinstance(shape, tuple) or len(shape) > 32:
        raise Refused("an array without a shape")
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        raise Refused(f"an array of shape {shape}, expected sizes of 0 or more")
    n_values, by = math.prod(shape), "F" if order == "F" else "C"
    if dtype.hasobject:
        if not isinstance(content, list) or len(content) != n_values:
            raise Refused(f"an array of shape {shape} without its {n_values:,} objects")
        return of_objects(content, shape, by)
    raw = _as_bytes(content)
    if dtype.itemsize == 0 or len(raw) != n_values * dtype.itemsize:
        raise Refused(f"an array of shape {shape} and type {dtype} with {len(raw):,} bytes")
    values = np.frombuffer(raw, dtype=dtype) if raw else np.empty(0, dtype=dtype)
    _check_values(values)
    values.flags.writeable = False
    return values.reshape(shape, order=by)  # type: ignore[call-overload, no-any-return]


def _check_values(values: Array) -> None:
    """Refuse bytes that are not values of their type: booleans beyond 1, characters beyond Unicode."""
    if values.dtype.kind == "b" and values.size and values.view(np.uint8).max() > 1:
        raise Refused("an array of booleans with bytes other than 0 and 1")
    if values.dtype.kind == "U" and values.size:
        characters = values.view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        if characters.max() > 0x10FFFF:
            raise Refused("an array of text with an invalid character")


def _start_array(kind: object, *_: object) -> Unfinished:
    if kind != Name("numpy.ndarray"):
        raise Refused("an array of a custom class, expected numpy.ndarray")

    def finish(state: Any) -> Array:
        if not isinstance(state, tuple) or len(state) not in (4, 5):
            raise Refused("an array without its content")
        shape, dtype, is_fortran, content = state[-4:]
        return _array(content, dtype, shape, "F" if is_fortran is True or is_fortran == 1 else "C")

    return Unfinished(finish)


def _array_from_buffer(content: object, dtype: object, shape: object, order: object = "C") -> object:
    if order not in ("C", "F"):
        raise Refused(f"an array in order {order!r}, expected C or F")
    return _array(content, dtype, shape, str(order))


def _scalar(dtype: object, content: object = b"") -> object:
    if isinstance(dtype, Unfinished) and dtype.value is not None and dtype.value.hasobject:
        raise Refused("a scalar that is an object")
    return _array(content, dtype, (1,), "C")[0]


def _encoded(text: object, encoding: object = "utf-8") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "utf-8", "utf8", "ascii"):
        raise Refused("encodes something other than text")
    return text.encode(str(encoding))


def _plain_bytes(*arguments: object) -> bytes:
    if not arguments:
        return b""
    return _encoded(*arguments) if isinstance(arguments[0], str) else bytes(_as_bytes(arguments[0]))


def _members(kind: type) -> Builder:
    """Return what makes a `kind` of a list of keys, or an empty one."""

    def build(*arguments: object) -> Any:
        if not arguments:
            return kind()
        if len(arguments) > 1 or not isinstance(arguments[0], list | tuple):
            raise Refused(f"makes a {kind.__name__} from something other than a list")
        return kind(map(as_key, arguments[0]))

    return build


def _complex(real: object, imaginary: object) -> complex:
    if not isinstance(real, float) or not isinstance(imaginary, float):
        raise Refused("makes a complex number from values that are not numbers")
    return complex(real, imaginary)


def _dict(*arguments: object) -> dict[Any, Any]:
    """Return a dict of what an OrderedDict, defaultdict or Counter was made with."""
    content = [argument for argument in arguments if not isinstance(argument, Name) and argument]
    if not content:
        return {}
    if len(content) == 1 and isinstance(content[0], dict):
        return dict(content[0])
    if len(content) == 1 and isinstance(content[0], list):
        return {as_key(key): value for key, value in content[0]}
    raise Refused("makes a dict from something else")


_MODULES = ("builtins", "__builtin__")
_PLAIN: dict[str, Builder] = {
    "set": _members(set),
    "frozenset": _members(frozenset),
    "bytes": _plain_bytes,
    "bytearray": lambda *arguments: bytearray(_plain_bytes(*arguments)),
    "complex": _complex,
}
_NUMPY: dict[str, Builder] = {
    "multiarray._reconstruct": _start_array,
    "multiarray.scalar": _scalar,
    "numeric._frombuffer": _array_from_buffer,
}
BUILDERS: dict[str, Builder] = {
    **{f"numpy.{core}.{name}": builder for core in ("core", "_core") for name, builder in _NUMPY.items()},
    **{f"{module}.{name}": builder for module in _MODULES for name, builder in _PLAIN.items()},
    "numpy.dtype": _start_dtype,
    "_codecs.encode": _encoded,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _dict,
    "collections.Counter": _dict,
}
BARE_NAMES = {
    "numpy.ndarray",
    *(f"{module}.{name}" for module in _MODULES for name in ("list", "dict", "int", "float")),
}
