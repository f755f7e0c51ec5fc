"""Ids with blanks in a table: encoded as those of its collection are, all of them or none."""

from __future__ import annotations

import warnings

import pandas as pd

from fire_toolkit.errors import FileNote
from fire_toolkit.ids import encoded_id, have_blanks

_NAMES = ("query_id", "doc_id", "reference")


def with_encoded_ids(table: pd.DataFrame, where: str) -> pd.DataFrame | None:
    """Return a table with all ids of queries and docs percent-encoded, and note it; None without blanks.

    where: what the table is called in the note.
    """
    names = [name for name in _NAMES if name in table.columns]
    ids = [value for name in names for value in table[name] if isinstance(value, str)]
    if not have_blanks(ids):
        return None
    first = next(each for each in ids if have_blanks([each]))
    words = f"all ids are percent-encoded, {first!r} is {encoded_id(first)!r}"
    warnings.warn(f"{where}: ids with blanks: {words}", FileNote, stacklevel=4)
    return table.assign(**{name: table[name].astype("object").map(_encoded) for name in names})


def _encoded(value: object) -> object:
    return encoded_id(value) if isinstance(value, str) else value
