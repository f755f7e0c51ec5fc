"""Qrels in all usual formats: TREC's four and five columns, BEIR's tables, JSON by query."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.collections.tables import POSITIVES, rows_of
from fire_toolkit.formats.columns import RELEVANCE, find_name, needed_column
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.formats.runs.trec import QRELS, first_row, read_trec_qrels
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import Qrels, check_qrels
from fire_toolkit.tables.columns import PAIR

_MOST = 10**15
_COLUMNS = ["query_id", "doc_id", "relevance"]


def recognise(source: Source) -> str | None:
    """Return why a file holds qrels, in lines or in a JSON object, or None."""
    if _by_query(source.mapping):
        return "a JSON object of docs under queries"
    fields = source.lines[0].split() if source.lines else []
    numbers = [fields[1].removeprefix("Q").replace(".", ""), *fields[3:]] if len(fields) in (4, 5) else [""]
    is_trec = all(field.removeprefix("-").isdigit() for field in numbers)
    return f"lines of {len(fields)} fields that end in a grade" if is_trec else None


def _by_query(found: Mapping[str, Any]) -> bool:
    """Whether JSON is positives (`{query: [doc, ...]}`; no captions, with blanks) or grades of docs."""

    def is_id(doc: object) -> bool:
        return type(doc) is int or (isinstance(doc, str) and len(doc.split()) == 1)

    return any(found.values()) and all(
        (isinstance(docs, list) and all(map(is_id, docs)))
        or (isinstance(docs, dict) and all(map(_is_whole, docs.values())))
        for docs in found.values()
    )


def _is_whole(grade: object) -> bool:
    is_float = isinstance(grade, float | np.floating) and grade.is_integer()
    return is_float or (isinstance(grade, int | np.integer) and not isinstance(grade, bool))


def read(source: Source, split: str | None) -> Part:
    """Return the pairs with their relevance, and their strata if the file has them."""
    path = str(source.path)
    table = qrels_of_json(source.mapping, path) if source.mapping else read_trec_qrels(source.path)
    return Part(path, positives=table[[name for name in (*_COLUMNS, "stratum") if name in table]])


def read_qrels(path: str | Path) -> Qrels:
    """Return qrels in any format this toolkit knows; ids with blanks are encoded, as those of collections.

    A table with columns of a query, a doc and a relevance, by any usual names, is one of them, but for
    labels, which lack the original positives.

    Raises:
        FormatError: the file has no qrels, or a line that does not fit.
        TableError: a pair appears twice, or a relevance is not a whole number.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "qrels.txt"
        >>> _ = file.write_text("q 0 d1 1\\n")
        >>> read_qrels(file)
          query_id doc_id  relevance    source
        0        q     d1          1  original
    """
    if first_row(start_of(path)[0], QRELS).n_fields:
        return read_trec_qrels(path)
    source = Source(path)
    columns = source.columns
    grade = find_name(columns, (*RELEVANCE, *(["score"] if {*columns} >= POSITIVES else [])))
    if "label" not in columns and (grade or {*columns} == POSITIVES):
        names = {needed_column(columns, role, str(path)): role for role in PAIR}
        table = rows_of(source).rename(columns=names | ({grade: "relevance"} if grade else {}))
        return check_qrels(table if grade else table.assign(relevance=1), where=str(path))
    pairs = read(source, None).positives if recognise(source) else None
    if pairs is not None:
        return check_qrels(pairs, where=str(path))
    if source.json is not None or len(columns) > 1:
        found = f"columns {', '.join(columns[:8])}" if columns else "JSON of another form"
        raise FormatError(
            f"{path}: {found}; expected columns query_id, doc_id and relevance, JSON "
            "{query: {doc: grade}}, or TREC's qrels"
        )
    return read_trec_qrels(path)


def known_labels_in(path: Path, grades: Grades) -> pd.DataFrame:
    """Return pairs whose label is known: a table with a column label, or qrels by the grades of labels.

    Pairs with a relevance below 0 are not known.

    Raises:
        UsageError: a relevance that is the grade of no label, or of several.
    """
    names = [*_COLUMNS[:2], "label"]
    if {*names} <= {*Source(path).header}:
        return read_delimited(path, required=names)[names]
    qrels = read_qrels(path)
    known = qrels[qrels["relevance"] >= 0]
    labels = dict[int, str]()
    for relevance in sorted(set(known["relevance"])):
        found = [label for label, grade in grades.items() if grade == relevance]
        if len(found) != 1:
            named = ", ".join(found) or "no label"
            raise UsageError(
                f"{path}: relevance {relevance} is the grade of {named}; expected a column label"
            )
        labels[relevance] = found[0]
    return known[names[:2]].assign(label=known["relevance"].map(labels).astype("str"))


def qrels_of_json(by_query: Mapping[str, Any], where: str) -> pd.DataFrame:
    """Return the pairs of {query: {doc: grade}}, or of {query: [doc, ...]}, all of grade 1."""
    pairs, queries = list[tuple[str, str, int]](), [id_text(query, where) for query in by_query]
    if len({*queries}) < len(queries):
        raise FormatError(f"{where}: a query twice, as text and as a number")
    for query, docs in zip(queries, by_query.values(), strict=True):
        at = f"{where}: query {query!r}"
        is_one = isinstance(docs, str | bytes | pd.Series) or getattr(docs, "shape", None) == ()
        if is_one or not isinstance(docs, Collection):
            raise FormatError(f"{at}: {str(docs)[:60]!r}, expected [doc, ...] or {{doc: grade}}")
        for doc, grade in docs.items() if isinstance(docs, Mapping) else ((doc, 1) for doc in docs):
            if not _is_whole(grade) or abs(grade) >= _MOST:
                raise FormatError(f"{at}: relevance {repr(grade)[:60]}, expected a whole number below 10^15")
            pairs.append((query, id_text(doc, at), int(grade)))
    return pd.DataFrame(pairs, columns=_COLUMNS)
