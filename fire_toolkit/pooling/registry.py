"""The pooling strategies by name: a new one is a file and a line here, or comes from a plug-in.

A strategy is handed the runs by id, each cut at the pool's depth, with the queries of the original qrels
and without queries' own items. It returns, by the same ids, the rows that are pooled of each; a run that it
leaves out brings nothing. It is pure: the same runs, the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fire_toolkit.errors import PluginError
from fire_toolkit.plugins import Registry
from fire_toolkit.tables import Run
from fire_toolkit.tables.columns import pair_rows

Runs = Mapping[str, Run]
Strategy = Callable[[Runs], Runs]


def every_doc(runs: Runs) -> Runs:
    """Pool all that is in the top of any run: depth-K pooling."""
    return runs


STRATEGIES: Registry[Strategy] = Registry("pooling", "pooling strategy", returns={"": Mapping})
STRATEGIES.add("depth", every_doc)


def pooled_rows(runs: dict[str, Run], strategy: str) -> dict[str, Run]:
    """Return the rows of `runs` that a strategy pools, each run's in its own order.

    Raises:
        UsageError: there is no such strategy.
        PluginError: it returned a run or a pair that it was not handed, or one twice.
    """
    found = STRATEGIES.named(strategy)(runs)
    if found is runs:
        return runs
    if strange := sorted(set(found) - set(runs)):
        raise PluginError(f"pooling strategy {strategy}: returned run {strange[0]!r}, which is none")
    return {run_id: _rows_of(run, found.get(run_id), strategy) for run_id, run in runs.items()}


def _rows_of(run: Run, chosen: Run | None, strategy: str) -> Run:
    if chosen is None:
        return Run(run.iloc[:0])
    pairs = chosen[["query_id", "doc_id"]].astype("str").reset_index(drop=True)
    rows = pair_rows(pairs, run[["query_id", "doc_id"]].astype("str").reset_index(drop=True))
    if (rows < 0).any() or len(np.unique(rows)) < len(rows):
        raise PluginError(f"pooling strategy {strategy}: returned a pair twice, or one not of the run")
    return Run(run.iloc[np.sort(rows)])
