"""Rules for docs of equal score, by name, where a run's own order (doc id descending) is not wanted.

`index` puts tied docs in the collection's order, as a stable sort of a score matrix does. The others
move the docs of the qrels within their group of tied docs, whose first and last rank are f and l:
`optimistic` puts positives first (higher grades before lower), docs judged not relevant last and what
was not judged between them; `pessimistic` is its mirror; `average` gives the i-th of a group's p
positives its expected rank f − 1 + i (l − f + 2) / (p + 1), which for one positive is the mean rank.
`expected` moves nothing: a score is then its mean over all orders of the tied docs, which a rank between
the places of a group does not give (C@1 of a positive at rank 1.5 is 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, number_groups, running_count, starts_of_lists
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.judged_ranking import JudgedRanking

TIE_RULES = ("doc-desc", "index", "average", "optimistic", "pessimistic", "expected")
SETTLING_RULES = TIE_RULES[2:5]  # `expected` takes the mean over all orders; the first two, that of the run


@dataclass(frozen=True, eq=False)
class TiedRanking:
    """A joined ranking, and for each of its entries the first and last rank of the docs of its score."""

    ranking: JudgedRanking
    first: Ints
    last: Ints

    @cached_property
    def tied_queries(self) -> Ints:
        """Return the queries of which a doc of the qrels is tied, ascending."""
        return np.unique(self.ranking.query[self.first < self.last])

    def of(self, queries: Ints) -> TiedRanking:
        """Return the rankings of some queries (ascending), which become 0, 1, ..."""
        kept = self.ranking.entries_of(queries)
        return TiedRanking(self.ranking.of(queries), self.first[kept], self.last[kept])

    def to_depth(self, k: int) -> TiedRanking:
        """Return the ranking as if the run had been cut at rank k; ties go as far as the lists do."""
        kept = self.ranking.rank <= k
        return TiedRanking(self.ranking.to_depth(k), self.first[kept], np.minimum(self.last[kept], k))

    def condensed(self, ranking: JudgedRanking) -> TiedRanking:
        """Return `ranking`, this one without its unjudged docs, with the ties that are left."""
        is_judged = self.ranking.is_judged & self.ranking.is_in_top
        group = number_groups(self.ranking.query[is_judged], self.first[is_judged])
        count = np.bincount(group)
        first = np.asarray(ranking.rank, dtype=np.int64)[starts_of_lists(count)[:-1]][group]
        return TiedRanking(ranking, first, first + count[group] - 1)

    def settled(self, rule: str) -> JudgedRanking:
        """Return the ranking with its ties settled by one of `SETTLING_RULES`.

        Docs without an entry stand as unjudged ones do.
        """
        entries, relevance = self.ranking, self.ranking.relevance
        group = number_groups(entries.query, self.first)
        if rule == "average":
            rank: Floats = np.empty(group.size)
            for is_of_kind in (relevance >= 1, relevance == 0, relevance < 0):
                kept = np.flatnonzero(is_of_kind)
                own, first, last = group[kept], self.first[kept], self.last[kept]
                rank[kept] = first - 1 + running_count(own) * (last - first + 2) / (np.bincount(own)[own] + 1)
            order = np.lexsort((rank, entries.query))
            return entries.take(order, rank=rank[order])
        is_optimistic = rule == "optimistic"
        merit = np.where(relevance < 0, 0.5, relevance)
        order = np.lexsort((-merit if is_optimistic else merit, group))
        place = running_count(group)
        is_late = (relevance[order] == 0) == is_optimistic
        rank = np.where(is_late, self.last - np.bincount(group)[group] + place, self.first - 1 + place)
        return entries.take(order, rank=rank.astype(np.float64))


def places_in_order(doc_ids: pd.Index[str], order: Sequence[str], *, run_id: str) -> Ints:
    """Return the place of each doc of a run in the collection's order.

    Raises:
        UsageError: a doc stands twice in `order`.
        JoinError: a doc of the run is not in `order`.
    """
    docs = pd.Index(order)
    if not docs.is_unique:
        twice = docs[docs.duplicated()][0]
        raise UsageError(f"order of the docs: {twice!r} appears twice, expected each doc once")
    place = docs.get_indexer(doc_ids)
    if (place < 0).any():
        absent = doc_ids[place < 0]
        raise JoinError(
            f"run {run_id}: {len(absent):,} docs are not in the order of the docs ({absent[0]}); expected "
            "the list of the whole collection"
        )
    return np.asarray(place, dtype=np.int64)
