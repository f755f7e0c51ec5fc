"""The words of a release, as data: tables, columns, files, and what Croissant asks for."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def words_in(name: str) -> dict[str, Any]:
    """Return what a TOML file of this room says."""
    return tomllib.loads((files("fire_toolkit.release") / name).read_text(encoding="utf-8"))


_WORDS, CROISSANT = words_in("layout.toml"), words_in("croissant.toml")
TABLES: dict[str, str] = _WORDS["tables"]
FILES: dict[str, str] = _WORDS["files"]
NOT_RECORDED: dict[str, str] = _WORDS["not_recorded"]
_TYPES = {"int": "sc:Integer", "float": "sc:Float", "bool": "sc:Boolean"}


def column_text(name: str) -> str:
    """Return what a column means; of a count of votes, which.

    Examples:
        >>> column_text("rank"), column_text("n_relevant")
        ('Rank of the item in the run.', 'Votes for relevant.')
    """
    of_votes = f"Votes for {name[2:]}." if name.startswith("n_") else f"{name.replace('_', ' ')}."
    return str(_WORDS["columns"].get(name, of_votes))


def croissant_type(dtype: str) -> str:
    """Return the Croissant type of a pandas dtype.

    Examples:
        >>> croissant_type("int64"), croissant_type("str")
        ('sc:Integer', 'sc:Text')
    """
    return next((kind for start, kind in _TYPES.items() if dtype.lower().startswith(start)), "sc:Text")
