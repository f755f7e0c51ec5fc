"""Qrels of every usual form: TREC's four and five columns, BEIR's TSV, entries and Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.delimited import read_delimited
from fire_toolkit.formats.trec import read_trec_qrels, well_formed_qrels
from fire_toolkit.ids import id_text
from fire_toolkit.tables import Qrels, check_qrels

_MOST = 10**15
_BEIR = ["query-id", "corpus-id", "score"]


def recognise(source: Source) -> str | None:
    """Return why a file holds qrels, or None."""
    if set(_BEIR) <= set(source.header):
        return f"the header names {', '.join(_BEIR)}"
    if have(source.records, *_BEIR):
        return f"entries with {', '.join(_BEIR)}"
    fields = source.lines[0].split() if source.lines else []
    if len(fields) in (4, 5) and all(
        _is_whole(field) for field in (fields[1].removeprefix("Q"), *fields[3:])
    ):
        return f"lines of {len(fields)} fields that end in a grade"
    return None


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def read(source: Source, split: str | None) -> Part:
    """Return the pairs with their relevance."""
    table = _read(source)
    return Part(str(source.path), positives=table[["query_id", "doc_id", "relevance"]])


def read_qrels(path: str | Path) -> Qrels:
    """Return qrels in any form this toolkit knows.

    Raises:
        FormatError: no qrels, or a line of another form.
        TableError: a pair twice, a relevance that is no whole number.
    """
    found = well_formed_qrels(path)
    if found is not None:
        return check_qrels(found, where=str(path))
    source = Source(path)
    if recognise(source) is None:
        return read_trec_qrels(path)
    return check_qrels(_read(source), where=str(path))


def _read(source: Source) -> pd.DataFrame:
    if set(_BEIR) <= set(source.header):
        found = read_delimited(source.path, required=_BEIR)
        return found.rename(columns=dict(zip(_BEIR, ("query_id", "doc_id", "relevance"), strict=True)))
    if source.records is not None:
        pairs = [_pair(entry, f"{source.path}: entry {n}") for n, entry in enumerate(source.records)]
        return pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"])
    return read_trec_qrels(source.path)


def _pair(entry: dict[str, object], where: str) -> tuple[str, str, int]:
    query, doc, score = (need(entry, name, where) for name in _BEIR)
    is_whole = isinstance(score, int) or (isinstance(score, float) and score.is_integer())
    if isinstance(score, bool) or not is_whole or abs(score) >= _MOST:
        raise FormatError(f"{where}: score {str(score)[:60]}, expected a whole number below 10^15")
    return id_text(query, where), id_text(doc, where), int(score)
