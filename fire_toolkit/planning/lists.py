"""The runs that a plan is simulated on: every pair of a query and a doc in any run's top, as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.own_items import OwnItems
from fire_toolkit.matching.ranking import split_runs
from fire_toolkit.pooling import pool_runs
from fire_toolkit.tables import Qrels, Queries, Run
from fire_toolkit.tables.columns import PAIR, pair_rows

_TOP = 10  # of a run, in which an original is looked for


@dataclass(frozen=True, eq=False)
class Lists:
    """The union of the runs' top `depth` and the original positives, for some or all of the queries.

    n_universe: how many queries the qrels hold; n_queries: how many of them are here, drawn at random;
    pairs: query_id and doc_id of each pair, ordered by query; query: of each pair; ranks: (n_pairs, n_runs),
    `depth` + 1 where the run does not have the pair; is_original: of each pair;
    without_original: of each query, the share of runs that have no original in their top 10.
    """

    run_ids: tuple[str, ...]
    n_universe: int
    n_queries: int
    depth: int
    pairs: pd.DataFrame
    query: Ints
    ranks: Ints
    is_original: Bools
    without_original: Floats

    @property
    def scale(self) -> float:
        """How many queries of the universe each of these stands for."""
        return self.n_universe / self.n_queries

    @cached_property
    def best_rank(self) -> Ints:
        """Each pair's best rank in any run, `depth` + 1 where no run has it."""
        return np.asarray(self.ranks.min(axis=1))

    @cached_property
    def n_runs(self) -> Ints:
        """How many runs have each pair."""
        return np.asarray((self.ranks <= self.depth).sum(axis=1))

    def top(self, depth: int) -> Lists:
        """Return the pairs that some run has in its top `depth`, with their ranks in all runs."""
        kept = self.best_rank <= depth
        own = {name: getattr(self, name)[kept] for name in ("query", "ranks", "is_original")}
        return replace(self, pairs=self.pairs[kept].reset_index(drop=True), **own)


def lists_of(
    runs: Run | Sequence[Run],
    originals: Qrels,
    *,
    depth: int,
    most_queries: int,
    seed: int,
    own_items: Queries | OwnItems | None = None,
) -> Lists:
    """Return the lists of at most `most_queries` queries of the qrels, drawn at random by `seed`.

    Args:
        runs: one Run table or several.
        originals: the original qrels; their queries are the universe, their positives are known.
        depth: how deep the runs are looked at; as deep as they are where that is less.
        own_items: as for `pool_runs`.

    Raises:
        UsageError: fewer than two queries; and what `pool_runs` raises.
    """
    universe = pd.Index(originals["query_id"].unique()).sort_values()
    if len(universe) < 2:
        raise UsageError(f"the qrels hold {len(universe)} queries, expected 2 or more to plan for")
    chosen = universe
    if len(universe) > most_queries:
        rows = np.random.default_rng(seed).choice(len(universe), size=most_queries, replace=False)
        chosen = universe[np.sort(rows)]
    known = Qrels(originals[originals["query_id"].isin(chosen)])
    tables = [runs] if isinstance(runs, pd.DataFrame) else runs
    tables = [Run(each[each["query_id"].isin(chosen)]) for each in tables]
    run_ids = tuple(sorted(split_runs(tables)))
    pairs, sources = pool_runs(
        tables, depth=depth, originals=known, include_originals=True, own_items=own_items
    )[:2]
    depth = int(sources["rank"].max()) if len(sources) else depth
    ranks = np.full((len(pairs), len(run_ids)), depth + 1, dtype=np.int64)
    run = pd.Index(run_ids).get_indexer(pd.Index(sources["run_id"]))
    ranks[pair_rows(sources, pairs), run] = sources["rank"].to_numpy()
    query = chosen.get_indexer(pd.Index(pairs["query_id"])).astype(np.int64)
    is_original = pairs["is_original"].to_numpy(dtype=bool)
    has_original = np.zeros((len(chosen), len(run_ids)), dtype=bool)
    np.logical_or.at(has_original, query[is_original], ranks[is_original] <= _TOP)
    of_queries = (len(universe), len(chosen), depth, pairs[PAIR], query, ranks, is_original)
    return Lists(run_ids, *of_queries, 1.0 - has_original.mean(axis=1))
