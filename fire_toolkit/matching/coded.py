"""Qrels as integers: ids are looked up once, and what follows is arithmetic on arrays.

Qrels that are read together are labellings of one list of pairs, all that any of them holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import (
    Bools,
    Floats,
    Ints,
    are_firsts,
    find_pairs,
    rows_of_lists,
    starts_of_lists,
    sum_by_query,
)
from fire_toolkit.errors import JoinError
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import code_texts, packed_codes, places_in
from fire_toolkit.words import n_of

ABSENT = int(np.iinfo(np.int64).min)  # in the place of a relevance: these qrels do not hold the pair

Discount = Callable[[npt.NDArray[Any]], Floats]
Cut = int | Ints | None  # one for all queries, one for each, or none


def at_level(relevance: Ints, level: int) -> Ints:
    """Return relevances in which those below grade `level` are at most 0."""
    return np.where(relevance >= level, relevance, np.minimum(relevance, 0))


@dataclass(frozen=True, eq=False)
class Places:
    """The ranks at which docs of a kind stand, such as positives, sorted by query, then rank.

    Of tied docs each rank of their score is a place, at which one of them may stand: so a sum over places is
    the mean over all orders of tied docs, each as likely as any other.

    query, rank, grade: of each; place: 1 for the first of its ranking, 2 for the second, ...; weight: how
    likely one stands there, 1 without ties. With ties grade and place are means, where one does. n_queries:
    how many there are, those without a place too.

    Source: McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently in the
    Presence of Tied Scores, ECIR 2008.
    """

    query: Ints
    rank: npt.NDArray[Any]
    grade: npt.NDArray[Any]
    place: npt.NDArray[Any]
    weight: Floats
    n_queries: int
    _cut: dict[int, Places] = field(default_factory=dict, init=False, repr=False)

    def to(self, k: Cut) -> Places:
        """Return those at rank k or better."""
        if k is None:
            return self
        if not isinstance(k, np.ndarray) and k in self._cut:
            return self._cut[k]
        kept = np.flatnonzero(self.rank <= (k[self.query] if isinstance(k, np.ndarray) else k))
        names = ("query", "rank", "grade", "place", "weight")
        found = replace(self, **{name: getattr(self, name)[kept] for name in names})
        if not isinstance(k, np.ndarray):
            self._cut[k] = found
        return found

    def total(self, values: npt.NDArray[Any]) -> Floats:
        """Return the sum of values, one for each place, over the places of each query."""
        return sum_by_query(self.query, values, self.n_queries)

    def count(self, k: Cut) -> Floats:
        """Return how many stand in the top k of each query."""
        found = self.to(k)
        return found.total(found.weight)

    def gain(self, discount: Discount, k: Cut = None) -> Floats:
        """Return Σ grade / discount(rank) over the top k of each query."""
        found = self.to(k)
        ranks, deepest = found.rank.astype(np.int64), int(found.rank.max(initial=0))
        if 4 * deepest > ranks.size or (ranks != found.rank).any():
            by = discount(found.rank)
        else:  # whole ones that repeat, each computed once
            by = discount(np.arange(deepest + 1))[ranks]
        return found.total(found.weight * found.grade / by)

    def precision(self, k: Cut = None) -> Floats:
        """Return Σ precision at the rank of each over the top k of each query."""
        found = self.to(k)
        return found.total(found.weight * found.place / found.rank)


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
    _levels: dict[int, CodedQrels] = field(default_factory=dict, init=False, repr=False)
    _gains: dict[tuple[Discount, int | None], Floats] = field(default_factory=dict, init=False, repr=False)

    def find(self, query: Ints, doc: Ints) -> Ints:
        """Return the place of each pair of codes, -1 where it is not among the pairs, or a code is -1."""
        place: Ints = np.full(len(query), -1, dtype=np.int64)
        keys = np.where((query >= 0) & (doc >= 0), query.astype(np.int64) * len(self.docs) + doc, -1)
        rows, place[rows] = find_pairs(keys, self.pairs)
        return place

    def find_rows(self, table: pd.DataFrame) -> Ints:
        """Return the place of the pair (query_id, doc_id) of each row, -1 where it is not among the pairs."""
        ids = (self.queries, table["query_id"]), (self.docs, table["doc_id"])
        query, doc = (known.get_indexer(pd.Index(own)) for known, own in ids)
        return self.find(query, doc)

    def labelled(self, relevance: Ints) -> CodedQrels:
        """Return the same pairs with other relevances."""
        return CodedQrels(self.queries, self.docs, self.pairs, relevance, self.stratum)

    def reverted(self, to: CodedQrels, pairs: Bools) -> CodedQrels:
        """Return these qrels with the chosen pairs as `to`, qrels of the same pairs, has them."""
        return self.labelled(np.where(pairs, to.relevance, self.relevance))

    def at_level(self, level: int) -> CodedQrels:
        """Return the qrels in which positives below grade `level` count as judged not relevant."""
        if level not in self._levels:
            self._levels[level] = self.labelled(at_level(self.relevance, level))
        return self._levels[level]

    def of(self, queries: Ints) -> CodedQrels:
        """Return the qrels of some queries (ascending), which become 0, 1, ..."""
        lengths = np.diff(self.start)[queries]
        kept = rows_of_lists(self.start[queries], lengths)
        pairs = np.repeat(np.arange(queries.size), lengths) * len(self.docs) + self.doc[kept]
        stratum = None if self.stratum is None else self.stratum[kept]
        return CodedQrels(self.queries[queries], self.docs, pairs, self.relevance[kept], stratum)

    @cached_property
    def judged(self) -> CodedQrels:
        """Return the qrels whose pairs are those judged (relevance 0 or more) alone."""
        kept = self.relevance >= 0
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
        return starts_of_lists(np.bincount(self.query, minlength=len(self.queries)))

    @cached_property
    def n_positives(self) -> Ints:
        """Return |G| of each query."""
        return np.bincount(self.query[self.relevance >= 1], minlength=len(self.queries))

    @cached_property
    def n_nonrelevant(self) -> Ints:
        """Return how many docs of each query were judged not relevant."""
        return np.bincount(self.query[self.relevance == 0], minlength=len(self.queries))

    @cached_property
    def ideal(self) -> Places:
        """Return the ideal ranking: each query's positives, retrieved or not, the highest grade first."""
        positive = np.flatnonzero(self.relevance >= 1)
        query, grade = self.query[positive], self.relevance[positive]
        order = np.argsort(packed_codes([query, -grade]), kind="stable")
        rank = rows_of_lists(1, self.n_positives)
        return Places(query, rank, grade[order], rank, np.ones(rank.size), len(self.queries))

    def best_gain(self, discount: Discount, k: int | None) -> Floats:
        """Return the gain of the ideal ranking's top k (all of it, without k)."""
        if (discount, k) not in self._gains:
            self._gains[discount, k] = self.ideal.gain(discount, k)
        return self._gains[discount, k]


