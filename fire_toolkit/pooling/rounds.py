"""In which round each pair of a pool was first asked, and whether it is judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.tables.checks import Column, TableSpec, check_table
from fire_toolkit.tables.columns import PAIR, pair_rows, pairs_once

_ROUNDS = TableSpec("pairs asked before", (Column("round", "int", minimum=1),), ())
_NEVER = np.iinfo(np.int64).max


def mark_asked(
    pairs: pd.DataFrame,
    asked: Sequence[pd.DataFrame],
    judged: pd.DataFrame | None,
    round_number: int | None,
) -> dict[str, int]:
    """Give pairs their rounds and say which are judged; return what was counted."""
    counts = {"judged_before": 0, "pairs": len(pairs), "queries": int(pairs["query_id"].nunique())}
    number = round_number or 1 + (_latest_round(asked) if asked else 0)
    first = _first_rounds(pairs, asked)
    if asked:
        counts["to_ask"] = int((first == _NEVER).sum())
        counts["round"] = number if counts["to_ask"] else int(first.max(initial=1))
    pairs["round"] = np.where(first == _NEVER, number, first)
    if judged is not None and len(judged):
        pairs["is_judged"] = pair_rows(pairs, judged) >= 0
        counts["judged_before"] = int(pairs["is_judged"].sum())
    return counts


def _first_rounds(pairs: pd.DataFrame, asked: Sequence[pd.DataFrame]) -> npt.NDArray[np.int64]:
    """Return the first round of each pair in the tables asked, `_NEVER` where it is in none of them."""
    first = np.full(len(pairs), _NEVER)
    for table in asked:
        rows = pair_rows(table, pairs)
        np.minimum.at(first, rows[rows >= 0], _rounds_of(table)[rows >= 0])
    return first


def _latest_round(asked: Sequence[pd.DataFrame]) -> int:
    """Return the latest of the rounds in which pairs were first asked."""
    rounds = [table[PAIR].assign(round=_rounds_of(table)) for table in asked]
    return int(pairs_once(pd.concat(rounds, ignore_index=True), "round")["round"].max())


def _rounds_of(table: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Return the round of each pair, 1 where the table has no rounds."""
    if "round" not in table.columns:
        return np.ones(len(table), dtype=np.int64)
    return check_table(_ROUNDS, table[["round"]])["round"].to_numpy()
