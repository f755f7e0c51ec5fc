"""The runs that a plan is simulated on: every pair of a query and a doc in any run's top, as integers.

A pilot is a few hundred of these pairs, drawn at random by bands of ranks, and what votes on them say.
"""

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
from fire_toolkit.pooling.candidates import Budget
from fire_toolkit.pooling.orders import shares_of
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.tables import Judgments, Pool, Qrels, Queries, Run, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows

_TOP = 10  # of a run, in which an original is looked for
_ENDS = np.array([0, 1, 3, 5, 10, 20, 50, 100, 1000])  # of bands of ranks


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
    pooled = pool_runs(tables, depth=depth, originals=known, include_originals=True, own_items=own_items)
    pairs, sources = pooled.pool, pooled.pool_sources
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


def draw_pilot(lists: Lists, n_pairs: int, *, depth: int, seed: int) -> Pool:
    """Return a pool of `n_pairs` pairs, drawn as evenly from bands of best ranks as these are large.

    Originals are left out, since they are known. The bands end at the ranks 1, 3, 5, 10, 20, 50, …, and at
    `depth`; later ones hold most of the pairs and few positives, so each band gets as many as any other.

    Returns:
        The pool with columns stratum (the band) and inclusion_probability, of all queries of the qrels; all
        pairs of a small band.

    Raises:
        UsageError: fewer pairs than bands, or more than there are.
    """
    rows = np.flatnonzero((lists.best_rank <= min(depth, lists.depth)) & ~lists.is_original)
    band = np.searchsorted(_ENDS, lists.best_rank[rows])
    sizes = np.bincount(band, minlength=len(_ENDS))
    if not (n_bands := np.count_nonzero(sizes)) <= n_pairs <= len(rows):
        raise UsageError(f"a pilot of {n_pairs:,} pairs; expected from {n_bands} to {len(rows):,} here")
    shares, one_more, rest = shares_of(sizes, Budget(in_all=n_pairs))
    shares[np.flatnonzero(one_more > shares)[:rest]] += 1
    rng = np.random.default_rng(seed)
    of_bands = np.flatnonzero(sizes)
    parts = [rng.choice(rows[band == own], size=shares[own], replace=False) for own in of_bands]
    drawn = np.sort(np.concatenate(parts))
    own = np.searchsorted(_ENDS, lists.best_rank[drawn])
    table = lists.pairs.iloc[drawn].assign(
        best_rank=lists.best_rank[drawn],
        n_runs=lists.n_runs[drawn],
        is_original=False,
        stratum=[f"{_ENDS[place - 1] + 1}-{_ENDS[place]}" for place in own],
        inclusion_probability=shares[own] / sizes[own] / lists.scale,
    )
    return check_pool(table.reset_index(drop=True))


def pilot_votes(lists: Lists, judgments: Judgments, relevance: pd.Series) -> pd.DataFrame:
    """Return the votes on each judged pair: pair, its place in the lists, −1 where they do not hold it;
    n_positive; n_votes.

    Args:
        judgments: one row for each annotator and pair.
        relevance: of each row's label, positive from 1; missing where the label has no grade, which is no
            vote.
    """
    votes = judgments[PAIR].assign(positive=relevance >= 1)[relevance.notna()]
    pairs = votes.groupby(PAIR)["positive"].agg(n_positive="sum", n_votes="size").reset_index()
    return pairs.assign(pair=pair_rows(pairs, lists.pairs))
