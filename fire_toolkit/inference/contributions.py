"""Who found what: what each run brought to the pool, alone and together with others."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.results import Result
from fire_toolkit.tables import Labels, PoolSources, Qrels

PAIR = ["query_id", "doc_id"]
KINDS = ("confirmed", "rejected", "new", "irrelevant", "not_judged")


class _Contributions(NamedTuple):
    by_run: pd.DataFrame
    by_set: pd.DataFrame


class Contributions(_Contributions, Result):
    """What `contributions` returns.

    by_run: run_id, n_pooled, n_positive (confirmed and new), then confirmed, rejected, new, irrelevant,
    not_judged; the same of the pairs that no other run pooled, as n_own, own_positive, own_new; and
    own_share (own_new / new).
    by_set: runs (joined by ` & `), n_runs, n_pairs, n_positive, then the five kinds: the counts of an
    UpSet plot, largest first.
    """

    __slots__ = ()


def contributions(sources: PoolSources, labels: Labels, original: Qrels) -> Contributions:
    """Return what each run, and each set of runs, brought to the pool, and what became of it.

    Args:
        sources: which run pooled which pair.
        labels: the resolved labels.
        original: the benchmark's qrels.

    Returns:
        `Contributions`. Of a pooled pair: an original positive is confirmed or rejected by its label,
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
        >>> contributions(sources, labels, original).by_run[["run_id", "n_pooled", "confirmed", "new"]]
          run_id  n_pooled  confirmed  new
        0      a         1          0    0
        1      b         1          0    1
    """
    pairs = sources.groupby(PAIR, sort=True)["run_id"].agg(lambda ids: " & ".join(sorted(ids)))
    found = pairs.rename("runs").reset_index()
    found["n_runs"] = sources.groupby(PAIR, sort=True).size().to_numpy()
    found["kind"] = _kinds(found, labels, original)
    if len(found) and (found["kind"] == "not_judged").all():
        raise JoinError(f"labels: none is on a pair of the pool ({found.iloc[0]['query_id']} "
                        f"{found.iloc[0]['doc_id']}, ...); are they of another pool?")  # fmt: skip
    by_run = []
    for run_id, own in sources.groupby("run_id", sort=True):
        pooled = own[PAIR].merge(found, on=PAIR)
        alone = pooled[pooled["n_runs"] == 1]
        kinds, kinds_alone = _count(pooled), _count(alone)
        row = {
            "run_id": str(run_id),
            "n_pooled": len(pooled),
            "n_positive": kinds["confirmed"] + kinds["new"],
        }
        row |= kinds | {"n_own": len(alone)}
        row["own_positive"] = kinds_alone["confirmed"] + kinds_alone["new"]
        row["own_new"] = kinds_alone["new"]
        row["own_share"] = kinds_alone["new"] / kinds["new"] if kinds["new"] else float("nan")
        by_run.append(row)
    by_set = []
    for runs, own in found.groupby("runs", sort=True):
        kinds = _count(own)
        row = {"runs": str(runs), "n_runs": int(own["n_runs"].iloc[0]), "n_pairs": len(own)}
        by_set.append(row | {"n_positive": kinds["confirmed"] + kinds["new"]} | kinds)
    names = ["runs", "n_runs", "n_pairs", "n_positive", *KINDS]
    table = pd.DataFrame(by_set, columns=names).sort_values(
        ["n_pairs", "runs"], ascending=[False, True], kind="stable"
    )
    return Contributions(pd.DataFrame(by_run), table.reset_index(drop=True))


def _kinds(pairs: pd.DataFrame, labels: Labels, original: Qrels) -> pd.Series:
    label = pairs.merge(labels[[*PAIR, "relevance"]], on=PAIR, how="left")["relevance"]
    positives = original.loc[original["relevance"] >= 1, PAIR].assign(is_original=True)
    is_original = pairs.merge(positives, on=PAIR, how="left")["is_original"].eq(True)
    kind = pd.Series("irrelevant", index=pairs.index)
    kind = kind.mask(is_original, "rejected").mask(label >= 1, "new")
    kind = kind.mask((label >= 1) & is_original, "confirmed")
    return kind.mask(label.isna(), "not_judged")


def _count(pairs: pd.DataFrame) -> dict[str, int]:
    counts = pairs["kind"].value_counts()
    return {kind: int(counts.get(kind, 0)) for kind in KINDS}
