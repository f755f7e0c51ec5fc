"""The runs that a plan is simulated on: every pair of a query and a doc in any run's top, as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints, are_among, count_by_query
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ideal import IdealRanking
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.own_items import OwnItems
from fire_toolkit.matching.ranking import split_runs
from fire_toolkit.measures import Measure
from fire_toolkit.pooling import pool_runs
from fire_toolkit.tables import Qrels, Queries, Run
from fire_toolkit.tables.columns import PAIR, pair_rows

_RRF = 60


@dataclass(frozen=True, eq=False)
class Lists:
    """The union of the runs' top `depth` and the original positives, for some or all of the queries.

    n_universe: how many queries the qrels hold; n_queries: how many of them are here, drawn at random;
    pairs: query_id and doc_id of each pair, ordered by query; query: of each pair; ranks: (n_pairs, n_runs),
    `depth` + 1 where the run does not have the pair; is_original: of each pair; tables, own_items: what the
    lists were made of, for these queries.
    """

    run_ids: tuple[str, ...]
    n_universe: int
    n_queries: int
    depth: int
    pairs: pd.DataFrame
    query: Ints
    ranks: Ints
    is_original: Bools
    tables: Sequence[Run]
    own_items: Queries | OwnItems | None = None

    @property
    def scale(self) -> float:
        """Return how many queries of the universe each of these stands for."""
        return self.n_universe / self.n_queries

    @cached_property
    def best_rank(self) -> Ints:
        """Return each pair's best rank in any run, `depth` + 1 where no run has it."""
        return np.asarray(self.ranks.min(axis=1))

    @cached_property
    def n_runs(self) -> Ints:
        """Return how many runs have each pair."""
        return np.asarray((self.ranks <= self.depth).sum(axis=1))

    @cached_property
    def rrf(self) -> Floats:
        """Return each pair's reciprocal rank fusion (Cormack et al., SIGIR 2009), k = 60."""
        return np.asarray(np.where(self.ranks <= self.depth, 1 / (_RRF + self.ranks), 0.0).sum(axis=1))

    @cached_property
    def by_rank(self) -> Ints:
        """Return the pairs of each query by best rank, then fusion, queries in order."""
        return np.asarray(np.lexsort([np.arange(len(self.query)), -self.rrf, self.best_rank, self.query]))

    def by_tops(self, k: int) -> Ints:
        """Return the pairs of each query by how many runs have them in the top k, then fusion."""
        in_tops = (self.ranks <= k).sum(axis=1)
        return np.asarray(np.lexsort([np.arange(len(self.query)), -self.rrf, -in_tops, self.query]))

    def chosen(self, strategy: str, per_query: int) -> Bools:
        """Return the pairs that a strategy of `pool` takes, so many of each query."""
        key = strategy, per_query
        if key not in self._chosen:
            pool = pool_runs(
                self.tables,
                depth=self.depth,
                strategy=strategy,
                per_query=per_query,
                own_items=self.own_items,
            ).pool
            rows = pair_rows(pool, self.pairs)
            self._chosen[key] = are_among(rows[rows >= 0], len(self.query))
        return self._chosen[key]

    @cached_property
    def _chosen(self) -> dict[tuple[str, int], Bools]:
        return {}

    @cached_property
    def entries(self) -> list[tuple[Ints, Ints]]:
        """Return for each run the pairs that it has, by query and rank, and their ranks."""
        found = []
        for rank in self.ranks.T:
            pair = np.flatnonzero(rank <= self.depth)
            order = pair[np.lexsort([rank[pair], self.query[pair]])]
            found.append((order, rank[order]))
        return found

    def count(self, pairs: Bools) -> Ints:
        """Return how many of these pairs each query has."""
        return count_by_query(self.query[pairs], self.n_queries)

    def score(self, is_judged: Bools, is_positive: Bools, measures: Sequence[Measure]) -> Floats:
        """Return the value of each measure, run and query: (n_measures, n_runs, n_queries).

        Args:
            is_judged, is_positive: of each pair; what is not judged is not relevant, but said to be unjudged.
        """
        ideal = IdealRanking(
            self.query[is_positive], np.ones(int(is_positive.sum()), dtype=np.int64), self.n_queries
        )
        n_negative = self.count(is_judged & ~is_positive)
        is_kept = is_judged | is_positive
        values = np.empty((len(measures), len(self.run_ids), self.n_queries))
        for run, (pair, rank) in enumerate(self.entries):
            n_ranked = count_by_query(self.query[pair], self.n_queries)
            held = is_kept[pair]
            ranking = JudgedRanking(
                query=self.query[pair[held]],
                rank=rank[held].astype(np.float64),
                relevance=is_positive[pair[held]].astype(np.int64),
                n_retrieved=n_ranked,
                last_rank=n_ranked,
                ideal=ideal,
                n_nonrelevant=n_negative,
                n_undrawn=np.zeros(self.n_queries, dtype=np.int64),
                worst_rank=self.depth + 1,
            )
            for place, measure in enumerate(measures):
                values[place, run] = measure.terms(measure.per_query(measure.view(ranking)))
        return values


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
    tables = [runs] if isinstance(runs, pd.DataFrame) else list(runs)
    tables = [_of(table, chosen) for table in tables]
    run_ids = tuple(sorted(split_runs(tables)))
    pooled = pool_runs(tables, depth=depth, originals=known, include_originals=True, own_items=own_items)
    pairs, sources = pooled.pool, pooled.sources
    depth = int(sources["rank"].max()) if len(sources) else depth
    ranks = np.full((len(pairs), len(run_ids)), depth + 1, dtype=np.int64)
    run = pd.Index(run_ids).get_indexer(pd.Index(sources["run_id"]))
    ranks[pair_rows(sources, pairs), run] = sources["rank"].to_numpy()
    return Lists(
        run_ids=run_ids,
        n_universe=len(universe),
        n_queries=len(chosen),
        depth=depth,
        pairs=pairs[PAIR],
        query=chosen.get_indexer(pd.Index(pairs["query_id"])).astype(np.int64),
        ranks=ranks,
        is_original=pairs["is_original"].to_numpy(dtype=bool),
        tables=tables,
        own_items=own_items,
    )


def _of(run: Run, queries: pd.Index) -> Run:
    ids = run["query_id"].cat
    is_chosen = ids.categories.isin(queries)
    return run if is_chosen.all() else Run(run[is_chosen[ids.codes]])
