"""A run joined with qrels: where the docs of the qrels stand in each query's ranking.

This is all that a measure sees. Docs that the qrels do not hold leave no entry; how many there are
follows from the number retrieved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import (
    Bools,
    Floats,
    Ints,
    number_groups,
    rows_of_lists,
    running_count,
    starts_of_groups,
    starts_of_lists,
)
from fire_toolkit.matching.coded import ABSENT, CodedQrels, Places


@dataclass(frozen=True, eq=False)
class JudgedRanking:
    """For each query of the qrels, the ranks and relevances of the qrels' docs in a run.

    Attributes:
        query: (n_entries,) index of the query; entries are sorted by query, then rank.
        rank: (n_entries,) 1-based; whole numbers unless tied docs share their mean rank.
        relevance: (n_entries,) below 0: pooled but not judged; 0: judged not relevant; from 1: positive.
        n_retrieved: (n_queries,) how many docs were ranked, which is how far the ranking is known without a
            gap; 0 for a query missing from the run.
        last_rank: (n_queries,) the deepest rank that is known. Between `n_retrieved` and it stand positives
            that the run kept at their true ranks, and docs of which nothing is known.
        worst_rank: one past the deepest rank: a lower bound for the rank of what was not retrieved.
        qrels: with all that they hold, retrieved or not.
        n_extra_queries: queries of the run that the qrels do not hold; they are ignored.
        stratum: (n_entries,) which part of the pool each belongs to, where the qrels tell.
        ties: (2, n_entries) the first and the last rank of the docs of each entry's score, where a measure is
            to be its mean over all orders of tied docs; None: docs stand in the one order of their ranks.
    """

    query: Ints
    rank: Floats
    relevance: Ints
    n_retrieved: Ints
    last_rank: Ints
    worst_rank: int
    qrels: CodedQrels
    n_extra_queries: int = 0
    stratum: Ints | None = None
    ties: Ints | None = None

    @property
    def n_queries(self) -> int:
        """Return the size of the universe: the queries of the qrels."""
        return self.n_retrieved.size

    @property
    def has_gap(self) -> bool:
        """Return whether docs stand below the top of any ranking."""
        return bool((self.n_retrieved < self.last_rank).any())

    @property
    def n_positives(self) -> Ints:
        """Return |G| of each query."""
        return self.qrels.n_positives

    @cached_property
    def is_judged(self) -> Bools:
        """Return for each entry whether its doc was judged (relevance 0 or more)."""
        return self.relevance >= 0

    @cached_property
    def is_positive(self) -> Bools:
        """Return for each entry whether its doc is a positive (relevance 1 or more)."""
        return self.relevance >= 1

    @cached_property
    def found(self) -> Places:
        """Return the positives that stand in the rankings."""
        return self.places(self.is_positive)

    def places(self, entries: Bools) -> Places:
        """Return where these entries stand."""
        if self.ties is None:
            kept = np.flatnonzero(entries)
            query, grade, weight = self.query[kept], self.relevance[kept], np.ones(kept.size)
            return Places(query, self.rank[kept], grade, running_count(query), weight, self.n_queries)
        query, first, size, number, place, grade = self.by_score(entries)
        above = rows_of_lists(0, size)  # docs of the same score at higher ranks
        further = np.repeat((number - 1) / np.maximum(size - 1, 1), size) * above
        columns = (query, first, grade, place, number / size)
        query, first, mean_grade, place, chance = (np.repeat(column, size) for column in columns)
        rank = (first + above).astype(np.float64)
        return Places(query, rank, mean_grade, place + further, chance, self.n_queries)

    def by_score(self, entries: Bools) -> tuple[npt.NDArray[Any], ...]:
        """Return the scores of these entries, with ties, by query, then rank.

        Of each score: the query, the first rank of its docs, how many docs it has, how many of these are
        among the entries, the place of the first of them in its ranking, and their mean grade.
        """
        kept = np.flatnonzero(entries)
        query, (first, last) = self.query[kept], self.tied_ranks[:, kept]
        starts = starts_of_groups(query, first)
        number = np.diff(starts, append=kept.size)
        grade = np.add.reduceat(self.relevance[kept], starts) / number if kept.size else np.empty(0)
        size = (last - first + 1)[starts]
        return query[starts], first[starts], size, number, running_count(query)[starts], grade

    @cached_property
    def first_positive(self) -> Floats:
        """Return the rank of each query's first positive; infinite when none was retrieved."""
        rank, kept = np.full(self.n_queries, np.inf), np.flatnonzero(self.is_positive)
        first = kept[starts_of_groups(self.query[kept])]
        rank[self.query[first]] = self.rank[first]
        return rank

    def take(self, entries: npt.NDArray[Any], **changed: Any) -> JudgedRanking:
        """Return the ranking with these of its entries, in this order; `changed`: further fields."""
        names = ("query", "rank", "relevance", "stratum", "ties")
        known = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        taken = {name: values[..., entries] for name, values in known.items()}
        return replace(self, **(taken | changed))

    @property
    def tied_ranks(self) -> npt.NDArray[Any]:
        """Return the first and the last rank of the docs of each entry's score."""
        return np.broadcast_to(self.rank, (2, self.rank.size)) if self.ties is None else self.ties

    @cached_property
    def tied_queries(self) -> Ints:
        """Return the queries of which a doc of the qrels is tied, ascending."""
        first, last = self.tied_ranks
        return np.asarray(np.unique(self.query[first < last]), dtype=np.int64)

    @cached_property
    def in_order(self) -> JudgedRanking:
        """Return the ranking with its docs in the order of their ranks, tied or not."""
        return self if self.ties is None else replace(self, ties=None)

    def of(self, queries: Ints, qrels: CodedQrels | None = None) -> JudgedRanking:
        """Return the rankings of some queries (ascending), which become 0, 1, ..., by their qrels."""
        if queries.size == self.n_queries:
            return self
        start, stop = (np.searchsorted(self.query, queries, side) for side in ("left", "right"))
        part = self.take(rows_of_lists(start, stop - start))
        ends: Any = {"n_retrieved": self.n_retrieved[queries], "last_rank": self.last_rank[queries]}
        own = np.searchsorted(queries, part.query)
        return replace(part, query=own, qrels=qrels or self.qrels.of(queries), **ends)

    def by(self, qrels: CodedQrels) -> JudgedRanking:
        """Return the ranking, whose relevances are places among the pairs, as qrels of these judge it."""
        relevance = qrels.relevance[self.relevance]
        stratum = None if qrels.stratum is None else qrels.stratum[self.relevance]
        found, is_held = replace(self, relevance=relevance, stratum=stratum, qrels=qrels), relevance != ABSENT
        return found if is_held.all() else found.take(np.flatnonzero(is_held))

    @cached_property
    def is_in_top(self) -> Bools:
        """Return for each entry whether it stands above the first gap of its ranking."""
        return self.rank <= self.n_retrieved[self.query]

    @cached_property
    def top(self) -> JudgedRanking:
        """Return the ranking down to its first gap, without the positives that were kept below it."""
        kept = self.is_in_top
        if kept.all():
            return self
        return self.take(kept, last_rank=self.n_retrieved)

    def to_depth(self, k: int) -> JudgedRanking:
        """Return the ranking as if the run had been cut at rank k; ties go as far as the lists do."""
        ends = {name: np.minimum(getattr(self, name), k) for name in ("n_retrieved", "last_rank")}
        part = self.take(self.rank <= k, worst_rank=min(self.worst_rank, k + 1), **ends)
        return part if part.ties is None else replace(part, ties=np.minimum(part.ties, k))

    def condensed(self) -> JudgedRanking:
        """Return the top's judged docs alone, the others left out and the ranks closed up.

        Below the top it is not known which judged docs stand above a positive, so it ends there.

        Source: Sakai, Alternatives to Bpref, SIGIR 2007; trec_eval's -J.
        """
        kept = self.is_judged & self.is_in_top
        rank = running_count(self.query[kept])
        length = np.bincount(self.query[kept], minlength=self.n_queries)
        ties = None
        if self.ties is not None:
            group = number_groups(self.query[kept], self.ties[0, kept])
            count = np.bincount(group)
            first = rank[starts_of_lists(count)[:-1]][group]
            ties = np.stack([first, first + count[group] - 1])
        return self.take(
            kept,
            rank=rank.astype(np.float64),
            qrels=self.qrels.judged,
            ties=ties,
            n_retrieved=length,
            last_rank=length,
            worst_rank=int(rank.max(initial=0)) + 1,
        )
