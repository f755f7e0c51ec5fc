"""A pool in words: what it holds, what is new in it, and which runs have changed since an earlier one."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import starts_of_groups
from fire_toolkit.tables import Labels, Pool, PoolSources
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of

_COLUMNS = ["run_id", "n_before", "n_now", "n_gone", "n_new", "n_own_before", "n_own_judged"]
_COLUMNS += ["n_own_relevant"]


def takes_all(parameters: Mapping[str, Any]) -> bool:
    """Return whether all that the runs bring is pooled, so that each run's pairs are its own affair."""
    return parameters["strategy"] == "depth" and not (parameters["budget"] or parameters["per_query"])


def counts_in_words(counts: Mapping[str, int], parameters: Mapping[str, Any], seconds: float | None) -> str:
    """Return what a pool holds, in words; seconds: that people need for a pair, None where nobody knows."""
    n_pairs, strategy, n = counts["pairs"], parameters["strategy"], counts.get
    stopped = [f"{count:,} {name[8:]}" for name, count in counts.items() if name.startswith("stopped_")]
    told = {
        "originals": f"{n('originals_in_pool', 0):,} of {n('originals', 0):,} original positives among them",
        "extra_queries": f"{n('extra_queries', 0):,} queries that the qrels do not have left out",
        "deep_queries": f"{n_of(n('deep_queries', 0), 'query')} drawn with seed {parameters['seed']} to be "
        f"judged to depth {parameters['deep_depth']}",
        "own_items": f"{n_of(n('own_items', 0), 'pair')} of a query and its own item left out",
        "stopped": f"queries stopped: {', '.join(stopped)}",
        "again": f"{n_of(n('again', 0), 'pair')} to be asked again (`next-round --strategy`)",
    }
    is_told = {name: n(name, 0) for name in told} | {"stopped": len(stopped)}
    is_told |= {name: name in counts for name in ("originals", "deep_queries", "again")}
    words = [
        f"{n_of(n_pairs, 'pair')} of {n_of(counts['queries'], 'query')} "
        f"from {n_of(counts['runs'], 'run')} at depth {parameters['depth']}"
        + ("" if strategy == "depth" else f", chosen by {strategy}"),
        *(sentence for name, sentence in told.items() if is_told[name]),
    ]
    if "to_ask" in counts:
        n_asked, n_judged = counts["to_ask"], counts["judged_before"]
        new = f"{n_asked:,} new, to be asked in round {counts['round']}{time_in_words(n_asked, seconds)}"
        n_waiting = n_pairs - n_judged - n_asked
        waiting = [f"{n_waiting:,} asked and not judged"] if n_waiting else []
        words.append(", ".join([f"{n_judged:,} judged before", *waiting, new if n_asked else "none new"]))
    return "; ".join(words)


def time_in_words(n_pairs: int, seconds: float | None) -> str:
    """Return how long people need for so many pairs, at their pace so far; empty where nobody knows.

    Examples:
        >>> time_in_words(90, 10.0), time_in_words(90, None)
        (', about 15 minutes at the pace so far', '')
    """
    minutes = n_pairs * (seconds or 0.0) / 60
    if not minutes > 0:
        return ""
    duration = n_of(max(1, round(minutes)), "minute") if minutes < 90 else f"{minutes / 60:,.0f} hours"
    return f", about {duration} at the pace so far"


def changes_in_words(
    before: PoolSources,
    pool: Pool,
    sources: PoolSources,
    *,
    judged: pd.DataFrame | None,
    labels: Labels | None,
    is_whole: bool,
) -> Iterator[str]:
    """Yield which runs are new, changed or withdrawn since an earlier pool, and what they had brought.

    Args:
        before: the earlier pool's sources.
        pool, sources: the present pool.
        judged: the pairs that have been judged; labels: the labels so far.
        is_whole: whether all that the runs bring is pooled; else the strategy has chosen others.
    """
    names = ["query_id", "doc_id", "run_id"]
    if before[names].equals(sources[names]):
        return
    is_withdrawn = bool(set(before["run_id"].unique()) - set(sources["run_id"].unique()))
    known: Any = {"judged": judged, "labels": labels} if is_withdrawn else {}
    found = source_changes(before, sources, **known)
    rows = found[(found["n_gone"] > 0) | (found["n_new"] > 0)].to_dict("records")
    for row in rows:
        if is_whole or not (row["n_before"] and row["n_now"]):
            yield f"{row['run_id']}: {_change_in_words(row)}"
    if judged is not None and rows and not (is_whole and not any(row["n_gone"] for row in rows)):
        pairs = before[PAIR].drop_duplicates()
        is_gone = (pair_rows(pairs, pool) < 0) & (pair_rows(pairs, judged) >= 0)
        if n_left := int(is_gone.sum()):
            left = n_of(n_left, "judged pair")
            yield f"{left} no longer in the pool; their judgments stay in labels and qrels"


def _change_in_words(row: Mapping[Any, Any]) -> str:
    pairs, before = n_of(row["n_now"], "pair"), row["n_before"]
    if not before:
        return f"new, {pairs}"
    if row["n_now"]:
        return f"changed; {pairs}, {before:,} before; {row['n_new']:,} new, {row['n_gone']:,} gone"
    counts = {"judged": row["n_own_judged"], "relevant": row["n_own_relevant"]}
    known = ", ".join(f"{count:,.0f} {word}" for word, count in counts.items() if not pd.isna(count))
    alone = f"{row['n_own_before']:,} of them alone" + (f" ({known})" if known else "")
    return f"withdrawn; it had pooled {n_of(before, 'pair')}, {alone}"


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
    return pd.DataFrame(rows, columns=_COLUMNS)


def _n_among(pairs: pd.DataFrame, others: pd.DataFrame) -> int:
    return int((pair_rows(pairs, others) >= 0).sum())
