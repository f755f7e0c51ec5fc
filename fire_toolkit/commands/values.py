"""Plain values of a command in Python: one that its annotation does not allow is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import numpy as np

from fire_toolkit.errors import UsageError

_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    int: ((int, np.integer), "a whole number"),
    float: ((int, float, np.integer, np.floating), "a number"),
    bool: ((bool, np.bool_), "True or False"),
    str: ((str,), "text"),
}


def refuse_unfit(where: str, hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a value that is not what its annotation allows.

    Args:
        where: what is called, for the message.
        hints: annotations by name; one that allows other than plain values and lists of them is passed over.
        values: by name.

    Examples:
        >>> refuse_unfit("pool", {"depth": int | None}, {"depth": "ten"})
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: pool: depth is 'ten', expected a whole number or None
    """
    for name, hint in hints.items():
        bare = hint.__origin__ if hasattr(hint, "__metadata__") else hint
        kinds = (bare,) if get_origin(bare) in (Literal, Sequence) else get_args(bare) or (bare,)
        if name not in values or not all(map(_is_plain, kinds)):
            continue
        if not any(_fits(values[name], kind) for kind in kinds):
            words = " or ".join(map(_words, kinds))
            raise UsageError(f"{where}: {name} is {repr(values[name])[:60]}, expected {words}")


def _is_plain(kind: Any) -> bool:
    if get_origin(kind) is Sequence:
        return _is_plain(get_args(kind)[0])
    return get_origin(kind) is Literal or kind in (*_KINDS, type(None))


def _fits(value: Any, kind: Any) -> bool:
    if kind is type(None):
        return value is None
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if get_origin(kind) is Sequence:
        return isinstance(value, list | tuple) and all(_fits(each, get_args(kind)[0]) for each in value)
    return isinstance(value, _KINDS[kind][0]) and (kind is bool or not isinstance(value, bool | np.bool_))


def _words(kind: Any) -> str:
    if kind is type(None):
        return "None"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is Sequence:
        return f"a list, each {_words(get_args(kind)[0])}"
    return _KINDS[kind][1]
