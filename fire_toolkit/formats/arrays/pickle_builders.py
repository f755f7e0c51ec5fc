"""Values that a pickle may build besides plain containers: numpy arrays and scalars, sets, bytes, dicts.

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


@dataclass(frozen=True)
class Name:
    """A name that a pickle refers to (`numpy.ndarray`), not the thing of that name."""

    name: str


@dataclass
class Pending:
    """An array or dtype whose state has not been read yet, and its places in the memo."""

    complete: Callable[[Any], object]
    memo_keys: list[int] = field(default_factory=list)


class Refused(Exception):
    """A pickle is refused; the text says why, and becomes a FormatError that names the file."""


def as_key(value: Any) -> Any:
    """Return `value` if it may be a key: a scalar, or a tuple of scalars."""
    parts = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(part, _SCALARS) for part in parts):
        raise Refused(f"a key is a {type(value).__name__}, expected text, a number or a tuple of them")
    return value


def _as_bytes(value: object) -> bytes | bytearray:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, bytes | bytearray):
        return value
    raise Refused(f"the content of an array is a {type(value).__name__}, expected bytes")


def _start_dtype(spec: object, *_: object) -> Pending:
    text = spec.decode("ascii") if isinstance(spec, bytes) else spec
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise Refused(f"an array of type {text!r}, expected booleans, numbers or text")
    return Pending(lambda state: _finished_dtype(text, state))


def _finished_dtype(spec: str, state: Any) -> np.dtype[Any]:
    """Return the dtype of `spec` in the byte order its state names; a state with fields is refused."""
    if not isinstance(state, tuple) or len(state) < 5 or any(part is not None for part in state[2:5]):
        raise Refused("an array of records, expected booleans, numbers or text")
    order = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
    if order not in ("<", ">", "|", "="):
        raise Refused(f"byte order {order!r}, expected <, >, | or =")
    plain = np.dtype(spec)
    if order in ("|", "="):
        return plain
    return plain.newbyteorder("<" if order == "<" else ">")


def _as_shape(value: object) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) > 32:
        raise Refused("an array without a shape")
    if not all(isinstance(size, int) and size >= 0 for size in value):
        raise Refused(f"an array of shape {value}, expected sizes of 0 or more")
    return value


def _array(content: object, dtype: object, shape: object, order: str) -> Array:
    """Return the array of exactly these values; the content must fill the shape."""
    if not isinstance(dtype, np.dtype):
        raise Refused("an array without a type")
    sizes = _as_shape(shape)
    n_values = math.prod(sizes)
    if dtype.hasobject:
        if not isinstance(content, list) or len(content) != n_values:
            raise Refused(f"an array of shape {sizes} without its {n_values:,} objects")
        values: Array = np.empty(n_values, dtype=object)
        for place, item in enumerate(content):
            values[place] = item
    else:
        raw = _as_bytes(content)
        if dtype.itemsize == 0 or len(raw) != n_values * dtype.itemsize:
            raise Refused(f"an array of shape {sizes} and type {dtype} with {len(raw):,} bytes")
        values = np.frombuffer(raw, dtype=dtype) if raw else np.empty(0, dtype=dtype)
        _check_values(values)
    values.flags.writeable = False
    return values.reshape(sizes, order="F" if order == "F" else "C")


def _check_values(values: Array) -> None:
    """Refuse bytes that are not values of their type: booleans beyond 1, characters beyond Unicode."""
    if values.dtype.kind == "b" and values.size and values.view(np.uint8).max() > 1:
        raise Refused("an array of booleans with bytes other than 0 and 1")
    if values.dtype.kind == "U" and values.size:
        characters = values.view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        if characters.max() > 0x10FFFF:
            raise Refused("an array of text with an invalid character")


def _start_array(kind: object, *_: object) -> Pending:
    if kind != Name("numpy.ndarray"):
        raise Refused("an array of a custom class, expected numpy.ndarray")
    return Pending(_finished_array)


def _finished_array(state: Any) -> Array:
    if not isinstance(state, tuple) or len(state) not in (4, 5):
        raise Refused("an array without its content")
    shape, dtype, is_fortran, content = state[-4:]
    return _array(content, dtype, shape, "F" if is_fortran is True or is_fortran == 1 else "C")


def _array_from_buffer(content: object, dtype: object, shape: object, order: object = "C") -> object:
    if order not in ("C", "F"):
        raise Refused(f"an array in order {order!r}, expected C or F")
    return _array(content, dtype, shape, str(order))


def _scalar(dtype: object, content: object = b"") -> object:
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        raise Refused("a scalar that is an object")
    return _array(content, dtype, (1,), "C")[0]


def _encoded(text: object, encoding: object = "utf-8") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "utf-8", "utf8", "ascii"):
        raise Refused("encodes something other than text")
    return text.encode(str(encoding))


def _empty_or(kind: type, *arguments: object) -> Any:
    """Return a `kind` made from a list of keys, or an empty one."""
    if not arguments:
        return kind()
    if len(arguments) > 1 or not isinstance(arguments[0], list | tuple):
        raise Refused(f"makes a {kind.__name__} from something other than a list")
    return kind(map(as_key, arguments[0]))


def _plain_bytes(*arguments: object) -> bytes:
    if not arguments:
        return b""
    return _encoded(*arguments) if isinstance(arguments[0], str) else bytes(_as_bytes(arguments[0]))


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


_NUMPY: dict[str, Builder] = {
    "multiarray._reconstruct": _start_array,
    "multiarray.scalar": _scalar,
    "numeric._frombuffer": _array_from_buffer,
}
BUILDERS: dict[str, Builder] = {
    **{f"numpy.{core}.{name}": builder for core in ("core", "_core") for name, builder in _NUMPY.items()},
    "numpy.dtype": _start_dtype,
    "_codecs.encode": _encoded,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _dict,
    "collections.Counter": _dict,
}
_PLAIN: dict[str, Builder] = {
    "set": lambda *arguments: _empty_or(set, *arguments),
    "frozenset": lambda *arguments: _empty_or(frozenset, *arguments),
    "bytes": _plain_bytes,
    "bytearray": lambda *arguments: bytearray(_plain_bytes(*arguments)),
    "complex": _complex,
}
_MODULES = ("builtins", "__builtin__")
BUILDERS |= {f"{module}.{name}": builder for module in _MODULES for name, builder in _PLAIN.items()}
BARE_NAMES = {
    "numpy.ndarray",
    *(f"{module}.{name}" for module in _MODULES for name in ("list", "dict", "int", "float")),
}
