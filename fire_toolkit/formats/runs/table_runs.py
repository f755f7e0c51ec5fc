"""Runs as CSV or TSV with a header: query_id, doc_id, and score or rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.files import without_mark
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.listed import FROM_RANKS, Listed
from fire_toolkit.formats.runs.names import DOC, QUERY, RANK, RUN, SCORE, find_name, needed_name
from fire_toolkit.formats.runs.reader import RunReader
from fire_toolkit.formats.tables.delimited import delimiter_of, read_delimited


def is_table(start: bytes, path: Path) -> bool:
    """Whether the first line is a header that names a query and a doc."""
    line = without_mark(start).split(b"\n", 1)[0].decode("utf-8", errors="replace")
    names = [name.strip(' "\r') for name in line.split(delimiter_of(line))]
    return all(find_name(names, wanted) for wanted in (QUERY, DOC))


def read_table(path: Path, key: str | None = None) -> Listed:
    """Return a CSV or TSV file as ranked lists; with a score, a rank is not used.

    Raises:
        FormatError: no score and no rank, a score that is not a number (with its line), several runs and no
            `key`, which names one.
    """
    return listed_table(read_delimited(path), str(path), key)


def listed_table(table: pd.DataFrame, where: str, key: str | None) -> Listed:
    """Return a frame with columns of the known names as ranked lists."""
    names = [str(name) for name in table.columns]
    query, doc = needed_name(names, QUERY, where), needed_name(names, DOC, where)
    score, rank, run = (find_name(names, wanted) for wanted in (SCORE, RANK, RUN))
    if score is None and rank is None:
        raise FormatError(f"{where}: columns {', '.join(names)}; expected score or rank among them")
    run_id = None
    if run is not None:
        run_id = _one_run(table[run], where, key)
        table = table[table[run].astype(str) == run_id]
    if table.empty:
        raise FormatError(f"{where}: no row below the header, expected a query with a ranked doc")
    numbers = _numbers(table[score or rank], where, score or rank or "")
    scored = pd.DataFrame(
        {
            "query_id": id_column(table[query], f"{where}: column {query}").to_numpy(),
            "doc_id": id_column(table[doc], f"{where}: column {doc}").to_numpy(),
            "score": numbers if score else -numbers,
        }
    )
    return Listed(scored, run_id, () if score else (FROM_RANKS,))


def id_column(values: pd.Series, where: str) -> pd.Series:
    """Return a column of ids as text; whole numbers become their digits, and anything else is refused."""
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("str")
    if isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
        return values
    return pd.Series(id_texts(values.tolist(), where), index=values.index, dtype="str")


def _one_run(runs: Any, where: str, key: str | None) -> str:
    found = sorted(map(str, runs.unique()))
    if key is None and len(found) == 1:
        return found[0]
    if key in found:
        return str(key)
    raise FormatError(f"{where}: {len(found)} runs; choose one with --key: {', '.join(found[:8])}")


def _numbers(values: Any, where: str, name: str) -> Any:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    text = values.astype(str).str.strip().str.lower().to_numpy()
    bad = np.isnan(numbers) & (text != "nan")
    if bad.any():
        place = int(np.argmax(bad))
        raise FormatError(f"{where}: row {place + 1}: {name} {text[place][:40]!r} is not a number")
    return numbers


READER = RunReader(
    "table", "CSV or TSV with a header", "the header names query_id and doc_id", is_table, read_table
)
