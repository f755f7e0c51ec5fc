"""Ids with blanks in a table: encoded as those of its collection are, all of them or none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import pandas as pd

from fire_toolkit.errors import FileNote
from fire_toolkit.ids import decoded_id, encoded_id, have_blanks

# Why the ids of a collection are encoded: some have blanks and none has %, so that each table of them tells
# whether it is encoded, and they can be written as the benchmark has them.
BLANKS = "blanks"
_NAMES = ("query_id", "doc_id", "reference")
_IN_RELEASES = (*_NAMES, "_id", "query-id", "corpus-id")


def spelling_of(ids: Sequence[str]) -> Callable[[str], str]:
    """Return how the ids of one table are spelled: all percent-encoded where one has a blank, else as is.

    Examples:
        >>> [spelling_of(ids)("a%b") for ids in (["a%b", "c d"], ["a%b", "cd"])]
        ['a%25b', 'a%b']
    """
    return encoded_id if have_blanks(ids) else str


def why_encoded(ids: Sequence[str]) -> str:
    """Return why ids that stand so in the files of a collection are percent-encoded; empty: they are not.

    Examples:
        >>> [why_encoded(ids) for ids in (["a b", "c"], ["a b", "50%"], ["a%20b"])]
        ['blanks', 'blanks and %', '']
    """
    if not have_blanks(ids):
        return ""
    return f"{BLANKS} and %" if any("%" in each for each in ids) else BLANKS


def with_own_ids(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the benchmark's own ids, of a collection whose ids are percent-encoded."""
    return table.assign(**{name: table[name].map(decoded_id) for name in _IN_RELEASES if name in table})


def with_encoded_ids(table: pd.DataFrame, where: str = "") -> pd.DataFrame | None:
    """Return a table with all ids of queries and docs percent-encoded, and note it; None without blanks.

    where: what the table is called in the note; empty: there is no note.
    """
    names = [name for name in _NAMES if name in table.columns]
    ids = [value for name in names for value in table[name] if isinstance(value, str)]
    if (spelled := spelling_of(ids)) is str:
        return None
    if where:
        first = next(each for each in ids if have_blanks([each]))
        words = f"all ids are percent-encoded, {first!r} is {spelled(first)!r}"
        warnings.warn(f"{where}: ids with blanks: {words}", FileNote, stacklevel=4)
    encoded = {name: [spelled(v) if isinstance(v, str) else v for v in table[name]] for name in names}
    return table.assign(
        **{name: pd.Series(ids, table.index, dtype="object") for name, ids in encoded.items()}
    )
