"""Values of JSON entries taken with their type, and captions gathered into a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError, UsageError

ALL = "all"


def as_text(value: object, where: str) -> str:
    """Return `value` if it is text."""
    if not isinstance(value, str):
        raise FormatError(f"{where}: {_shown(value)}, expected text")
    return value


def as_list(value: object, where: str) -> list[Any]:
    """Return `value` if it is a list (or a tuple, as pickles have them)."""
    if not isinstance(value, list | tuple):
        raise FormatError(f"{where}: {_shown(value)}, expected a list")
    return list(value)


def as_texts(value: object, where: str) -> list[str]:
    """Return one text or a list of texts as a list."""
    return [as_text(text, where) for text in ([value] if isinstance(value, str) else as_list(value, where))]


def as_entry(value: object, where: str) -> dict[str, Any]:
    """Return `value` if it is a JSON object."""
    if not isinstance(value, dict):
        raise FormatError(f"{where}: {_shown(value)}, expected an object with named fields")
    return value


def need(entry: Mapping[str, Any], name: str, where: str) -> Any:
    """Return a field of an entry that must be there."""
    if name not in entry:
        raise FormatError(f"{where}: no field {name!r}; found {', '.join(map(str, entry)) or 'none'}")
    return entry[name]


def _shown(value: object) -> str:
    if isinstance(value, dict | list | tuple):
        return f"a {type(value).__name__}"
    return repr(value)[:40]


def have(records: object, *names: str) -> bool:
    """Whether `records` is a list of objects whose first has all of these fields."""
    first = records[0] if isinstance(records, list) and records else None
    return isinstance(first, dict) and set(names) <= set(first)


def chosen_split(found: Iterable[str], wanted: str | None, where: str) -> tuple[str, tuple[str, ...]]:
    """Return the split to read, and what to say of it: the one wanted, the only one, or `test`.

    Raises:
        UsageError: the wanted split is not there; or none is wanted, there are several, none `test`.
    """
    splits = sorted(set(found))
    if splits in ([], [""]) and wanted not in (None, ALL):
        raise UsageError(f"{where}: names no splits; leave out --split")
    if wanted == ALL or (wanted is None and len(splits) == 1):
        return (ALL, ())
    if wanted is None and "test" not in splits:
        raise UsageError(f"{where}: has splits {', '.join(splits)}; choose one with --split, or all")
    split = wanted or "test"
    if split not in splits:
        raise UsageError(f"{where}: no split {split!r}; found {', '.join(splits)}")
    others = [other for other in splits if other != split]
    return split, ((f"split {split} of {', '.join(splits)} taken",) if others else ())


class Captions:
    """Captions gathered one by one, with the doc each belongs to.

    A caption without an id of its own is `doc#n`, n from 0 among the captions of its doc, in the
    order of the file.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.pairs: list[tuple[str, str, int]] = []
        self.targets: list[tuple[str, str, int]] = []
        self._n_of_doc: Counter[str] = Counter()

    def add(
        self, doc_id: str, text: str, *, query_id: str | None = None, is_positive: bool = True, **more: Any
    ) -> str:
        """Add a caption of `doc_id` and return its id."""
        if query_id is None:
            query_id = f"{doc_id}#{self._n_of_doc[doc_id]}"
            self._n_of_doc[doc_id] += 1
        self.rows.append({"query_id": query_id, "text": text, **more})
        if is_positive:
            self.pairs.append((query_id, doc_id, 1))
        return query_id

    def part(
        self,
        name: str,
        *,
        items: Collection[Mapping[str, Any]] = (),
        members: Collection[tuple[str, str]] = (),
        notes: Iterable[str] = (),
    ) -> Part:
        """Return the part of these captions; items: what more is known of docs, doc_id first."""
        groups = pd.DataFrame(list(members), columns=["query_id", "doc_id"], dtype="str")
        names = ["query_id", "doc_id", "relevance"]
        return Part(
            name,
            queries=pd.DataFrame(self.rows, dtype=object),
            items=pd.DataFrame(list(items), dtype=object).drop_duplicates("doc_id") if items else None,
            positives=pd.DataFrame(self.pairs, columns=names),
            groups=groups if len(groups) else None,
            targets=pd.DataFrame(self.targets, columns=names) if self.targets else None,
            notes=tuple(notes),
        )
