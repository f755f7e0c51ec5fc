"""`--columns ROLE=COLUMN,…`: which column of somebody's table is what."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fire_toolkit.errors import UsageError

_SAME = ({"query", "query_id"}, {"doc", "doc_id"})


def named_columns(texts: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """Return role → column of texts `ROLE=COLUMN,ROLE=COLUMN`; a column may hold commas and `=`.

    `query` and `query_id` are one role, and `doc` and `doc_id`, whichever of them is among the roles.

    Examples:
        >>> named_columns(["doc=file_name,text=caption_*"], ["doc_id", "query_id", "text"])
        {'doc_id': 'file_name', 'text': 'caption_*'}
    """
    meant = {name: role for role in roles for name in next((same for same in _SAME if role in same), {role})}
    found: dict[str, str] = {}
    for text in texts:
        for part in re.split(rf",(?=\s*(?:{'|'.join(meant)})=)", text):
            name, equals, column = (each.strip() for each in part.partition("="))
            if name not in meant or not equals or not column:
                raise UsageError(f"--columns {part}: expected ROLE=NAME with one of {', '.join(roles)}")
            if found.setdefault(meant[name], column) != column:
                raise UsageError(f"--columns: {meant[name]} is named twice")
    return found
