"""Ranked lists from a file: scored pairs that the one rule makes into a Run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.columns import RANK, RUN, SCORE, find_name, needed_column, said_of_pair
from fire_toolkit.formats.ids import id_texts

FROM_RANKS = "the file holds an order and no scores: the score of a doc is minus its rank"


@dataclass(frozen=True)
class Listed:
    """Scored pairs of one run.

    scored: columns query_id, doc_id, score (or, when `has_ranks`, also rank, which then holds).
    run_id: the run's id, if the file names one. notes: what a user must know (scores made from ranks).
    has_places: the ids are places from 0 in lists of ids that another file has, as whole numbers.
    """

    scored: pd.DataFrame
    run_id: str | None = None
    notes: tuple[str, ...] = ()
    has_ranks: bool = False
    has_places: bool = False


def from_columns(
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    scores: Sequence[float],
    *,
    where: str,
    run_id: str | None = None,
    notes: tuple[str, ...] = (),
) -> Listed:
    """Return parallel lists as Listed.

    Raises:
        FormatError: there is no pair at all.
    """
    if not query_ids:
        raise FormatError(f"{where}: no query with a ranked doc, expected at least one")
    try:
        ids = {"query_id": pd.Series(query_ids, dtype="str"), "doc_id": pd.Series(doc_ids, dtype="str")}
    except UnicodeEncodeError:
        raise FormatError(f"{where}: an id contains half a character (an unpaired surrogate)") from None
    return Listed(pd.DataFrame({**ids, "score": pd.Series(scores, dtype="float64")}), run_id, notes)


def coded(codes: Any, ids: Sequence[str]) -> pd.Categorical:
    """Return the ids that codes stand for, as a column."""
    return pd.Categorical.from_codes(codes, pd.Index(list(ids), dtype="str"), validate=False)


def listed_table(table: pd.DataFrame, where: str, key: str | None) -> Listed:
    """Return a frame with columns of usual names as ranked lists; with a score, a rank is not used.

    Raises:
        FormatError: no query or doc, or several columns that could be; no score and no rank, one that is not
            a number (with its row), several runs and no `key`, which names one.
    """
    names = [str(name) for name in table.columns]
    query, doc = (needed_column(names, role, where) for role in ("query_id", "doc_id"))
    score, rank, run = (find_name(names, wanted) for wanted in (SCORE, RANK, RUN))
    if score is None and rank is None:
        raise FormatError(f"{where}: columns {', '.join(names)}; expected score or rank among them")
    run_id = None
    if run is not None:
        runs = sorted(map(str, table[run].unique()))
        run_id = runs[0] if key is None and len(runs) == 1 else key
        if run_id not in runs:
            raise FormatError(f"{where}: {len(runs)} runs; choose one with --key: {', '.join(runs[:8])}")
        table = table[table[run].astype(str) == run_id]
    if table.empty:
        raise FormatError(f"{where}: no row below the header, expected a query with a ranked doc")
    values = table[score or rank]
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    is_nan = np.isnan(numbers)
    for place, value in zip(np.flatnonzero(is_nan), values[is_nan], strict=True):
        if str(value).strip().lower() != "nan":
            found = f"{score or rank} {str(value)[:40]!r}"
            raise FormatError(f"{where}: row {place + 1}: {found} is not a number")
    ids = {
        name: id_column(table[column], f"{where}: column {column}").to_numpy()
        for name, column in (("query_id", query), ("doc_id", doc))
    }
    scored = pd.DataFrame({**ids, "score": numbers if score else -numbers})
    return Listed(scored, run_id, (*said_of_pair(query, doc), *(() if score else (FROM_RANKS,))))


def id_column(values: pd.Series, where: str) -> pd.Series:
    """Return a column of ids as text; whole numbers become their digits, and anything else is refused."""
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("str")
    if isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
        return values
    return pd.Series(id_texts(values.tolist(), where), index=values.index, dtype="str")
