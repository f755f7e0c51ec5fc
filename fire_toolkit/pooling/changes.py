"""A pool and an earlier one: which pairs are left to ask, and what became of each run's part."""

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
        ...                                 "is_judged": [False, False, True]}))
        >>> pairs_to_ask(pool)["doc_id"].tolist()
        ['b']
    """
    kept = pool["round"] == pool["round"].max()
    if "is_judged" in pool.columns:
        kept &= ~pool["is_judged"]
    return Pool(pool[kept].reset_index(drop=True))


def source_changes(
    before: PoolSources, now: PoolSources, *, judged: pd.DataFrame | None = None, labels: Labels | None = None
) -> pd.DataFrame:
    """Return what each run pooled before and pools now.

    Args:
        before, now: the sources of an earlier pool and of the present one, by query and doc.
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
    starts = starts_of_groups(*(before[name].array for name in PAIR))
    own = before.iloc[starts[np.diff(starts, append=len(before)) == 1]]
    known = (judged, None if labels is None else labels[labels["relevance"] >= 1])
    rows = []
    for run_id in sorted({*before["run_id"].unique(), *now["run_id"].unique()}):
        old, new, alone = (table.loc[table["run_id"] == run_id, PAIR] for table in (before, now, own))
        is_same = old.reset_index(drop=True).equals(new.reset_index(drop=True))  # as most are
        n_kept = len(old) if is_same else _n_among(old, new)
        of_own = [np.nan if pairs is None else _n_among(alone, pairs) for pairs in known]
        counts = len(old), len(new), len(old) - n_kept, len(new) - n_kept, len(alone)
        rows.append((run_id, *counts, *of_own))
    return pd.DataFrame(rows, columns=COLUMNS)


def _n_among(pairs: pd.DataFrame, others: pd.DataFrame) -> int:
    return int((pair_rows(pairs, others) >= 0).sum())
