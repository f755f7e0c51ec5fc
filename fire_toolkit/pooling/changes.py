"""A pool and an earlier one: which pairs are left to ask, and what became of each run's part."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.arrays import starts_of_groups
from fire_toolkit.tables import Labels, Pool, PoolSources
from fire_toolkit.tables.columns import PAIR, pair_rows

COLUMNS = ["run_id", "n_before", "n_now", "n_gone", "n_new", "n_own_before", "n_own_judged"]
COLUMNS += ["n_own_relevant"]


def pairs_to_ask(pool: Pool) -> Pool:
    """Return the pairs of a pool that nobody was asked: of its latest round, and not judged.

    Earlier rounds were asked before; a pool that was never asked has one round and is returned whole.

    Examples:
        >>> from fire_toolkit.tables import check_pool
        >>> pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": list("abc"), "round": [1, 2, 2],
        ...                                 "is_judged": [True, False, True]}))
        >>> pairs_to_ask(pool)["doc_id"].tolist()
        ['b']
    """
    kept = pool["round"] == pool["round"].max()
    if "is_judged" in pool.columns:
        kept &= ~pool["is_judged"]
    return Pool(pool[kept].reset_index(drop=True))


def source_changes(
    before: PoolSources,
    now: PoolSources,
    *,
    judged: pd.DataFrame | None = None,
    labels: Labels | None = None,
) -> pd.DataFrame:
    """Return what each run pooled before and pools now.

    Args:
        before: the sources of an earlier pool, by query and doc, as they are checked.
        now: those of the present one.
        judged: the pairs (query_id, doc_id) that have been judged.
        labels: the resolved labels.

    Returns:
        A row for each run of either, by run_id: n_before and n_now (pairs; 0 where the run was or is not
        pooled), n_gone (pairs that it pooled before and does not pool now), n_new (the other way round),
        n_own_before (pairs that it alone pooled before), n_own_judged and n_own_relevant (of these,
        judged, and with a label of relevance 1 or more; NaN without `judged` or `labels`).

    Examples:
        >>> names = ["query_id", "doc_id", "run_id", "rank"]
        >>> before = PoolSources(pd.DataFrame([["q", "a", "clip", 1], ["q", "b", "clip", 2]], columns=names))
        >>> now = PoolSources(pd.DataFrame([["q", "b", "late", 1]], columns=names))
        >>> source_changes(before, now)[["run_id", "n_before", "n_now", "n_own_before"]].values.tolist()
        [['clip', 2, 0, 2], ['late', 0, 1, 0]]
    """
    run_ids = sorted({*before["run_id"].unique(), *now["run_id"].unique()})
    sides = [(before[before["run_id"] == run_id], now[now["run_id"] == run_id]) for run_id in run_ids]
    n_kept = np.array([_n_kept(old, new) for old, new in sides], dtype=np.int64)
    starts = starts_of_groups(*(before[name].array for name in PAIR))
    own = before.iloc[starts[np.diff(starts, append=len(before)) == 1]]
    relevant = None if labels is None else labels[labels["relevance"] >= 1]
    known = {"n_own_judged": judged, "n_own_relevant": relevant}
    counted: dict[str, pd.DataFrame] = {"n_before": before, "n_now": now, "n_own_before": own}
    counted |= {name: _among(own, pairs) for name, pairs in known.items() if pairs is not None}
    counts = {
        name: rows["run_id"].value_counts().reindex(run_ids, fill_value=0) for name, rows in counted.items()
    }
    table = pd.DataFrame({name: column.to_numpy() for name, column in counts.items()})
    changed = {"n_gone": table["n_before"] - n_kept, "n_new": table["n_now"] - n_kept}
    return table.assign(run_id=run_ids, **changed).reindex(columns=COLUMNS)


def _n_kept(before: pd.DataFrame, now: pd.DataFrame) -> int:
    """Return how many pairs of a run's sources are among others."""
    if before[PAIR].reset_index(drop=True).equals(now[PAIR].reset_index(drop=True)):
        return len(before)
    return int((pair_rows(before, now) >= 0).sum())


def _among(sources: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the sources whose pair is among `pairs`."""
    return sources[pair_rows(sources, pairs) >= 0]
