"""Lists of places of docs, best first, without ids: lines such as `3,17,0` (from TeachText), or JSON.

Line n is query n, and a place is that of a doc, both from 0, so the ids must come from another file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FileNote, FormatError, UsageError
from fire_toolkit.files import read_text, without_mark
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.runs.axis_ids import IdFile, axes_of
from fire_toolkit.formats.runs.listed import FROM_RANKS, Listed, from_columns

_EITHER = "may be ids of the list of ids or places in it"
_DO = "leave it out where they are ids; where they are places, save the file with ids"
_PLACE = re.compile("[0-9]{1,15}")


def is_index_list(start: bytes, path: Path) -> bool:
    """Whether the first line is two or more whole numbers between commas."""
    fields = without_mark(start).split(b"\n", 1)[0].strip().split(b",")
    return len(fields) > 1 and all(field.strip().isdigit() for field in fields)


def read_index_list(path: Path, key: str | None = None) -> Listed:
    """Return the lists with places as ids, to be named by `with_ids`.

    Raises:
        FormatError: a line has another length, or a field that is not a whole number; names the line.
    """
    lines = [(n, line) for n, line in enumerate(read_text(path).split("\n"), start=1) if line.strip()]
    width, lists = len(lines[0][1].split(",")), dict[str, list[int]]()
    for number, line in lines:
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != width or not all(_PLACE.fullmatch(field) for field in fields):
            raise FormatError(
                f"{path}:{number}: {line[:40]!r}, expected {width} whole numbers, as on the first line: "
                "places of docs, best first"
            )
        lists[f"{path}:{number}"] = [int(field) for field in fields]
    return from_places(lists, str(path))


def from_places(lists: Mapping[str, Sequence[int]], where: str) -> Listed:
    """Return lists of places, one for each query in the order of the ids, with places as ids.

    lists: where a list stands (for messages), and its places, best first; lengths may differ.

    Raises:
        FormatError: a list is empty or holds a place twice, or there is none.
    """
    for at, places in lists.items():
        if not places or len(set(places)) < len(places):
            problem = "a doc appears twice" if places else "an empty list"
            raise FormatError(f"{at}: {problem}, expected {len(places) or 'some'} different places of docs")
    queries = [str(row) for row, places in enumerate(lists.values()) for _ in places]
    docs = [str(place) for places in lists.values() for place in places]
    scores = [float(-rank) for places in lists.values() for rank in range(1, len(places) + 1)]
    return from_columns(queries, docs, scores, where=where, notes=(FROM_RANKS,), has_places=True)


def with_ids(
    listed: Listed, path: Path, *given: Sequence[str] | IdFile | None, is_needed: bool = False
) -> Listed:
    """Return lists with ids in the place of places; `is_needed` as for `_named_where_places`.

    Raises:
        FormatError: the file has places, and not one line for each query, or a place beyond the docs.
    """
    if not listed.has_places:
        return _named_where_places(listed, path, *given, is_needed=is_needed)
    queries, docs = axes_of(path, (None, None), given)
    rows, places = (listed.scored[name].astype("int64").to_numpy() for name in ("query_id", "doc_id"))
    n_lines, highest = int(rows.max()) + 1, int(places.max())
    if n_lines != len(queries):
        raise FormatError(
            f"{path}: {n_lines} lists, but {len(queries)} query ids; expected a list for each query"
        )
    if highest >= len(docs):
        raise FormatError(
            f"{path}: place {highest}, but {len(docs)} doc ids; expected places from 0 to {len(docs) - 1}"
        )
    ids = {"query_id": _texts(queries)[rows], "doc_id": _texts(docs)[places]}
    return replace(listed, scored=listed.scored.assign(**ids), has_places=False)


def _named_where_places(
    listed: Listed, path: Path, *given: Sequence[str] | IdFile | None, is_needed: bool = False
) -> Listed:
    """Return lists whose queries or docs are places from 0 with the ids at those places; ids stay.

    Values that could be ids in the list or places in it are taken as ids, with a `FileNote`, unless the user
    gave the list.

    Args:
        listed: the lists of a file that may hold ids or places.
        path: the file.
        given: the ids of queries, then of docs, in which places are looked up; a collection's are not.
        is_needed: whether ids that the user gave must be of use.

    Raises:
        UsageError: the user gave ids, and the values could be ids or places, or the ids are of no use.
    """
    for column, file in zip(("query_id", "doc_id"), given, strict=True):
        if file is None or (isinstance(file, IdFile) and file.note is not None):
            continue
        ids = file.ids if isinstance(file, IdFile) else file
        option = file.option if isinstance(file, IdFile) and file.is_asked else None
        values = listed.scored[column].astype("str")
        problem = _no_places(values.unique().tolist(), ids)
        if problem is None:
            named = listed.scored.assign(**{column: _texts(ids)[values.astype("int64").to_numpy()]})
            note = f"{column}s are places from 0, named by the list of {column}s"
            listed = replace(listed, scored=named, notes=(*listed.notes, note))
            if isinstance(file, IdFile):
                file.users.append(path)
        elif option and problem is _EITHER:
            raise UsageError(f"{path}: {option}: its {column}s {problem}, which only you can tell: {_DO}")
        elif option and is_needed:
            raise UsageError(f"{path}: {option} does not help: its {column}s {problem}")
        elif problem is _EITHER:
            warnings.warn(f"{path}: its {column}s {problem}; taken as ids", FileNote, stacklevel=2)
    return listed


def _texts(ids: Sequence[str]) -> Array:
    return pd.Series(list(ids), dtype="str").to_numpy()


def _no_places(found: Sequence[str], given: Sequence[str]) -> str | None:
    """Return why ids are not places in a list, or None where they are."""
    known = set(given)
    if len(known) < len(given):
        return "cannot be places in a list that names one twice"
    are_own = all(value in known for value in found)
    for value in found:
        if not _PLACE.fullmatch(value) or value != str(int(value)) or int(value) >= len(given):
            unknown = f"hold {value[:40]!r}, neither an id of that list nor a place in it"
            what = "are ids already" if are_own else unknown
            return f"{what} (places are 0 to {len(given) - 1}); leave it out"
    return _EITHER if are_own and any(given[int(value)] != value for value in found) else None
