"""Who found what: what each run brought to the pool, alone and together with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints, starts_of_groups
from fire_toolkit.errors import JoinError
from fire_toolkit.results import Found
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR, Coded, pair_rows

KINDS = ("confirmed", "rejected", "new", "irrelevant", "not_judged")
_NOT_JUDGED = KINDS.index("not_judged")


def contributions(sources: PoolSources, labels: Labels, original: Qrels) -> Found:
    """Return what each run, and each set of runs, brought to the pool, and what became of it.

    Args:
        sources: which run pooled which pair.
        labels: the resolved labels.
        original: the benchmark's qrels.

    Returns:
        runs: run_id, n_pooled, n_positive (confirmed and new), then confirmed, rejected, new, irrelevant,
        not_judged; the same of the pairs that no other run pooled, as n_own, own_positive, own_new; and
        own_share (own_new / new).
        sets: runs (joined by ` & `), n_runs, n_pairs, n_positive, then the five kinds: the counts of an
        UpSet plot, largest first.
        Of a pooled pair: an original positive is confirmed or rejected by its label,
        another pair new or irrelevant; without a label it is not_judged. Confirmations are not new.
        Runs are sorted by id; sets by n_pairs descending, then by name.

    Raises:
        JoinError: no pair of the pool has a label.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = {"run_id": ["a", "a", "b", "b"], "query_id": "q", "doc_id": ["d1", "d2"] * 2}
        >>> runs = rank_run(pd.DataFrame(scored | {"score": [2.0, 1.0, 1.0, 2.0]}))
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d1"], "relevance": 1}))
        >>> from fire_toolkit.tables import check_labels
        >>> pairs = {"query_id": "q", "doc_id": ["d2"], "label": "x", "relevance": 1}
        >>> labels = check_labels(pd.DataFrame(pairs))
        >>> from fire_toolkit.pooling import pool_runs
        >>> sources = pool_runs(runs, depth=1).sources
        >>> contributions(sources, labels, original).runs[["run_id", "n_pooled", "confirmed", "new"]]
          run_id  n_pooled  confirmed  new
        0      a         1          0    0
        1      b         1          0    1
    """
    rows, is_by = _pairs_by_run(sources)
    run_ids = sorted(sources["run_id"].unique())
    pairs = sources[PAIR].iloc[rows]
    kind = _kinds(pairs, labels, original)
    if len(pairs) and (kind == _NOT_JUDGED).all():
        raise JoinError(f"labels: none is on a pair of the pool ({pairs.iloc[0]['query_id']} "
                        f"{pairs.iloc[0]['doc_id']}, ...); are they of another pool?")  # fmt: skip
    n_runs = is_by.sum(axis=1)
    by_run = [
        _of_run(run_id, kind[is_by[:, run]], kind[is_by[:, run] & (n_runs == 1)])
        for run, run_id in enumerate(run_ids)
    ]
    sets, set_of = np.unique(is_by, axis=0, return_inverse=True)
    by_set = [
        _of_set([run_ids[run] for run in np.flatnonzero(members)], kind[set_of == place])
        for place, members in enumerate(sets)
    ]
    names = ["runs", "n_runs", "n_pairs", "n_positive", *KINDS]
    table = pd.DataFrame(by_set, columns=names).sort_values(
        ["n_pairs", "runs"], ascending=[False, True], kind="stable"
    )
    return Found({"runs": pd.DataFrame(by_run), "sets": table.reset_index(drop=True)})


def _pairs_by_run(sources: PoolSources) -> tuple[Ints, Bools]:
    """Return the first row of each pair, which stand together, and pairs × runs: which run pooled which."""
    rows = starts_of_groups(*(Coded(sources[name]).codes for name in PAIR))
    run, run_ids = pd.factorize(sources["run_id"], sort=True)
    pair = np.repeat(np.arange(len(rows)), np.diff(rows, append=len(sources)))
    is_by = np.zeros((len(rows), len(run_ids)), dtype=bool)
    is_by[pair, run] = True
    return rows, is_by


def _kinds(pairs: pd.DataFrame, labels: Labels, original: Qrels) -> Ints:
    """Return for each pair the place in KINDS of what became of it."""
    label, positive = pair_rows(pairs, labels), original[original["relevance"] >= 1]
    is_positive = np.append(labels["relevance"].to_numpy() >= 1, False)[label]
    is_original = pair_rows(pairs, positive) >= 0
    kinds = np.where(is_original, np.where(is_positive, 0, 1), np.where(is_positive, 2, 3))
    return np.where(label < 0, _NOT_JUDGED, kinds).astype(np.int64)


def _of_run(run_id: str, pooled: Ints, alone: Ints) -> dict[str, Any]:
    """Return the row of a run from the kinds of its pairs, and of those of no other run."""
    kinds, own = _count(pooled), _count(alone)
    row = {"run_id": str(run_id), "n_pooled": len(pooled), "n_positive": kinds["confirmed"] + kinds["new"]}
    row |= kinds | {"n_own": len(alone)}
    row |= {"own_positive": own["confirmed"] + own["new"], "own_new": own["new"]}
    return row | {"own_share": own["new"] / kinds["new"] if kinds["new"] else float("nan")}


def _of_set(run_ids: list[str], own: Ints) -> dict[str, Any]:
    """Return the row of a set of runs from the kinds of its pairs."""
    kinds = _count(own)
    row: dict[str, Any] = {"runs": " & ".join(run_ids), "n_runs": len(run_ids), "n_pairs": len(own)}
    return row | {"n_positive": kinds["confirmed"] + kinds["new"]} | kinds


def _count(kind: Ints) -> dict[str, int]:
    return dict(zip(KINDS, np.bincount(kind, minlength=len(KINDS)).tolist(), strict=True))
