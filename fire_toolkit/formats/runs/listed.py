"""Ranked lists from a file: scored pairs that the one rule makes into a Run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype, is_string_dtype

from fire_toolkit.errors import FormatError


@dataclass(frozen=True)
class Listed:
    """Scored pairs of one run.

    scored: columns query_id, doc_id, score (or, when `has_ranks`, also rank, which then holds).
    run_id: the run's id, if the file names one. notes: what a user must know (scores made from ranks).
    has_places: the ids are places from 0 in lists of ids that another file has.
    """

    scored: pd.DataFrame
    run_id: str | None = None
    notes: tuple[str, ...] = ()
    has_ranks: bool = False
    has_places: bool = False

    def __post_init__(self) -> None:
        ids = [self.scored.get(name) for name in ("query_id", "doc_id")]
        numbers = [self.scored.get(name) for name in ("score", "rank")[: 1 + self.has_ranks]]
        are_texts = all(column is not None and is_string_dtype(_values_of(column)) for column in ids)
        are_numbers = all(column is not None and is_numeric_dtype(column) for column in numbers)
        if not (are_texts and are_numbers):
            found = ", ".join(f"{name} ({kind})" for name, kind in self.scored.dtypes.items())
            raise TypeError(
                f"ranked lists with columns {found}; expected texts query_id, doc_id, a number score"
            )


def _values_of(column: pd.Series) -> Any:
    return column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column


FROM_RANKS = "the file holds an order and no scores: the score of a doc is minus its rank"


def from_columns(
    query_ids: list[str],
    doc_ids: list[str],
    scores: list[float],
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
    scored = pd.DataFrame({**ids, "score": pd.Series(scores, dtype="float64")})
    return Listed(scored, run_id, notes)
