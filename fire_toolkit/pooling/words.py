"""A pool in words: what it holds, what is new in it, and which runs have changed since an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from fire_toolkit.pooling.changes import source_changes
from fire_toolkit.tables import Labels, Pool, PoolSources
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of


def takes_all(parameters: Mapping[str, Any]) -> bool:
    """Return whether all that the runs bring is pooled, so that each run's pairs are its own affair."""
    limits = (parameters["budget"], parameters["per_query"])
    return parameters["strategy"] == "depth" and not any(limits)


def counts_in_words(counts: Mapping[str, int], parameters: Mapping[str, Any], seconds: float | None) -> str:
    """Return what a pool holds, in words; seconds: that people need for a pair, None where nobody knows."""
    chosen_by = "" if parameters["strategy"] == "depth" else f", chosen by {parameters['strategy']}"
    words = [
        f"{n_of(counts['pairs'], 'pair')} of {n_of(counts['queries'], 'query')} "
        f"from {n_of(counts['runs'], 'run')} at depth {parameters['depth']}{chosen_by}"
    ]
    if "originals" in counts:
        words.append(
            f"{counts['originals_in_pool']:,} of {counts['originals']:,} original positives among them"
        )
    if counts["extra_queries"]:
        words.append(f"{counts['extra_queries']:,} queries that the qrels do not have left out")
    if "deep_queries" in counts:
        n_deep, deep = n_of(counts["deep_queries"], "query"), parameters["deep_depth"]
        words.append(f"{n_deep} drawn with seed {parameters['seed']} to be judged to depth {deep}")
    if counts.get("own_items"):
        words.append(f"{n_of(counts['own_items'], 'pair')} of a query and its own item left out")
    stopped = [f"{n:,} {name[8:]}" for name, n in counts.items() if name.startswith("stopped_")]
    if stopped:
        words.append(f"queries stopped: {', '.join(stopped)}")
    if "again" in counts:
        words.append(f"{n_of(counts['again'], 'pair')} to be asked again (`next-round --strategy`)")
    if "to_ask" in counts:
        n_asked = counts["to_ask"]
        waiting = counts["pairs"] - counts["judged_before"] - n_asked
        new = f"{n_asked:,} new, to be asked in round {counts['round']}{time_in_words(n_asked, seconds)}"
        parts = [f"{waiting:,} asked and not judged"] if waiting else []
        parts.append(new if n_asked else "none new")
        words.append(", ".join([f"{counts['judged_before']:,} judged before", *parts]))
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
    before: PoolSources | None,
    pool: Pool,
    sources: PoolSources,
    *,
    judged: pd.DataFrame | None,
    labels: Labels | None,
    is_whole: bool,
) -> Iterator[str]:
    """Yield which runs are new, changed or withdrawn since an earlier pool, and what they had brought.

    Args:
        before: the earlier pool's sources; None: there is none.
        pool, sources: the present pool.
        judged: the pairs that have been judged.
        labels: the labels so far, for what withdrawn runs alone had brought.
        is_whole: whether all that the runs bring is pooled; else the strategy has chosen others.
    """
    names = ["query_id", "doc_id", "run_id"]
    if before is None or before[names].equals(sources[names]):
        return
    is_withdrawn = bool(set(before["run_id"].unique()) - set(sources["run_id"].unique()))
    known = (judged, labels) if is_withdrawn else (None, None)
    found = source_changes(before, sources, judged=known[0], labels=known[1])
    rows = found[(found["n_gone"] > 0) | (found["n_new"] > 0)].to_dict("records")
    for row in rows:
        is_changed = row["n_before"] and row["n_now"]
        if not is_changed or is_whole:
            yield f"{row['run_id']}: {_change_in_words(row)}"
    if judged is None or not rows or (is_whole and not any(row["n_gone"] for row in rows)):
        return
    pairs = before[PAIR].drop_duplicates()
    is_gone = pair_rows(pairs, pool) < 0
    if n_left := int((is_gone & (pair_rows(pairs, judged) >= 0)).sum()):
        left = n_of(n_left, "judged pair")
        yield f"{left} no longer in the pool; their judgments stay in labels and qrels"


def _change_in_words(row: Mapping[Any, Any]) -> str:
    pairs, before = n_of(row["n_now"], "pair"), row["n_before"]
    if not before:
        return f"new, {pairs}"
    if row["n_now"]:
        return f"changed; {pairs}, {before:,} before; {row['n_new']:,} new, {row['n_gone']:,} gone"
    counts = [(row[f"n_own_{word}"], word) for word in ("judged", "relevant")]
    known = ", ".join(f"{count:,} {word}" for count, word in counts if not pd.isna(count))
    alone = f"{row['n_own_before']:,} of them alone" + (f" ({known})" if known else "")
    return f"withdrawn; it had pooled {n_of(before, 'pair')}, {alone}"
