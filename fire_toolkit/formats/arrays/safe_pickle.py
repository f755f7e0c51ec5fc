"""Pickles read as data: an interpreter that builds plain containers and numpy arrays and nothing else.

A pickle is a program. Python's own reader imports the names in it and calls them; this one never
imports or calls a name: each name is looked up in a table of builders written here, and a name that is
not in the table ends the reading. Arrays are made from their bytes with a dtype of plain numbers or
text, never by numpy's own `__setstate__`, which trusts what it is given.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, NoReturn

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.pickle_builders import (
    BARE_NAMES,
    BUILDERS,
    Builder,
    Name,
    Pending,
    Refused,
    as_key,
)

# What a damaged pickle raises when its instructions are read; the warning (of an unknown escape in a text)
# only where warnings are errors.
DAMAGED = (ValueError, TypeError, KeyError, IndexError, OverflowError, DeprecationWarning)
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
    machine = _Machine({**BUILDERS, **(builders or {})}, persistent)
    try:
        value = machine.run(raw)
        _check_plain(value, n_steps=machine.n_steps)
    except Refused as refused:
        raise FormatError(f"{where}: {refused}") from None
    except DAMAGED as error:
        raise FormatError(f"{where}: damaged or truncated pickle ({error}); copy it again") from None
    return value


class _Machine:
    """The stack and memo of one pickle; `run` carries out its opcodes one by one."""

    def __init__(
        self, builders: Mapping[str, Builder], persistent: Callable[[object], object] | None
    ) -> None:
        self.builders = builders
        self.persistent = persistent
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.n_steps = 0

    def run(self, raw: bytes) -> object:
        for opcode, argument, _ in pickletools.genops(io.BytesIO(raw)):
            self.n_steps += 1
            name = opcode.name
            if name in _VALUES:
                self.push(_as_value(name, argument))
            elif name == "STOP":
                break
            else:
                step = _STEPS.get(name)
                if step is None:
                    raise Refused(f"holds the instruction {name}, expected plain data")
                step(self, argument)
        return self.stack.pop()

    def push(self, value: object) -> None:
        self.stack.append(value)

    def pop_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marks.pop()
        return items

    def remember(self, key: int) -> None:
        value = self.stack[-1]
        self.memo[key] = value
        if isinstance(value, Pending):
            value.memo_keys.append(key)

    def call(self, name: object, arguments: object) -> None:
        if not isinstance(name, Name) or not isinstance(arguments, tuple):
            raise Refused("calls something other than a name, expected plain data")
        if name.name not in self.builders:
            _refuse_name(name.name)
        self.push(self.builders[name.name](*arguments))

    def push_name(self, module: object, name: object) -> None:
        full = f"{module}.{name}"
        known = full in self.builders or full in BARE_NAMES
        if not known and self.persistent is None:
            _refuse_name(full)
        self.push(Name(full))

    def build(self, state: object) -> None:
        value = self.stack[-1]
        if isinstance(value, Pending):
            self.stack[-1] = complete = value.complete(state)
            for key in value.memo_keys:
                self.memo[key] = complete
        elif not isinstance(value, dict):
            raise Refused("sets attributes of an object, expected plain data")


def _refuse_name(name: str) -> NoReturn:
    raise Refused(
        f"refers to {name!r}, expected plain data: containers, text, numbers and numpy arrays; "
        "nothing in the file was run"
    )


def _as_value(opcode: str, argument: Any) -> object:
    if opcode in _CONSTANTS:
        return _CONSTANTS[opcode]
    if opcode in ("BINSTRING", "SHORT_BINSTRING"):
        raw = argument.encode("latin-1")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw
    return argument


_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_VALUES = {
    *_CONSTANTS,
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
}


def _tuple_of(machine: _Machine, n_items: int) -> None:
    if len(machine.stack) < n_items:
        raise IndexError("the stack is empty")
    items = tuple(machine.stack[-n_items:])
    machine.stack[-n_items:] = [items]


def _append(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, list):
        raise Refused("appends to something other than a list, expected plain data")
    target.extend(items)


def _set_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, dict) or len(items) % 2:
        raise Refused("sets items of something other than a dict, expected plain data")
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[as_key(key)] = value


def _add_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, set):
        raise Refused("adds to something other than a set, expected plain data")
    target.update(map(as_key, items))


def _mark(machine: _Machine) -> None:
    machine.marks.append(machine.stack)
    machine.stack = []


def _persist(machine: _Machine, key: object) -> None:
    if machine.persistent is None:
        raise Refused("refers to something outside the file (a persistent id), expected plain data")
    machine.push(machine.persistent(key))


def _dict_of(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(map(as_key, items[::2]), items[1::2], strict=True))


def _call_top(machine: _Machine) -> None:
    arguments = machine.stack.pop()
    machine.call(machine.stack.pop(), arguments)


def _name_on_stack(machine: _Machine) -> None:
    name = machine.stack.pop()
    machine.push_name(machine.stack.pop(), name)


_STEPS: dict[str, Callable[[_Machine, Any], object]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "MARK": lambda machine, _: _mark(machine),
    "POP": lambda machine, _: machine.stack.pop() if machine.stack else machine.pop_mark(),
    "POP_MARK": lambda machine, _: machine.pop_mark(),
    "DUP": lambda machine, _: machine.push(machine.stack[-1]),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_SET": lambda machine, _: machine.push(set()),
    "LIST": lambda machine, _: machine.push(machine.pop_mark()),
    "DICT": lambda machine, _: machine.push(_dict_of(machine.pop_mark())),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_mark())),
    "TUPLE1": lambda machine, _: _tuple_of(machine, 1),
    "TUPLE2": lambda machine, _: _tuple_of(machine, 2),
    "TUPLE3": lambda machine, _: _tuple_of(machine, 3),
    "FROZENSET": lambda machine, _: machine.push(frozenset(map(as_key, machine.pop_mark()))),
    "APPEND": lambda machine, _: _append(machine, [machine.stack.pop()]),
    "APPENDS": lambda machine, _: _append(machine, machine.pop_mark()),
    "SETITEM": lambda machine, _: _set_items(machine, [machine.stack.pop(), machine.stack.pop()][::-1]),
    "SETITEMS": lambda machine, _: _set_items(machine, machine.pop_mark()),
    "ADDITEMS": lambda machine, _: _add_items(machine, machine.pop_mark()),
    "PUT": lambda machine, key: machine.remember(key),
    "BINPUT": lambda machine, key: machine.remember(key),
    "LONG_BINPUT": lambda machine, key: machine.remember(key),
    "MEMOIZE": lambda machine, _: machine.remember(len(machine.memo)),
    "GET": lambda machine, key: machine.push(machine.memo[key]),
    "BINGET": lambda machine, key: machine.push(machine.memo[key]),
    "LONG_BINGET": lambda machine, key: machine.push(machine.memo[key]),
    "GLOBAL": lambda machine, names: machine.push_name(*names.split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: _name_on_stack(machine),
    "REDUCE": lambda machine, _: _call_top(machine),
    "NEWOBJ": lambda machine, _: _call_top(machine),
    "BUILD": lambda machine, _: machine.build(machine.stack.pop()),
    "PERSID": lambda machine, key: _persist(machine, key),
    "BINPERSID": lambda machine, _: _persist(machine, machine.stack.pop()),
}


def _check_plain(value: object, *, n_steps: int) -> None:
    """Refuse leftover names and unfinished arrays, deep nesting, and values that expand too much."""
    n_values, _ = _measure(value, {}, 0)
    if n_values > 1000 + _MAX_SHARING * n_steps:
        raise Refused(f"stands for {n_values:,} values through references, expected at most a few each")


def _measure(value: object, measured: dict[int, tuple[int, int]], depth: int) -> tuple[int, int]:
    """Return how many values `value` stands for when every reference is followed, and its height."""
    if isinstance(value, Name):
        _refuse_name(value.name)
    if isinstance(value, Pending):
        raise Refused("an array without its content")
    inner = _inner_values(value)
    if inner is None:
        return 1, 0
    if depth + measured.get(id(value), (0, 0))[1] > _MAX_DEPTH:
        raise Refused(f"nested deeper than {_MAX_DEPTH}, or contains itself")
    if id(value) not in measured:
        parts = [_measure(item, measured, depth + 1) for item in inner]
        height = 1 + max((part[1] for part in parts), default=0)
        measured[id(value)] = (1 + sum(part[0] for part in parts), height)
    return measured[id(value)]


def _inner_values(value: object) -> list[Any] | None:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return list(value.flat)
    return None
