"""What a file of ranked lists holds: pairs with scores, from which a Run is made by the one rule."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fire_toolkit.errors import FormatError


@dataclass(frozen=True)
class Listed:
    """Scored pairs of one run.

    scored: columns query_id, doc_id, score (or, when `has_ranks`, also rank, which then holds).
    run_id: the run's id, if the file names one. notes: what a reader must know (scores made from ranks).
    has_places: the ids are places from 0 in lists of ids that lie beside the file.
    """

    scored: pd.DataFrame
    run_id: str | None = None
    notes: tuple[str, ...] = ()
    has_ranks: bool = False
    has_places: bool = False


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
        raise FormatError(f"{where}: an id holds half of a character (a lone surrogate)") from None
    scored = pd.DataFrame({**ids, "score": pd.Series(scores, dtype="float64")})
    return Listed(scored, run_id, notes)
