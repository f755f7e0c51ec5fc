"""A pool in words: what it holds, what is new in it, and which runs have changed since an earlier one."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import starts_of_groups
from fire_toolkit.tables import Labels, Pool, PoolSources
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of


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
        before: the earlier pool's sources, by query and doc.
        pool, sources: the present pool.
        judged: the pairs that have been judged; labels: the labels so far.
        is_whole: whether all that the runs bring is pooled; else the strategy has chosen others.

    Examples:
        >>> names = ["query_id", "doc_id", "run_id", "rank"]
        >>> before = PoolSources(pd.DataFrame([["q", "a", "clip", 1], ["q", "b", "clip", 2]], columns=names))
        >>> now = PoolSources(pd.DataFrame([["q", "b", "late", 1]], columns=names))
        >>> list(changes_in_words(before, Pool(now), now, judged=None, labels=None, is_whole=True))
        ['clip: withdrawn; it had pooled 2 pairs, 2 of them alone', 'late: new, 1 pair']
    """
    names = ["query_id", "doc_id", "run_id"]
    if before[names].equals(sources[names]):
        return
    starts = starts_of_groups(*(before[name].array for name in PAIR))
    by_one = before.iloc[starts[np.diff(starts, append=len(before)) == 1]]
    of_own = {"judged": judged, "relevant": None if labels is None else labels[labels["relevance"] >= 1]}
    gone = []  # pairs of each run that brings others now
    for run_id in sorted({*before["run_id"].unique(), *sources["run_id"].unique()}):
        old, new = (table[PAIR][table["run_id"] == run_id] for table in (before, sources))
        if old.reset_index(drop=True).equals(new.reset_index(drop=True)):  # as most are
            continue
        n_kept, pairs = _n_among(old, new), n_of(len(new), "pair")
        gone.append(len(old) - n_kept)
        if not len(old):
            yield f"{run_id}: new, {pairs}"
        elif not len(new):
            own = by_one[PAIR][by_one["run_id"] == run_id]
            counts = {word: _n_among(own, each) for word, each in of_own.items() if each is not None}
            known = ", ".join(f"{count:,} {word}" for word, count in counts.items())
            alone = f"{len(own):,} of them alone" + (f" ({known})" if known else "")
            yield f"{run_id}: withdrawn; it had pooled {n_of(len(old), 'pair')}, {alone}"
        elif is_whole:
            others = f"{len(new) - n_kept:,} new, {gone[-1]:,} gone"
            ranks = (table[[*PAIR, "rank"]][table["run_id"] == run_id] for table in (before, sources))
            is_same = n_kept == min(len(old), len(new)) == len(pd.merge(*ranks))
            word = "ranked as before" if is_same else "changed"
            yield f"{run_id}: {word}; {pairs}, {len(old):,} before; {others}"
    if judged is not None and gone and not (is_whole and not any(gone)):
        earlier = before[PAIR].drop_duplicates()
        is_gone = (pair_rows(earlier, pool) < 0) & (pair_rows(earlier, judged) >= 0)
        if n_left := int(is_gone.sum()):
            left = n_of(n_left, "judged pair")
            yield f"{left} no longer in the pool; their judgments stay in labels and qrels"


def _n_among(pairs: pd.DataFrame, others: pd.DataFrame) -> int:
    return int((pair_rows(pairs, others) >= 0).sum())
