"""What can be an id; ids with blanks, which no TREC file can carry, are percent-encoded, all or none.

Encoding is one rule: each blank within an id, and each `%`, is written as in a web address. A list of ids
without blanks stays to the letter, so what was encoded once is not encoded again.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.errors import FileNote, JoinError
from fire_toolkit.tables.columns import bytes_of

# Why the ids of a collection are encoded: some have blanks and none has %, so that each table of them tells
# whether it is encoded, and they can be written as the benchmark has them.
BLANKS = "blanks"
_NAMES = ("query_id", "doc_id", "reference")
_NEVER = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ENCODED = re.compile(r"(?<=\S)\s+(?=\S)|%")


def are_ids(texts: Sequence[str] | pa.Array) -> bool:
    """Return whether every text can be an id, as `is_id` has it, in one search through all of them.

    texts: a list, or an array of `arrow_text`, of which the bytes tell while they are printable ASCII.

    Examples:
        >>> are_ids(["007", "q:1|x"]), are_ids(["007", "two words"]), are_ids(["007", ""])
        (True, False, False)
    """
    if isinstance(texts, pa.Array):
        is_odd = np.frombuffer(bytes_of(texts), dtype=np.uint8) - ord("!") > ord("~") - ord("!")
        if not is_odd.any() and compute.min(compute.binary_length(texts)).as_py() != 0:
            return True
        texts = texts.unique().to_pylist()
    return all(texts) and _NEVER.search("".join(texts)) is None


def is_id(value: object) -> bool:
    """Return whether `value` can be an id: text, not empty, that a TREC file in UTF-8 can carry.

    Examples:
        >>> [is_id(value) for value in ("007", "q:1|x", "two words", "", 7)]
        [True, True, False, False, False]
    """
    return isinstance(value, str) and are_ids([value])


def with_blanks(ids: Sequence[str]) -> list[str]:
    """Return the ids of a list that have a blank within."""
    return [each for each in ids if " " in each.strip()] if " " in "".join(ids) else []


def encoded_id(text: str) -> str:
    """Return an id with blanks and `%` percent-encoded; a blank before or behind it stays, and is refused.

    Examples:
        >>> encoded_id("rain 100%.wav"), decoded_id("rain%20100%25.wav")
        ('rain%20100%25.wav', 'rain 100%.wav')
    """
    return _ENCODED.sub(lambda found: quote(found[0]), text)


def decoded_id(text: str) -> str:
    """Return what `encoded_id` was given."""
    return unquote(text)


def spelling_of(ids: Sequence[str]) -> Callable[[str], str]:
    """Return how the ids of one table are spelled: all percent-encoded where one has a blank, else as is.

    Examples:
        >>> [spelling_of(ids)("a%b") for ids in (["a%b", "c d"], ["a%b", "cd"])]
        ['a%25b', 'a%b']
    """
    return encoded_id if with_blanks(ids) else str


def spelled_otherwise(ids: Iterable[str], known: Iterable[str]) -> tuple[str, str] | None:
    """Return an id that stands percent-encoded among the known ones, not as it is, and how; None: none does.

    Examples:
        >>> spelled_otherwise(["a", "50%"], ["a", "50%25"]), spelled_otherwise(["50%25"], ["50%25"])
        (('50%', '50%25'), None)
    """
    known = {each for each in known if "%" in each}
    strange = ((each, encoded_id(each)) for each in ids if known and "%" in each and each not in known)
    return next((pair for pair in strange if pair[1] in known), None)


def refuse_mixed_ids(docs: Mapping[str, Iterable[str]]) -> None:
    """Raise `JoinError` where a doc of one table stands percent-encoded in another one; docs: by table."""
    marked = {name: [each for each in own if "%" in each] for name, own in docs.items()}
    for (name, own), (other, theirs) in permutations(marked.items(), 2):
        if (found := spelled_otherwise(own, theirs)) is not None:
            why = f"{found[0]!r} is {found[1]!r} in {other}, whose ids are percent-encoded"
            raise JoinError(f"{name}: {why}, as one has a blank; write it so here too")


def spellings(ids: Iterable[str]) -> set[str]:
    """Return what the address of an item without any is: nothing, or its id, encoded or as it was.

    Examples:
        >>> sorted(spellings(["a%20b"]))
        ['', 'a b', 'a%20b']
    """
    return {"", *(known := set(ids)), *map(decoded_id, known)}


def with_encoded_ids(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return a table with all ids of queries and docs percent-encoded, and note it; itself without blanks.

    where: what the table is called in the note.
    """
    columns = {name: table[name].tolist() for name in _NAMES if name in table}
    ids = [value for values in columns.values() for value in values if isinstance(value, str)]
    if not (strange := with_blanks(ids)):
        return table
    words = f"all ids are percent-encoded, {strange[0]!r} is {encoded_id(strange[0])!r}"
    warnings.warn(f"{where}: ids with blanks: {words}", FileNote, stacklevel=4)
    encoded = {
        name: [encoded_id(value) if isinstance(value, str) else value for value in values]
        for name, values in columns.items()
    }
    return table.assign(**{name: pd.array(each, dtype="object") for name, each in encoded.items()})
