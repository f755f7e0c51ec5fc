"""What a run that comes later would add, before it is pooled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.planning.designs import OVERLAP
from fire_toolkit.planning.lists import Lists


def late_costs(
    lists: Lists,
    late: Sequence[str],
    *,
    depths: Sequence[int] = (5, 10, 20),
    overlap: float = OVERLAP,
    seconds: float = math.nan,
) -> pd.DataFrame:
    """Return for each depth how many pairs the late runs add to the pool of the others.

    Args:
        lists: of all runs.
        late: ids of the runs that come later; some other is left.
        depths: of the pools; those no deeper than the lists.
        overlap: the share of pairs that two people judge; judgments count it, third votes not.
        seconds: that one judgment takes.

    Returns:
        For each depth: n_before, pairs of the others' pool; n_added, pairs added; share_added, their share of
        both; n_judgments; hours.

    Raises:
        UsageError: all runs are late.
    """
    is_late = np.isin(lists.run_ids, late)
    if is_late.all():
        raise UsageError("all runs come later; expected one or more that were pooled before")
    rows = []
    for depth in (each for each in depths if each <= lists.depth):
        before = (lists.ranks[:, ~is_late] <= depth).any(axis=1)
        added = (lists.best_rank <= depth) & ~before
        n_before, n_added = (round(float(mask.sum()) * lists.scale) for mask in (before, added))
        n_judgments = round(n_added * (1 + overlap))
        share = n_added / max(1, n_before + n_added)
        rows.append((depth, n_before, n_added, share, n_judgments, n_judgments * seconds / 3600))
    return pd.DataFrame(rows, columns=["depth", "n_before", "n_added", "share_added", "n_judgments", "hours"])
