"""Pickles read as data: Python's own reader, with plain containers and numpy arrays and nothing else.

A pickle is a program that names functions and calls them. Here each name is looked up in a table of functions
of our own, and a name that is not in the table ends the reading: nothing is imported. Content and dtype of an
array are checked before numpy gets them; no attribute of anything is set.
"""

import io
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fire_toolkit.errors import FireError, FormatError

MOST_BYTES = 512 << 20  # of a pickle; its value in memory may take some sixty times as much
_MAX_DEPTH = 64
_MAX_SHARING = 16  # how many values a value of the file may stand for on average, through references
_DTYPE = re.compile(r"[<>|=]?(?:b1|\?|[iu][1248]|f(?:2|4|8)|c(?:8|16)|[SU]\d{1,6}|O8?)")
OF_FRAME = (
    "save a matrix by numpy.savez('run.npz', sims=frame.to_numpy(), query_ids=frame.index, "
    "doc_ids=frame.columns)"
)
# What to do with objects of a package; of others.
_REMEDIES = {
    "pandas": f"{OF_FRAME}, rows of pairs by frame.to_csv('run.csv', index=False)",
    "torch": "save a tensor by numpy.save('sims.npy', tensor.float().cpu().numpy())",
    "": "save arrays by numpy.savez, and lists as JSON",
}
_ENCODINGS = ("latin1", "latin-1", "utf-8", "utf8", "ascii")
_SCALARS = (str, bytes, int, float, complex, type(None), np.generic)


class Refused(Exception):
    """A pickle is refused; the text says why, and becomes a FormatError that names the file."""


class Name(str):
    """A name that a pickle may refer to and not call, such as `numpy.ndarray`."""


@contextmanager
def told(where: str, damage: str) -> Iterator[None]:
    """Make one FormatError of whatever goes wrong in reading: a refusal's reason, else what is damaged."""
    try:
        yield
    except FireError:
        raise
    except Refused as refused:
        raise FormatError(f"{where}: {refused}") from None
    except Exception as error:  # damaged bytes make readers fail in any way
        reason = str(error) or type(error).__name__
        raise FormatError(f"{where}: {damage} ({reason}); copy it again from its source") from None


def array_in(raw: Any, dtype: Any, shape: Any, order: Any = "C", offset: int = 0, strides: Any = None) -> Any:
    """Return the array of a shape and type in some bytes; it is refused where numpy finds none in them."""
    try:
        if not dtype.itemsize:
            raise ValueError("values of no byte")
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, raw, offset, strides, order)
    except Exception as error:  # of another type for each reason
        found = f"{len(raw):,} bytes for an array of shape {str(shape)[:60]} and type {dtype} ({error})"
        raise Refused(f"damaged or truncated: {found}; copy it again from its source") from None


def load_plain(
    raw: Any,
    where: str = "pickle",
    known: Mapping[str, Any] | None = None,
    persistent: Callable[[Any], Any] | None = None,
) -> Any:
    """Return the plain value that a pickle of protocol 0 to 5 holds, without running anything in it.

    Args:
        raw: its bytes; more than `MOST_BYTES` are refused.
        where: the file's name for errors.
        known: more names, `module.name` → a function of our own that is given the plain arguments, or a
            value.
        persistent: what a persistent id stands for; by default such ids are refused.

    Returns:
        Containers, text, bytes, numbers, None, and numpy arrays, scalars and dtypes of booleans, numbers,
        text or plain objects. OrderedDict, defaultdict and Counter become dict. A byte string of Python 2
        is text where it is UTF-8, bytes otherwise.

    Raises:
        FormatError: the bytes are not a complete pickle, or contain anything else; nesting deeper than 64; a
            value that contains itself; few bytes that stand for very many values.

    Examples:
        >>> load_plain(b"cos\\nsystem\\n(Vls\\ntR.")
        Traceback (most recent call last):
        ...
        fire_toolkit.errors.FormatError: pickle: refers to 'os.system', expected plain data: ...
    """
    weights: dict[int, tuple[int, int, int]] = {}
    with told(where, "damaged or truncated pickle"):
        if len(raw) > MOST_BYTES:
            raise Refused(f"a pickle of more than {MOST_BYTES:,} bytes is not read")
        reader = _PlainUnpickler(io.BytesIO(raw))
        reader.n_bytes, reader.known = len(raw), _KNOWN | {**(known or {})}
        reader.persistent_load = persistent or reader.persistent_load
        value = reader.load()
        n_values, _ = _weigh(value, weights, 0)
        if n_values > 1000 + _MAX_SHARING * sum(n_parts for _, _, n_parts in weights.values()):
            raise Refused(f"stands for {n_values:,} values through references, expected a few for each")
    return value


