"""Who found what: what each run brought to the pool, alone and together with others."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.results import Found
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

KINDS = ("confirmed", "rejected", "new", "irrelevant", "not_judged")


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
    """
    pairs = sources[PAIR].drop_duplicates(ignore_index=True)
    kind = _kinds(pairs, labels, original)
    if len(pairs) and (kind == KINDS.index("not_judged")).all():
        raise JoinError(f"labels: none is on a pair of the pool ({pairs.iloc[0]['query_id']} "
                        f"{pairs.iloc[0]['doc_id']}, ...); are they of another pool?")  # fmt: skip
    run, run_ids = pd.factorize(sources["run_id"].astype("str"), sort=True)
    is_by = np.zeros((len(pairs), len(run_ids)), dtype=bool)
    is_by[pair_rows(sources, pairs), run] = True
    is_own = is_by & (is_by.sum(axis=1, keepdims=True) == 1)
    by_run, own = _counted(is_by, kind), _counted(is_own, kind)
    runs = pd.DataFrame({"run_id": run_ids, "n_pooled": is_by.sum(axis=0)}).join(by_run)
    runs["n_own"], runs["own_positive"], runs["own_new"] = is_own.sum(axis=0), own["n_positive"], own["new"]
    runs["own_share"] = own["new"] / by_run["new"].where(by_run["new"] > 0)
    members, set_of = np.unique(is_by, axis=0, return_inverse=True)
    is_in = set_of.reshape(-1, 1) == np.arange(len(members))
    sets = pd.DataFrame({"runs": [" & ".join(run_ids[each]) for each in members]})
    sets = sets.assign(n_runs=members.sum(axis=1), n_pairs=is_in.sum(axis=0)).join(_counted(is_in, kind))
    sets = sets.sort_values(["n_pairs", "runs"], ascending=[False, True], kind="stable", ignore_index=True)
    return Found({"runs": runs, "sets": sets})


def _kinds(pairs: pd.DataFrame, labels: Labels, original: Qrels) -> Ints:
    """Return for each pair the place in KINDS of what became of it."""
    label, positive = pair_rows(pairs, labels), original[original["relevance"] >= 1]
    is_positive = np.append(labels["relevance"].to_numpy() >= 1, False)[label]
    is_original = pair_rows(pairs, positive) >= 0
    kinds = np.where(is_original, np.where(is_positive, 0, 1), np.where(is_positive, 2, 3))
    return np.where(label < 0, KINDS.index("not_judged"), kinds).astype(np.int64)


def _counted(is_in: Bools, kind: Ints) -> pd.DataFrame:
    """Return for each column of pairs × groups how many of its pairs are positive, and of each kind."""
    counts = is_in.T.astype(np.int64) @ np.eye(len(KINDS), dtype=np.int64)[kind]
    found = pd.DataFrame(counts, columns=list(KINDS))
    found.insert(0, "n_positive", found["confirmed"] + found["new"])
    return found
