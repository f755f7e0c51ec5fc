"""What a run that comes later would add, before it is pooled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import RelevanceModel

COLUMNS = ("world", "depth", "n_before", "n_added", "share_added", "n_judgments", "hours", "n_positives")


def late_costs(
    lists: Lists,
    late: Sequence[str],
    worlds: Mapping[str, RelevanceModel],
    *,
    depths: Sequence[int] = (5, 10, 20),
    overlap: float = 0.1,
    seconds: float = math.nan,
    seed: int = 0,
) -> pd.DataFrame:
    """Return for each depth how many pairs the late runs add to the pool of the others.

    Args:
        lists: of all runs.
        late: ids of the runs that come later; some other is left.
        worlds: models, by which the positives among the added pairs are expected.
        depths: of the pools; those below the lists' depth.
        overlap: the share of pairs that two people judge; judgments count it, third votes not.
        seconds: that one judgment takes.
        seed: of the draws.

    Returns:
        World × depth: pairs of the others' pool, pairs added, their share of both, judgments, hours,
        n_positives that are expected among the added and are not originals.

    Raises:
        UsageError: all runs are late.
    """
    is_late = np.isin(lists.run_ids, late)
    if is_late.all():
        raise UsageError("all runs come later; expected one or more that were pooled before")
    chances = {
        name: model.chances(lists, np.random.default_rng(seed)) * ~lists.is_original
        for name, model in worlds.items()
    }
    return pd.DataFrame(_rows(lists, is_late, chances, depths, overlap, seconds), columns=list(COLUMNS))


def _rows(
    lists: Lists,
    is_late: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    chances: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]],
    depths: Sequence[int],
    overlap: float,
    seconds: float,
) -> Iterator[tuple[str | float, ...]]:
    for name, chance in chances.items():
        for depth in depths:
            if depth > lists.depth:
                continue
            before = (lists.ranks[:, ~is_late] <= depth).any(axis=1)
            added = (lists.best_rank <= depth) & ~before
            n_before, n_added = (round(float(mask.sum()) * lists.scale) for mask in (before, added))
            n_judgments = round(n_added * (1 + overlap))
            hours = n_judgments * seconds / 3600
            n_positives = float(chance[added].sum()) * lists.scale
            share = n_added / max(1, n_before + n_added)
            yield name, depth, n_before, n_added, share, n_judgments, hours, round(n_positives)
