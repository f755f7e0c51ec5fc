"""Ids with blanks in a table: encoded as those of its collection are, all of them or none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import pandas as pd

from fire_toolkit.errors import FileNote
from fire_toolkit.ids import encoded_id, have_blanks

_NAMES = ("query_id", "doc_id", "reference")


def spelling_of(ids: Sequence[str]) -> Callable[[str], str]:
    """Return how the ids of one table are spelled: all percent-encoded where one has a blank, else as is.

    Examples:
        >>> [spelling_of(ids)("a%b") for ids in (["a%b", "c d"], ["a%b", "cd"])]
        ['a%25b', 'a%b']
    """
    return encoded_id if have_blanks(ids) else str


def with_encoded_ids(table: pd.DataFrame, where: str) -> pd.DataFrame | None:
    """Return a table with all ids of queries and docs percent-encoded, and note it; None without blanks.

    where: what the table is called in the note.
    """
    names = [name for name in _NAMES if name in table.columns]
    ids = [value for name in names for value in table[name] if isinstance(value, str)]
    if (spelled := spelling_of(ids)) is str:
        return None
    first = next(each for each in ids if have_blanks([each]))
    words = f"all ids are percent-encoded, {first!r} is {spelled(first)!r}"
    warnings.warn(f"{where}: ids with blanks: {words}", FileNote, stacklevel=4)
    encoded = {name: [spelled(v) if isinstance(v, str) else v for v in table[name]] for name in names}
    return table.assign(
        **{name: pd.Series(ids, table.index, dtype="object") for name, ids in encoded.items()}
    )
