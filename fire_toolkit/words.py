"""Words for numbers of things, in notes, messages and texts; and the texts that come with the package."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def text_in(room: str, name: str) -> str:
    """Return the text of a file of a room."""
    return (files(f"fire_toolkit.{room}") / name).read_text(encoding="utf-8")


def table_in(room: str, name: str) -> dict[str, Any]:
    """Return what a TOML file of a room says."""
    return tomllib.loads(text_in(room, name))


def n_of(number: int, thing: str) -> str:
    """Return a number of things in words.

    Examples:
        >>> n_of(1, "pair"), n_of(2, "pair"), n_of(1, "query"), n_of(2000, "query")
        ('1 pair', '2 pairs', '1 query', '2,000 queries')
    """
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"


def numbers_of(counts: Mapping[str, int]) -> str:
    """Return how many there are of each, in words.

    Examples:
        >>> numbers_of({"new": 3, "rejected": 1200})
        '3 new, 1,200 rejected'
    """
    return ", ".join(f"{n:,} {what}" for what, n in counts.items())