def code_qrels(qrels: Qrels) -> CodedQrels:
    """Return `qrels` as integers, over the universe of their queries, which may be none."""
    return code_together(qrels, may_be_none=True)[0]


def code_together(
    original: Qrels, *others: pd.DataFrame, what: str = "augmented qrels", may_be_none: bool = False
) -> list[CodedQrels]:
    """Return qrels as integers over the queries of the first and the docs and pairs of all.

    Args:
        original: its queries are the universe.
        others: tables with query_id, doc_id and relevance.
        what: what the others are called in an error.
        may_be_none: whether there need be no query.

    Raises:
        JoinError: no query; another table has queries of its own.
    """
    if original.empty and not may_be_none:
        raise JoinError("qrels: no query found, expected at least one judged pair")
    tables = [original, *others]
    doc, docs = code_texts(*(table["doc_id"].array for table in tables))
    query, universe = code_texts(tables[0]["query_id"].array, in_order=True)
    queries = [query]
    for table in tables[1:]:
        codes, own = code_texts(table["query_id"].array, in_order=True)
        places = places_in(own, universe)
        if extra := own.filter(pa.array(places < 0)).to_pylist():
            some = ", ".join(extra[:3]) + (", ..." if len(extra) > 3 else "")
            raise JoinError(
                f"{what}: {n_of(len(extra), 'query')} not in the original qrels ({some}); expected those of "
                "the same collection"
            )
        queries.append(places[codes])
    held = np.concatenate(queries).astype(np.int64) * len(docs) + doc
    pairs = np.sort(held, kind="stable")
    pairs = pairs[are_firsts(pairs)]
    parts = np.split(np.searchsorted(pairs, held), np.cumsum([len(table) for table in tables[:-1]]))
    coded, ids = [], [pd.Index(each, dtype="str") for each in (universe, docs)]
    for table, place in zip(tables, parts, strict=True):
        relevance, stratum = np.full(len(pairs), ABSENT), None
        relevance[place] = table["relevance"].to_numpy(dtype=np.int64)
        if "stratum" in table:
            stratum = np.zeros(len(pairs), dtype=np.int64)
            stratum[place] = pd.factorize(table["stratum"])[0]
        coded.append(CodedQrels(ids[0], ids[1], pairs, relevance, stratum))
    return coded
