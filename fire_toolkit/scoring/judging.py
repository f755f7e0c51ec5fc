"""One run under each qrels, a block of its lists at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, are_firsts
from fire_toolkit.matching.blocks import StoredRun
from fire_toolkit.matching.judge_matrix import MatrixSource
from fire_toolkit.matching.judged_ranking import join_rankings
from fire_toolkit.matching.ranking import check_run_fits, run_depth
from fire_toolkit.matching.ties import SETTLING_RULES, TiedRanking, find_ties, order_by_index
from fire_toolkit.measures import (
    CodedQrels,
    CodedRun,
    JudgedRanking,
    Measure,
    code_run,
    judge_run,
    score_coded,
)
from fire_toolkit.measures.depths import Reach
from fire_toolkit.measures.score_coded import score_views
from fire_toolkit.measures.stored_runs import rank_matrix_pairs
from fire_toolkit.measures.tied import expected_values, settled_view

View = Callable[[Measure], JudgedRanking]
_ENDS = ("pessimistic", "optimistic")


@dataclass(frozen=True, eq=False)
class TieEnds:
    """The queries with tied docs of the qrels, and values of measures × those, at either end."""

    queries: Ints
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Judged:
    """One run under one qrels.

    values: measures × queries. ends: where ties were looked for. ranking: the run joined with the qrels,
    where a measure is a rank. n_lost: positives of the qrels that its lists do not hold.
    """

    values: Floats
    ends: TieEnds | None
    ranking: JudgedRanking | None
    n_lost: int


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """One run under each qrels, by the name of the qrels, and how far its lists reach.

    n_retrieved, last_rank, n_extra_queries: as in `JudgedRanking`.
    """

    by: dict[str, Judged]
    n_retrieved: Ints
    last_rank: Ints
    n_extra_queries: int

    @property
    def has_gap(self) -> Bools:
        """Return which queries have positives below a gap."""
        return self.n_retrieved < self.last_rank

    def reach(self, run_id: str) -> Reach:
        """Return how deep the run was ranked, and what its lists lack."""
        n_lost = max(judged.n_lost for judged in self.by.values())
        return Reach(run_id, run_depth(self.n_retrieved, self.last_rank), bool(self.has_gap.any()), n_lost)


def judge_blocks(
    run: StoredRun | MatrixSource,
    coded: Mapping[str, CodedQrels],
    measures: Sequence[Measure],
    *,
    ties: str | None,
    doc_order: Sequence[str] | None = None,
) -> JudgedRun:
    """Return `run` under each of `coded`, which have one universe and the same docs.

    Args:
        run: its blocks are read once, and each is dropped before the next. Only what a measure that is a
            rank reads is kept: it depends on the deepest rank of all. Of a matrix the pairs are kept.
        coded: the qrels by name.
        measures: each once.
        ties: a tie rule; None leaves the order of the run, and ties are not looked for.
        doc_order: for the rule `index`: the collection's docs in their order.

    Raises:
        JoinError: the run is for another split or collection, see `check_run_fits`.
    """
    if isinstance(run, MatrixSource):
        return _judge_matrix(run, coded, measures, ties=ties, doc_order=doc_order)
    queries = next(iter(coded.values())).queries
    accounts = {name: _Account(which, measures, ties) for name, which in coded.items()}
    n_retrieved, last_rank = np.zeros((2, len(queries)), dtype=np.int64)
    first, n_extra, has_known_doc, place = None, 0, False, 0
    for block in run.blocks():
        first = first or block.first_pair
        if doc_order is not None:
            block = order_by_index(block, doc_order, run_id=run.run_id)
        stop = block.stop_in(queries, place)
        within = {name: which.between(place, stop) for name, which in coded.items()}
        coded_run = code_run(block, next(iter(within.values())))
        for name, account in accounts.items():
            has_known_doc |= account.add(coded_run, within[name], place)
        n_retrieved[place:stop] = coded_run.n_ranked
        last_rank[place:stop] = coded_run.last_rank
        n_extra += coded_run.n_extra_queries
        has_known_doc = has_known_doc or coded_run.has_known_doc
        place = stop
    check_run_fits(
        run.run_id,
        queries,
        first=first or ("", ""),
        n_shared=np.count_nonzero(last_rank),
        has_known_doc=has_known_doc,
    )
    by = {name: account.close() for name, account in accounts.items()}
    return JudgedRun(by, n_retrieved, last_rank, n_extra)


def _judge_matrix(
    run: MatrixSource,
    coded: Mapping[str, CodedQrels],
    measures: Sequence[Measure],
    *,
    ties: str | None,
    doc_order: Sequence[str] | None,
) -> JudgedRun:
    some = next(iter(coded.values()))
    pairs = np.sort(np.concatenate([which.pairs for which in coded.values()]), kind="stable")
    pairs = pairs[are_firsts(pairs)]
    both = CodedQrels(some.queries, some.docs, pairs, np.zeros_like(pairs))
    ranks = rank_matrix_pairs(run, both, doc_order)
    by = {}
    for name, which in coded.items():
        account, tied = _Account(which, measures, ties), ranks.under(which)
        account.take(tied.ranking, None if ties is None else tied, 0)
        by[name] = account.close()
    return JudgedRun(by, ranks.n_retrieved, ranks.n_retrieved, ranks.n_extra_queries)


@dataclass(eq=False)
class _Account:
    """What one qrels make of a run, block by block.

    of_all: the places of measures that are ranks; of_block: of the others. tied: of each block, its tied
    queries and the values of `of_block` at either end. kept: what `of_all` needs. n_found: positives.
    """

    coded: CodedQrels
    measures: Sequence[Measure]
    ties: str | None
    n_found: int = 0
    values: Floats = field(init=False)
    of_all: list[int] = field(init=False)
    of_block: list[int] = field(init=False)
    tied: list[tuple[Ints, Floats, Floats]] = field(default_factory=list)
    kept: list[tuple[JudgedRanking, TiedRanking | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        places = range(len(self.measures))
        self.values = np.empty((len(places), len(self.coded.queries)))
        self.of_all = [place for place in places if self.measures[place].definition.unit == "rank"]
        self.of_block = [place for place in places if place not in self.of_all]

    def add(self, run: CodedRun, coded: CodedQrels, place: int) -> bool:
        """Take a block, whose queries are those from `place`, with its part of the qrels.

        Return whether a query has a doc of its own qrels.
        """
        ranking = judge_run(run, coded)
        tied = None if self.ties is None else find_ties(run, ranking)
        if self.ties == "expected" or self.ties in SETTLING_RULES:
            self.take(ranking, tied, place)
        else:
            chosen = [self.measures[each] for each in self.of_block]
            self.take(ranking, tied, place, values=score_coded(run, coded, chosen, ranking=ranking))
        return ranking.query.size > 0

    def take(
        self, ranking: JudgedRanking, tied: TiedRanking | None, place: int, *, values: Floats | None = None
    ) -> None:
        """Take a joined block, with the values of `of_block` where they are known."""
        if values is None:
            values = self._by_rule(ranking, tied, self.of_block)
        self.values[self.of_block, place : place + ranking.n_queries] = values
        self.n_found += int(np.count_nonzero(ranking.relevance >= 1))
        if tied is not None:
            queries = tied.tied_queries
            low, high = self._at_ends(tied, queries, self.of_block)
            self.tied.append((place + queries, low, high))
        if self.of_all:
            self.kept.append((ranking, tied))

    def close(self) -> Judged:
        """Compute what needs all blocks."""
        ranking = tied = ends = None
        if self.of_all:
            ranking = join_rankings([part for part, _ in self.kept], self.coded)
            if self.ties is not None:
                tied = TiedRanking.joined([part for _, part in self.kept if part is not None], ranking)
            self.values[self.of_all] = self._by_rule(ranking, tied, self.of_all)
        if self.ties is not None:
            queries = np.concatenate([part[0] for part in self.tied])
            low, high = np.empty((2, len(self.measures), queries.size))
            low[self.of_block] = np.concatenate([part[1] for part in self.tied], axis=1)
            high[self.of_block] = np.concatenate([part[2] for part in self.tied], axis=1)
            if tied is not None and queries.size:
                low[self.of_all], high[self.of_all] = self._at_ends(tied, queries, self.of_all)
            ends = TieEnds(queries, low, high)
        return Judged(self.values, ends, ranking, self.coded.positives.pairs.size - self.n_found)

    def _by_rule(self, ranking: JudgedRanking, tied: TiedRanking | None, places: list[int]) -> Floats:
        """Return the values of the measures at `places`, ties as the rule has them."""
        if tied is not None and self.ties == "expected" and places:
            return expected_values(tied, [self.measures[place] for place in places])
        view: View = partial(Measure.view, ranking=ranking)
        if tied is not None and self.ties is not None:
            view = partial(settled_view, tied=tied, rule=self.ties)
        return self._values(view, places, ranking.n_queries)

    def _at_ends(self, tied: TiedRanking, queries: Ints, places: list[int]) -> list[Floats]:
        """Return the values of some queries at either end of their ties."""
        views = (partial(settled_view, tied=tied, rule=rule, queries=queries) for rule in _ENDS)
        return [self._values(view, places, queries.size) for view in views]

    def _values(self, view: View, places: list[int], n_queries: int) -> Floats:
        if not places:
            return np.empty((0, n_queries))
        return score_views(view, [self.measures[place] for place in places])
