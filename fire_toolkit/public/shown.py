"""What a table that a public function returned says of itself in a notebook."""

import weakref
from collections.abc import Collection, Mapping
from typing import Any, cast

import pandas as pd

from fire_toolkit.results import part_in_words, shown_html
from fire_toolkit.words import n_of

_LONGEST_WORDS = 60  # characters of an argument that are shown


def show_basis(table: pd.DataFrame, made: str) -> None:
    """Have a notebook say below a table what it rests on: how it was made, and what it holds.

    The table stays a plain frame: only this object shows it. What is filtered, copied, merged or unpickled
    from it is another table, of which the words might be wrong, and is shown as pandas does.
    """
    itself = weakref.ref(table)  # the frame must not hold itself in memory

    def shown() -> str:
        own = itself()
        if own is None:
            return ""
        basis = f"rests on: {made}; {part_in_words('table', own)}"
        of_pandas: Any = type(own)
        return shown_html(of_pandas._repr_html_(own) or "", [basis])

    object.__setattr__(table, "_repr_html_", shown)


def made_in_words(name: str, given: Mapping[str, object]) -> str:
    """Return how a function was called: the tables it was given by their sizes, files by their names.

    Examples:
        >>> from pathlib import Path
        >>> made_in_words("read_qrels", {"path": Path("collection/qrels.txt"), "grades": {"yes": 1}})
        'read_qrels (path qrels.txt, grades of 1)'
    """
    words = [told for each, value in given.items() if (told := _given_in_words(each, value))]
    return f"{name} ({', '.join(words)})" if words else name


def _given_in_words(name: str, value: object) -> str:
    """Return an argument in a few words; empty for what says nothing."""
    if isinstance(value, bool | int | float):
        return f"{name} {value}"
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return f"{name} {_short(str(getattr(value, 'name', value)))}"
    if hasattr(value, "columns"):
        return f"{name} of {n_of(len(cast('pd.DataFrame', value)), 'row')}"
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(parts, Collection) or not len(parts):
        return ""
    if all(isinstance(each, str) for each in parts):
        return f"{name} {_short(', '.join(map(str, parts)))}"
    return f"{name} of {len(parts):,}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_WORDS else f"{text[:_LONGEST_WORDS]} …"
