"""Qrels as integers: ids are looked up once, and what follows is arithmetic on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import (
    Bools,
    Floats,
    Ints,
    are_firsts,
    count_by_query,
    find_pairs,
    rows_of_lists,
    starts_of_groups,
    starts_of_lists,
    sum_by_query,
)
from fire_toolkit.errors import JoinError
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import packed_codes, places_in_order
from fire_toolkit.words import n_of

ABSENT = int(np.iinfo(np.int64).min)  # in the place of a relevance: these qrels do not hold the pair

Discount = Callable[[npt.NDArray[Any]], Floats]


def at_level(relevance: Ints, level: int) -> Ints:
    """Return relevances in which those below grade `level` are at most 0."""
    return np.where(relevance >= level, relevance, np.minimum(relevance, 0))


@dataclass(frozen=True, eq=False)
class IdealRanking:
    """The ideal ranking of each query: the positives of the qrels, retrieved or not, the highest grade first.

    query, grade: of each positive; n_queries: how many queries there are, those without a positive too.
    """

    query: Ints
    grade: Ints
    n_queries: int
    _gains: dict[tuple[Discount, int | None], Floats] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def n_positives(self) -> Ints:
        """Return |G| of each query."""
        return count_by_query(self.query, self.n_queries)

    @cached_property
    def place(self) -> Ints:
        """Return 1, 2, ... for each query's positives."""
        return 1 + rows_of_lists(0, self.n_positives)

    def gain(self, discount: Discount, k: int | None) -> Floats:
        """Return Σ grade / discount(place) over each query's first k positives (all of them, without k)."""
        if (discount, k) not in self._gains:
            is_in = self.place <= (np.inf if k is None else k)
            discounted = self.grade[is_in] / at_ranks(self.place[is_in], discount)
            self._gains[discount, k] = sum_by_query(self.query[is_in], discounted, self.n_queries)
        return self._gains[discount, k]

    def of(self, queries: Ints) -> IdealRanking:
        """Return the ideal rankings of some queries, which become 0, 1, ..."""
        lengths = self.n_positives[queries]
        kept = rows_of_lists(starts_of_lists(self.n_positives)[queries], lengths)
        return IdealRanking(np.repeat(np.arange(queries.size), lengths), self.grade[kept], queries.size)

    def at_level(self, level: int) -> IdealRanking:
        """Return the ideal rankings of the positives of grade `level` or more."""
        kept = self.grade >= level
        return IdealRanking(self.query[kept], self.grade[kept], self.n_queries)


def at_ranks(rank: npt.NDArray[Any], discount: Discount) -> Floats:
    """Return the discount of each rank, computed once for each where ranks are whole and repeat."""
    deepest = int(rank.max(initial=0))
    codes = rank.astype(np.int64)
    if 4 * deepest > rank.size or (codes != rank).any():
        return discount(rank)
    return discount(np.arange(deepest + 1))[codes]


@dataclass(frozen=True, eq=False)
class CodedQrels:
    """Qrels as integers: made once, joined with many runs.

    queries: the universe, sorted ids; docs: the ids of the qrels; pairs: `query * len(docs) + doc`,
    ascending; relevance: of each pair, `ABSENT` where the qrels do not hold it, as happens to those that
    share the pairs of others; stratum: of each pair, None where the qrels have none.
    """

    queries: pd.Index[str]
    docs: pd.Index[str]
    pairs: Ints
    relevance: Ints
    stratum: Ints | None = None

    def facts(self, places: Ints) -> dict[str, Any]:
        """Return what a ranking whose entries are the pairs at `places` has from its qrels."""
        facts = {name: getattr(self, name) for name in ("ideal", "n_nonrelevant", "n_undrawn")}
        if self.stratum is None:
            return facts | {"strata": None, "stratum": None}
        return facts | {"strata": self.where(self.relevance != ABSENT), "stratum": self.stratum[places]}

    def find(self, query: Ints, doc: Ints) -> Ints:
        """Return the place of each pair of codes, -1 where it is not among the pairs, or a code is -1."""
        n_docs = max(len(self.docs), 1)
        place = find_pairs(np.maximum(query * n_docs + doc, 0), self.pairs, len(self.queries) * n_docs)
        return np.where((query >= 0) & (doc >= 0), place, -1)

    def find_rows(self, table: pd.DataFrame) -> Ints:
        """Return the place of the pair (query_id, doc_id) of each row, -1 where it is not among the pairs."""
        ids = (self.queries, table["query_id"]), (self.docs, table["doc_id"])
        query, doc = (known.get_indexer(pd.Index(own)) for known, own in ids)
        return self.find(query, doc)

    def reverted(self, to: CodedQrels, pairs: Bools) -> CodedQrels:
        """Return these qrels with the chosen pairs as `to`, qrels of the same pairs, has them."""
        return replace(self, relevance=np.where(pairs, to.relevance, self.relevance))

    def of(self, queries: Ints) -> CodedQrels:
        """Return the qrels of some queries (ascending), which become 0, 1, ..."""
        lengths = np.diff(self.start)[queries]
        kept = rows_of_lists(self.start[queries], lengths)
        pairs = np.repeat(np.arange(queries.size), lengths) * len(self.docs) + self.doc[kept]
        stratum = None if self.stratum is None else self.stratum[kept]
        return CodedQrels(self.queries[queries], self.docs, pairs, self.relevance[kept], stratum)

    def where(self, kept: Bools) -> CodedQrels:
        """Return the qrels with some of their pairs alone."""
        if kept.all():
            return self
        stratum = None if self.stratum is None else self.stratum[kept]
        return CodedQrels(self.queries, self.docs, self.pairs[kept], self.relevance[kept], stratum)

    @cached_property
    def query(self) -> Ints:
        """Return the index in `queries` of each pair."""
        return self.pairs // max(len(self.docs), 1)

    @cached_property
    def doc(self) -> Ints:
        """Return the index in `docs` of each pair."""
        return self.pairs - self.query * len(self.docs)

    @cached_property
    def start(self) -> Ints:
        """Return where each query's pairs begin, and at last their number."""
        return starts_of_lists(count_by_query(self.query, len(self.queries)))

    @cached_property
    def positives(self) -> CodedQrels:
        """Return the positives alone."""
        return self.where(self.relevance >= 1)

    @cached_property
    def ideal(self) -> IdealRanking:
        """Return the positives of each query, the highest grade first."""
        query, grade = self.positives.query, self.positives.relevance
        order = np.argsort(packed_codes([query, -grade]), kind="stable")
        return IdealRanking(query, grade[order], len(self.queries))

    @cached_property
    def n_nonrelevant(self) -> Ints:
        """Return how many docs of each query were judged not relevant."""
        return count_by_query(self.query[self.relevance == 0], len(self.queries))

    @cached_property
    def n_undrawn(self) -> Ints:
        """Return how many docs of each query were pooled but not drawn for judging."""
        is_undrawn = (self.relevance < 0) & (self.relevance != ABSENT)
        return count_by_query(self.query[is_undrawn], len(self.queries))


