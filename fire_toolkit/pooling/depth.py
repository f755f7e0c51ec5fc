"""Depth-K pooling: the union of the top K of every run (Spärck Jones & van Rijsbergen 1975; FIRE §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.ranking import split_runs, top
from fire_toolkit.tables import Pool, PoolSources, Qrels, Run, check_pool, check_pool_sources

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class PoolingResult:
    """A pool, where each pair came from, and what was counted on the way (name → number)."""

    pool: Pool
    sources: PoolSources
    counts: dict[str, int]


def pool_runs(
    runs: Run | Sequence[Run],
    *,
    depth: int = 10,
    originals: Qrels | None = None,
    include_originals: bool = False,
    judged: pd.DataFrame | None = None,
    round_number: int = 1,
) -> PoolingResult:
    """Return the union of the top `depth` docs of every query over `runs`, each pair once.

    Args:
        runs: one Run table or several; every run id once.
        depth: docs taken from each run and query, 1 or more.
        originals: the original qrels: their queries are the universe (a run's other queries are left
            out and counted), and their positives (relevance ≥ 1) are marked `is_original`.
        include_originals: also pool the original positives that no run found (best_rank missing,
            n_runs 0).
        judged: pairs judged before (query_id, doc_id); they are left out and counted.
        round_number: the pool's round, 1 for the first.

    Returns:
        The pool and its sources, each ordered by query_id and doc_id; both are empty when every pair
        was judged before. Without `originals`, `is_original` is missing.

    Raises:
        UsageError: depth below 1, no run, or include_originals without originals.
        JoinError: a run has no query in common with the original qrels or with the other runs.

    Examples:
        >>> from fire_toolkit.ranking import rank_run
        >>> scored = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "score": [3, 2, 1]})
        >>> clip = rank_run(scored.assign(run_id="clip"))
        >>> ssb = rank_run(scored.assign(run_id="ssb", score=[1, 2, 3]))
        >>> pool_runs([clip, ssb], depth=2).pool[["doc_id", "best_rank", "n_runs"]]
          doc_id  best_rank  n_runs
        0      a          1       1
        1      b          2       2
        2      c          1       1
    """
    if depth < 1:
        raise UsageError(f"depth {depth}, expected 1 or more")
    if include_originals and originals is None:
        raise UsageError("original positives can be pooled only when the original qrels are given")
    by_id = split_runs(runs)
    if not by_id:
        raise UsageError("no run given, expected at least one")
    _check_same_queries(by_id, originals)
    universe = None if originals is None else set(originals["query_id"])
    pooled = _all_sources(by_id, depth, universe)
    counts = {"runs": len(by_id), "extra_queries": _count_extra(by_id, universe)}
    positives = None if originals is None else originals.loc[originals["relevance"] >= 1, PAIR]
    pairs = pooled.groupby(PAIR, sort=False).agg(best_rank=("rank", "min"), n_runs=("rank", "size"))
    pairs = pairs.reset_index()
    if positives is not None:
        pairs = _with_originals(pairs, positives, include_originals)
        counts["originals"] = len(positives)
        counts["originals_in_pool"] = int(pairs["is_original"].sum())
    kept = _unjudged(pairs, judged)
    counts |= {"judged_before": len(pairs) - len(kept), "pairs": len(kept)}
    counts["queries"] = int(kept["query_id"].nunique())
    pool = check_pool(kept.assign(round=round_number))
    return PoolingResult(pool, check_pool_sources(_unjudged(pooled, judged)), counts)


def _all_sources(by_id: dict[str, Run], depth: int, universe: set[str] | None) -> pd.DataFrame:
    tables = []
    for run in by_id.values():
        rows = top(run, depth)
        if universe is not None:
            rows = Run(rows[rows["query_id"].isin(universe)])
        ids = {name: rows[name].astype("str") for name in ("query_id", "doc_id", "run_id")}
        tables.append(pd.DataFrame({**ids, "rank": rows["rank"]}))
    return pd.concat(tables, ignore_index=True)


def _check_same_queries(by_id: dict[str, Run], originals: Qrels | None) -> None:
    queries = {run_id: set(run["query_id"].cat.categories) for run_id, run in by_id.items()}
    for run_id, own in queries.items():
        if originals is not None and not own & set(originals["query_id"]):
            raise JoinError(
                f"run {run_id!r} has none of the {originals['query_id'].nunique()} queries of the original "
                f"qrels (its first: {min(own)!r}, theirs: {originals['query_id'].min()!r}); "
                "is it a run for another collection?"
            )
        others = set().union(*(found for other, found in queries.items() if other != run_id))
        if others and not own & others:
            raise JoinError(
                f"run {run_id!r} has no query in common with the other runs (its first: {min(own)!r}, "
                f"theirs: {min(others)!r}); is it a run for another collection?"
            )


def _count_extra(by_id: dict[str, Run], universe: set[str] | None) -> int:
    if universe is None:
        return 0
    found = set().union(*(run["query_id"].cat.categories for run in by_id.values()))
    return len(found - universe)


def _with_originals(pairs: pd.DataFrame, positives: pd.DataFrame, include: bool) -> pd.DataFrame:
    marked = positives.assign(is_original=True)
    joined = pairs.merge(marked, on=PAIR, how="outer" if include else "left")
    return joined.assign(
        is_original=joined["is_original"].eq(True),
        n_runs=joined["n_runs"].fillna(0),
    )


def _unjudged(pairs: pd.DataFrame, judged: pd.DataFrame | None) -> pd.DataFrame:
    if judged is None or judged.empty:
        return pairs
    known = pd.MultiIndex.from_frame(judged[PAIR].astype("str"))
    return pairs[~pd.MultiIndex.from_frame(pairs[PAIR]).isin(known)].reset_index(drop=True)
