"""JSON and TOML from text, and what people write in them; every error (truncated, too deep) is one line."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Collection
from typing import Any

from fire_toolkit.errors import FormatError


def parse_json(text: str, where: str, *, line: int = 0, as_written: bool = False) -> Any:
    """Return the value of a JSON text.

    Args:
        text: the whole text.
        where: its name for errors.
        line: where the text is one line of a file, the number of that line.
        as_written: numbers are returned as the text they are written with, so that ids stay what they are.

    Raises:
        FormatError: invalid, too deep, a key twice or with half a character, a number of thousands of digits.

    Examples:
        >>> parse_json('{"q1": ["d1"]}', "lists.json")
        {'q1': ['d1']}
    """
    at = f"{where}:{line}" if line else where
    numbers = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), str) if as_written else {}
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, at), **numbers)  # type: ignore[arg-type]
    except json.JSONDecodeError as error:
        place = at if line else f"{where}:{error.lineno}"
        raise FormatError(f"{place}: damaged or truncated JSON: {error.msg}") from None
    except RecursionError:
        raise FormatError(f"{at}: JSON nested too deeply") from None
    except ValueError as error:  # or a number of more digits than Python reads
        half = "half a character in a key, an unpaired surrogate"
        why = half if isinstance(error, UnicodeError) else error
        raise FormatError(f"{at}: JSON that cannot be read ({why})") from None


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises:
        FormatError: invalid TOML, nested too deeply, or a number of thousands of digits.
    """
    try:
        return tomllib.loads(text)
    except ValueError as error:
        once = "; a table stands once in a file: fill in the one above" if "twice" in str(error) else ""
        raise FormatError(f"{where}: not TOML: {error}{once}") from None
    except RecursionError:
        raise FormatError(f"{where}: TOML nested too deeply") from None


def hint_at(name: str, known: Collection[str]) -> str:
    """Return which of the known names is meant by one that is not known; where none is near, all of them.

    Examples:
        >>> hint_at("deph", ["depth", "seed"]), hint_at("x", ["depth", "seed"])
        ("did you mean 'depth'?", 'expected one of depth, seed')
    """
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"


def _unique(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise FormatError(f"{where}: the key {twice[:60]!r} appears twice in one object")
    "".join(found).encode()  # a ValueError where one holds half a character
    return found