def _weigh(value: Any, weights: dict[int, tuple[int, int, int]], depth: int) -> tuple[int, int]:
    """Return how many values a value stands for and how deep it is nested; refuse names and cycles.

    weights: of each container seen, by its place in memory: these two, and its number of parts.
    """
    if isinstance(value, Name) or callable(value):
        raise _unknown(getattr(value, "__name__", str(value)))
    is_objects = isinstance(value, np.ndarray) and value.dtype.hasobject
    if not is_objects and not isinstance(value, dict | list | tuple):
        return 1, 0
    known = weights.get(id(value))
    if depth + (known[1] if known else 0) > _MAX_DEPTH:
        raise Refused(f"nested deeper than {_MAX_DEPTH}, or contains itself")
    if known is None:
        parts = value.values() if isinstance(value, dict) else value.flat if is_objects else value
        inner = [_weigh(part, weights, depth + 1) for part in parts]
        height = 1 + max((part[1] for part in inner), default=0)
        weights[id(value)] = known = 1 + sum(part[0] for part in inner), height, len(inner)
    return known[:2]


def _unknown(name: str) -> Refused:
    words = "expected plain data: containers, text, numbers and numpy arrays; nothing in the file was run"
    return Refused(f"refers to {name!r}, {words}; {_REMEDIES.get(name.split('.')[0], _REMEDIES[''])}")


_PYTHONS: Any = pickle._Unpickler  # not the one in C, which has no steps to override


def _with_keys_checked(opcode: bytes, keys: slice) -> Callable[[Any], None]:
    """Return a step of the reader that first checks those values of its stack that become keys."""

    def checked(reader: Any) -> None:
        _keys(reader.stack[keys])
        _PYTHONS.dispatch[opcode[0]](reader)

    return checked


class _PlainUnpickler(_PYTHONS):  # type: ignore[misc]
    """Python's reader, whose names are ours, whose keys are scalars, and which sets no attributes."""

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in self.known:
            raise _unknown(f"{module}.{name}")
        return self.known[f"{module}.{name}"]

    def _decode_string(self, value: bytes) -> str | bytes:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value

    def _load_build(self) -> None:
        state: Any = self.stack.pop()
        built: Any = self.stack[-1]
        kind: Any = type(built)
        if kind is np.ndarray:
            _, shape, dtype, is_fortran, content = state
            found = _array(content, dtype, shape, "F" if is_fortran else "C")
            content = content if found.dtype.hasobject else _bytes(content)
            built.__setstate__((1, found.shape, found.dtype, bool(is_fortran), content))
        elif issubclass(kind, np.dtype):
            if any(state[2:5]) or state[1] not in ("<", ">", "|", "="):
                raise Refused("an array of records, expected booleans, numbers or text")
            version, order, *rest = built.__reduce__()[2]
            built.__setstate__((version, state[1] if order != "|" else order, *rest))
        elif not isinstance(built, dict):
            raise Refused("sets attributes of an object, expected plain data")

    def _load_bytearray(self) -> None:
        length = int.from_bytes(self.read(8), "little")
        if length > self.n_bytes:
            raise ValueError(f"{length:,} bytes in a pickle of {self.n_bytes:,}")
        self.stack.append(bytearray(self.read(length)))

    dispatch = {  # noqa: RUF012  # as the class above has it
        **_PYTHONS.dispatch,
        pickle.NEWOBJ[0]: _PYTHONS.load_reduce,
        pickle.BUILD[0]: _load_build,
        pickle.BYTEARRAY8[0]: _load_bytearray,
        pickle.SETITEM[0]: _with_keys_checked(pickle.SETITEM, slice(-2, -1)),
        **{
            code[0]: _with_keys_checked(code, slice(None, None, 2)) for code in (pickle.SETITEMS, pickle.DICT)
        },
        **{code[0]: _with_keys_checked(code, slice(None)) for code in (pickle.ADDITEMS, pickle.FROZENSET)},
    }