def code_qrels(qrels: Qrels) -> CodedQrels:
    """Return `qrels` as integers, over the universe of their queries."""
    return _coded(qrels, *_codes_of(qrels["query_id"], in_order=True), *_codes_of(qrels["doc_id"]))


def code_together(original: Qrels, *others: pd.DataFrame, what: str = "augmented qrels") -> list[CodedQrels]:
    """Return qrels as integers over the queries of the first and the docs of all.

    Args:
        original: its queries are the universe.
        others: tables with query_id, doc_id and relevance.
        what: what the others are called in an error.

    Raises:
        JoinError: no query; another table has queries of its own.
    """
    tables = [original, *others]
    codes, docs = _codes_of(pd.concat([table["doc_id"] for table in tables], ignore_index=True))
    of_docs = np.split(codes, np.cumsum([len(table) for table in tables[:-1]]))
    queries, universe = _codes_of(original["query_id"], in_order=True)
    if universe.empty:
        raise JoinError("qrels: no query found, expected at least one judged pair")
    coded = [_coded(original, queries, universe, of_docs[0], docs)]
    for table, of_table in zip(others, of_docs[1:], strict=True):
        codes, own = _codes_of(table["query_id"])
        places = universe.get_indexer(own)
        if (extra := own[places < 0].sort_values()).size:
            some = ", ".join(extra[:3]) + (", ..." if len(extra) > 3 else "")
            raise JoinError(
                f"{what}: {n_of(len(extra), 'query')} not in the original qrels ({some}); expected those of "
                "the same collection"
            )
        coded.append(_coded(table, places[codes], universe, of_table, docs))
    return coded


def _coded(
    qrels: pd.DataFrame, query: Ints, queries: pd.Index[str], doc: Ints, docs: pd.Index[str]
) -> CodedQrels:
    """Return qrels as integers; query, doc: the places of each row's ids among `queries` and `docs`."""
    pairs = query * len(docs) + doc
    order = np.argsort(pairs, kind="stable")
    relevance = qrels["relevance"].to_numpy(dtype=np.int64)
    stratum = pd.factorize(qrels["stratum"])[0].astype(np.int64)[order] if "stratum" in qrels else None
    return CodedQrels(queries, docs, pairs[order], relevance[order], stratum)


def all_pairs(qrels: Sequence[CodedQrels]) -> CodedQrels:
    """Return the pairs of all qrels, which have one universe and the same docs; each with its place."""
    pairs = each_once([coded.pairs for coded in qrels])
    return CodedQrels(qrels[0].queries, qrels[0].docs, pairs, np.arange(pairs.size))


def each_once(parts: Sequence[Ints]) -> Ints:
    """Return the numbers of all parts, each once, ascending."""
    numbers = np.sort(np.concatenate(parts), kind="stable")
    return numbers[are_firsts(numbers)]


def _codes_of(ids: pd.Series[str], *, in_order: bool = False) -> tuple[Ints, pd.Index[str]]:
    """Return the place of each id among the ids, and these as they come first, or in order.

    Ids that repeat from row to row are looked up once a stretch.
    """
    starts = starts_of_groups(ids.array)
    firsts = ids.iloc[starts] if 2 * starts.size < len(ids) else ids
    codes, own = pd.factorize(firsts)
    places: Ints = codes.astype(np.int64)
    distinct = pd.Index(own)
    if in_order and (place := places_in_order(distinct.array)) is not None:
        places, distinct = place[places], distinct[np.argsort(place)]
    if firsts is not ids:
        places = np.repeat(places, np.diff(starts, append=len(ids)))
    return places, distinct
