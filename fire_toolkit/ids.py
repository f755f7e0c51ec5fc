"""Ids with blanks, which no TREC file can carry: percent-encoded where they come in, all of a list or none.

Encoding is one rule: each blank within an id, and each `%`, is written as in a web address. A list of ids
without blanks stays to the letter, so what was encoded once is not encoded again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote

_WITHIN = re.compile(r"(?<=\S)\s+(?=\S)|%")


def have_blanks(ids: Sequence[str]) -> bool:
    """Return whether an id of a list has a blank within."""
    return " " in "".join(ids) and any(" " in each.strip() for each in ids)


def encoded_id(text: str) -> str:
    """Return an id with blanks and `%` percent-encoded; a blank before or behind it stays, and is refused.

    Examples:
        >>> encoded_id("rain 100%.wav"), decoded_id("rain%20100%25.wav")
        ('rain%20100%25.wav', 'rain 100%.wav')
    """
    return _WITHIN.sub(lambda found: quote(found[0]), text)


def decoded_id(text: str) -> str:
    """Return what `encoded_id` was given."""
    return unquote(text)


def spellings(ids: Iterable[str]) -> set[str]:
    """Return what the address of an item without any is: nothing, or its id, encoded or as it was.

    Examples:
        >>> sorted(spellings(["a%20b"]))
        ['', 'a b', 'a%20b']
    """
    return {"", *(known := set(ids)), *map(decoded_id, known)}


def encoded_where_needed(ids: Sequence[str]) -> list[str]:
    """Return all ids encoded where one has a blank within; else as they are.

    Examples:
        >>> encoded_where_needed(["a b", "50%"]), encoded_where_needed(["a%20b", "50%"])
        (['a%20b', '50%25'], ['a%20b', '50%'])
    """
    return [encoded_id(each) for each in ids] if have_blanks(ids) else list(ids)