def _keys(values: Any = ()) -> Any:
    """Return values that may be keys: scalars and tuples of scalars, whose hash takes no time."""
    for value in values:
        for part in value if isinstance(value, tuple) else (value,):
            if not isinstance(part, _SCALARS):
                kind = type(value).__name__
                raise Refused(f"a key is a {kind}, expected text, a number or a tuple of them")
    return values


def _dtype(spec: Any, *_: object) -> np.dtype[Any]:
    """Return a dtype of its own, whose state may name another byte order."""
    text = spec.decode() if isinstance(spec, bytes) else str(spec)
    if not _DTYPE.fullmatch(text):
        raise Refused(f"an array of type {text!r}, expected booleans, numbers or text")
    return np.dtype(text, copy=True)


def _array(content: Any, dtype: Any, shape: Any, order: Any = "C") -> Any:
    """Return the array of exactly these values; the content must fill the shape."""
    if dtype.hasobject:
        return np.fromiter(content, dtype=object, count=len(content)).reshape(shape, order=order)
    raw, dtype = _bytes(content), np.dtype(dtype.str)  # which nothing in the file can change
    values = array_in(raw, dtype, shape, order)
    if values.nbytes != len(raw):
        raise Refused(f"an array of shape {shape} and type {dtype} with {len(raw):,} bytes")
    if dtype.kind == "b" and raw and max(raw) > 1:
        raise Refused("an array of booleans with bytes other than 0 and 1")
    if dtype.kind == "U" and raw and values.view(f"{dtype.byteorder}u4").max() > 0x10FFFF:
        raise Refused("an array of text with an invalid character")
    return values


def _bytes(content: Any = b"", encoding: str = "utf-8") -> bytes:
    if not isinstance(content, str | bytes | bytearray) or encoding not in _ENCODINGS:
        raise Refused(f"makes bytes of a {type(content).__name__}, expected bytes or text")
    return content.encode(encoding) if isinstance(content, str) else bytes(content)


def _dict(*arguments: Any) -> dict[Any, Any]:
    """Return a dict of what an OrderedDict, defaultdict or Counter was made with."""
    content = dict[Any, Any]()
    for given in arguments:
        if given and not isinstance(given, Name):
            pairs = list(given.items()) if isinstance(given, dict) else given
            content |= zip(_keys([key for key, _ in pairs]), [value for _, value in pairs], strict=True)
    return content


_KNOWN: dict[str, Any] = {
    "numpy.ndarray": Name("numpy.ndarray"),
    "numpy.dtype": _dtype,
    "_codecs.encode": _bytes,
    **dict.fromkeys(("collections.OrderedDict", "collections.defaultdict", "collections.Counter"), _dict),
}
for _core in ("numpy.core", "numpy._core"):
    _KNOWN[f"{_core}.multiarray._reconstruct"] = lambda *_: np.empty(0)
    _KNOWN[f"{_core}.multiarray.scalar"] = lambda dtype, content=b"": _array(content, dtype, (1,))[0]
    _KNOWN[f"{_core}.numeric._frombuffer"] = _array
for _module in ("builtins", "__builtin__"):
    _KNOWN |= {f"{_module}.{name}": Name(f"{_module}.{name}") for name in ("list", "dict", "int", "float")}
    _KNOWN[f"{_module}.set"] = lambda values=(): set(_keys(values))
    _KNOWN[f"{_module}.frozenset"] = lambda values=(): frozenset(_keys(values))
    _KNOWN[f"{_module}.bytes"] = _bytes
    _KNOWN[f"{_module}.bytearray"] = lambda *content: bytearray(_bytes(*content))
    _KNOWN[f"{_module}.complex"] = lambda real, imaginary: complex(float(real), float(imaginary))
