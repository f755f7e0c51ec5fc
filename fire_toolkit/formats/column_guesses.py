"""Guesses at which column of somebody's table is what, for refusals that say the line to type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_WORD, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"[0-9]+")
_OF_NO_USE = {"id", "url", "name", "file", "path"}  # words that many roles have
_LONGEST = 40


def guessed_columns(
    columns: Sequence[str], usual: Mapping[str, Sequence[str]], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return role → column: those given, then usual names, names that have a usual word, what is left.

    Args:
        columns: of the table.
        usual: role → its usual names, for each role that needs a column.
        given: role → column, of those that are known.

    Examples:
        >>> guessed_columns(["who", "the_clip", "verdict"], {"doc": ["video", "clip"], "label": ["verdict"]})
        {'doc': 'the_clip', 'label': 'verdict'}
        >>> guessed_columns(["q", "d"], {"query": ["query"], "doc": ["doc"]})
        {'query': 'q', 'doc': 'd'}
    """
    found = dict(given or {})
    for fits in (_is_usual, _has_usual_word, lambda *_: True):
        for role, names in usual.items():
            free = [each for each in columns if each not in found.values()]
            guess = next((each for each in free if fits(each, names)), None)
            if role not in found and guess is not None:
                found[role] = guess
    return {**{role: found[role] for role in usual if role in found}, **found}


def _is_usual(column: str, names: Sequence[str]) -> bool:
    return column.strip().lower() in names


def _has_usual_word(column: str, names: Sequence[str]) -> bool:
    words = {word for name in names for word in _WORD.findall(name.lower())} - _OF_NO_USE
    return bool(words & {*_WORD.findall(column.lower())})


def are_names(fields: Sequence[str], below: str = "") -> bool:
    """Whether fields of a first line can be the names of columns, and are no row of a table without them.

    below: the second line; a field that differs from its beginning in digits alone is a value.

    Examples:
        >>> are_names(["video1", "a dog runs"], "video2,a man cooks"), are_names(["video", "words"])
        (False, True)
    """
    first, start = (_DIGITS.sub("0", each) for each in (fields[0] if fields else "", below))
    is_a_row = "0" in first and start.startswith(first)
    return (
        not is_a_row
        and len({*fields}) == len(fields) > 1
        and all(
            name and not name[0].isdigit() and len(name) <= _LONGEST and name.count(" ") < 4
            for name in fields
        )
    )


def line_of(roles: Mapping[str, str]) -> str:
    """Return the option that names columns.

    Examples:
        >>> line_of({"doc_id": "clip", "text": "words *"})
        "--columns 'doc_id=clip,text=words *'"
    """
    return "--columns '" + ",".join(f"{role}={name}" for role, name in roles.items()) + "'"
