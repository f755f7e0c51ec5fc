"""Sentences that several commands say of what they were given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.matching.ranking import split_runs
from fire_toolkit.tables import Run
from fire_toolkit.tables.columns import sorted_union
from fire_toolkit.words import n_of


def unpooled(runs: Any, fed: Collection[str]) -> list[str]:
    """Return which runs are not among those that fed the pool; nothing where all are."""
    fresh = [run_id for run_id in run_ids(runs) if run_id not in fed]
    if not fresh:
        return []
    return [
        f"{', '.join(fresh)}: fed no pool, so what only such a run finds is unjudged; its scores are not "
        "comparable with those of pooled runs: see `score --honest`"
    ]


def run_ids(runs: Any) -> list[str]:
    """Return the ids of runs, one or several, tables or stored ones; of one without rows it is empty."""
    found: list[str] = []
    for run in [runs] if isinstance(runs, pd.DataFrame) or hasattr(runs, "run_id") else runs:
        is_table = isinstance(run, pd.DataFrame)
        found += [str(each) for each in run["run_id"].unique()] or [""] if is_table else [str(run.run_id)]
    return found


def queries_of_lists(runs: Run | Sequence[Run]) -> str:
    """Return how many queries ranked lists have, in words."""
    return n_of(
        len(sorted_union([run["query_id"].cat.categories for run in split_runs(runs).values()])), "query"
    )


def pairs_by_votes(n_pairs: Sequence[int]) -> str:
    """Return how many pairs have how many votes, in words; n_pairs: those with 0, 1, 2, … votes."""
    parts = [f"{n:,} with {votes}" for votes, n in enumerate(n_pairs[:4]) if n]
    more = sum(n_pairs[4:])
    last = f"{more:,} with 4 or more"
    return f"{n_of(sum(n_pairs), 'pair')}, {', '.join([*parts, *([last] if more else [])])}"
