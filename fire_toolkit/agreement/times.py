"""When answers were given: their day, and their place in their annotator's work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.tables import Judgments

DERIVED = ("day", "batch", "position")
BATCH = 100
POSITIONS = (25, 50, 100, 200)
PAUSE_S = 30 * 60


def answer_times(judgments: Judgments) -> Floats:
    """Return created_at in seconds, nan where it is missing or not an ISO 8601 time."""
    created = pd.to_datetime(judgments["created_at"], utc=True, format="ISO8601", errors="coerce")
    return np.asarray((created - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), dtype=np.float64)


def add_times(judgments: Judgments) -> Judgments:
    """Return `judgments` with the columns day, batch and position, to see learning and fatigue by.

    day: the date of created_at (UTC); batch: the hundred of their annotator's answers in the order of time
    that the answer belongs to, from 1; position: its place in a sitting, which ends where the annotator
    pauses for half an hour. Missing where the time is. Columns that judgments have stay as they are.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("abc"), "annotator_id": "u", "label": "1",
        ...     "created_at": ["2026-03-02T09:00:00Z", "2026-03-01T23:00:00Z", ""]}))
        >>> add_times(judgments)[["doc_id", "day", "batch", "position"]]
          doc_id         day  batch position
        0      a  2026-03-02      1     1-25
        1      b  2026-03-01      1     1-25
        2      c         NaN   <NA>      NaN
    """
    seconds = answer_times(judgments)
    place, seat = _places(seconds, pd.factorize(judgments["annotator_id"])[0])
    days = pd.Series(pd.to_datetime(seconds, unit="s")).dt.strftime("%Y-%m-%d")
    batch = pd.Series(place // BATCH + 1, index=judgments.index)
    columns: dict[str, Any] = {
        "day": days.where(days.notna()).to_numpy(),
        "batch": batch.astype("Int64").where(place >= 0),
        "position": pd.Categorical.from_codes(_bins(seat), pd.Index(_names())),
    }
    return Judgments(judgments.assign(**{k: v for k, v in columns.items() if k not in judgments.columns}))


def _places(seconds: Floats, annotator: Ints) -> tuple[Ints, Ints]:
    """Return each answer's place in its annotator's work, and in its sitting, from 0; −1 without a time."""
    place, seat = np.full((2, len(seconds)), -1, dtype=np.int64)
    timed = np.flatnonzero(~np.isnan(seconds))
    order = timed[np.lexsort([seconds[timed], annotator[timed]])]
    begins = np.diff(annotator[order], prepend=-1) != 0
    pauses = begins | (np.diff(seconds[order], prepend=-np.inf) > PAUSE_S)
    number = np.arange(len(order))
    for found, starts in ((place, begins), (seat, pauses)):
        found[order] = number - np.maximum.accumulate(np.where(starts, number, 0))
    return place, seat


def _bins(seat: Ints) -> Ints:
    return np.where(seat >= 0, np.searchsorted(POSITIONS, seat, side="right"), -1)


def _names() -> Sequence[str]:
    return [*(f"{low + 1}-{high}" for low, high in pairwise((0, *POSITIONS))), f"{POSITIONS[-1] + 1} or more"]
