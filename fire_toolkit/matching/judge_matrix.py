"""A matrix of scores joined with qrels: the ranks of the judged docs, counted, without sorting anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Ints, are_among, places_among, rows_of_lists
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.own_items import OwnItems, places_of
from fire_toolkit.matching.ranking import ranks_in_rows
from fire_toolkit.matching.ties import TiedRanking, places_in_order
from fire_toolkit.tables import Run


@dataclass(frozen=True, eq=False)
class PairRanks:
    """Where pairs of a query and a doc stand when each row of a matrix is ranked.

    pairs, query: as in `CodedQrels`; rank: of each, 0 where it is not retrieved; first, last: ranks of the
    first and the last doc of its score; n_retrieved: of each query of the universe; n_extra_queries: rows
    with a score whose queries are not in it; has_known_doc: whether any doc of the matrix is one of the
    qrels; n_own_items: rows whose own item had a score and was left out.
    """

    pairs: Ints
    query: Ints
    rank: Ints
    first: Ints
    last: Ints
    n_retrieved: Ints
    n_extra_queries: int
    has_known_doc: bool
    n_own_items: int = 0

    @cached_property
    def by_rank(self) -> Ints:
        """Return the pairs that are retrieved, by query, then rank."""
        place = np.flatnonzero(self.rank > 0)
        rank = self.rank[place]
        keys = self.query[place] * (int(rank.max(initial=0)) + 1) + rank
        return place[np.argsort(keys, kind="stable")]  # the stable sort gains by the order of the queries

    def under(self, coded: CodedQrels) -> TiedRanking:
        """Return the rankings as the qrels see them, which hold some of the pairs, with their tied docs."""
        at = place = self.by_rank
        if coded.pairs.size < self.pairs.size:
            place = places_among(np.searchsorted(self.pairs, coded.pairs), self.pairs.size)[at]
            at, place = at[place >= 0], place[place >= 0]
        ranking = JudgedRanking(
            query=coded.query[place],
            rank=self.rank[at].astype(np.float64),
            relevance=coded.relevance[place],
            n_retrieved=self.n_retrieved,
            worst_rank=int(self.n_retrieved.max(initial=0)) + 1,
            last_rank=self.n_retrieved,
            n_extra_queries=self.n_extra_queries,
            **coded.facts(place),
        )
        return TiedRanking(ranking, self.first[at], self.last[at])


@runtime_checkable
class MatrixSource(Protocol):
    """A matrix of all docs' scores as one run, of which the ranks of pairs are counted."""

    @property
    def run_id(self) -> str:
        """Return its id."""
        ...

    @property
    def first_pair(self) -> tuple[str, str]:
        """Return query and doc of the first cell."""
        ...

    def rank_pairs(self, coded: CodedQrels, doc_order: Sequence[str] | None) -> PairRanks:
        """Return where the pairs of `coded` stand."""
        ...

    def top(self, depth: int | None) -> Run:
        """Return the top `depth` docs of each query, all without one."""
        ...


def rank_pairs(
    blocks: Iterable[tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    coded: CodedQrels,
    *,
    query_ids: pd.Index[str],
    doc_ids: pd.Index[str],
    doc_order: Sequence[str] | None = None,
    run_id: str = "",
    own_items: OwnItems | None = None,
) -> PairRanks:
    """Return where the pairs of `coded` stand in a matrix that comes in blocks of rows.

    Args:
        blocks: rows × docs, finite, and for each row the score at or below which a doc is not retrieved.
        coded: the pairs, and the universe.
        query_ids, doc_ids: of the rows of all blocks, and of the columns, each once.
        doc_order: docs of equal score stand in this order; None takes doc ids descending.
        run_id: what the matrix is called in an error.
        own_items: the doc of each query that is left out of its ranking.

    Raises:
        UsageError, JoinError: `doc_order` is no order of the docs, see `places_in_order`.
    """
    codes = _tie_codes(doc_ids, doc_order, run_id)
    row_of, column_of, by_row, row, column = _cells_of(coded, query_ids, doc_ids)
    rank, n_equal, mirrored = np.zeros((3, by_row.size), dtype=np.int64)
    n_found, begin = np.zeros(len(query_ids), dtype=np.int64), 0
    left_out = places_of(own_items, query_ids, doc_ids)[1] if own_items is not None else None
    n_own_items = 0
    for scores, cut in blocks:
        end = begin + len(scores)
        n_found[begin:end] = _count_above(scores, cut)
        if left_out is not None:
            scores, is_found = _without_one(scores, cut, left_out[begin:end])
            n_found[begin:end] -= is_found
            n_own_items += int(is_found.sum())
        part = slice(*np.searchsorted(row, (begin, end)))
        cells = row[part] - begin, column[part]
        rank[part], n_equal[part], mirrored[part] = _rank_cells(scores, cut, *cells, codes)
        begin = end
    is_known = are_among(row_of[row_of >= 0], len(query_ids))
    first = np.where(n_equal > 1, (rank + mirrored - n_equal + 1) // 2, rank)
    ranks = np.zeros((3, coded.pairs.size), dtype=np.int64)
    for own, found in zip(ranks, (rank, first, first + np.maximum(n_equal, 1) - 1), strict=True):
        own[by_row] = found
    return PairRanks(
        coded.pairs,
        coded.query,
        ranks[0],
        ranks[1],
        ranks[2],
        np.where(row_of >= 0, n_found[row_of], 0),
        int(np.count_nonzero(n_found[~is_known])),
        bool((column_of >= 0).any()),
        n_own_items,
    )


def _rank_cells(
    scores: npt.NDArray[Any], cut: npt.NDArray[Any], rows: Ints, columns: Ints, codes: Ints
) -> Ints:
    """Return of each cell its rank, the docs of its score and, tied, its rank with those the other way round.

    Of cells at or below their row's cut all are 0.
    """
    found = np.zeros((3, rows.size), dtype=np.int64)
    real = np.flatnonzero(scores[rows, columns] > cut[rows])
    found[0, real], found[1, real] = ranks_in_rows(scores, rows[real], columns[real], codes)
    tied = np.flatnonzero(found[1] > 1)
    found[2, tied], _ = ranks_in_rows(scores, rows[tied], columns[tied], len(codes) - 1 - codes)
    return found


def _tie_codes(doc_ids: pd.Index[str], doc_order: Sequence[str] | None, run_id: str) -> Ints:
    """Return a number for each doc; of docs of equal score the one with the higher comes first."""
    codes = np.empty(len(doc_ids), dtype=np.int64)
    if doc_order is None:
        codes[np.argsort(doc_ids.to_numpy(dtype=object), kind="stable")] = np.arange(len(doc_ids))
    else:
        first_to_last = np.argsort(places_in_order(doc_ids, doc_order, run_id=run_id))
        codes[first_to_last[::-1]] = np.arange(len(doc_ids))
    return codes


class _Cells(NamedTuple):
    """The cells of a matrix that are pairs of qrels.

    row_of, column_of: of each query and doc of the qrels, -1 where there is none; by_row: the pairs, by the
    rows of the matrix; row, column: of each of these.
    """

    row_of: Ints
    column_of: Ints
    by_row: Ints
    row: Ints
    column: Ints


def _cells_of(coded: CodedQrels, query_ids: pd.Index[str], doc_ids: pd.Index[str]) -> _Cells:
    """Return the cells of the pairs; matrices that follow one another have mostly the same ids."""
    known = coded.cells
    if not (known and known["queries"].equals(query_ids) and known["docs"].equals(doc_ids)):
        row_of, column_of = query_ids.get_indexer(coded.queries), doc_ids.get_indexer(coded.docs)
        by_row = _by_row(coded, row_of, column_of)
        row, column = row_of[coded.query[by_row]], column_of[coded.doc[by_row]]
        known.update(queries=query_ids, docs=doc_ids, of=_Cells(row_of, column_of, by_row, row, column))
    cells: _Cells = known["of"]
    return cells


def _by_row(coded: CodedQrels, row_of: Ints, column_of: Ints) -> Ints:
    """Return the pairs that are cells of a matrix, by its rows."""
    queries = np.argsort(row_of, kind="stable")
    queries = queries[row_of[queries] >= 0]
    place = rows_of_lists(coded.start[queries], np.diff(coded.start)[queries])
    return place[column_of[coded.doc[place]] >= 0]


def _without_one(
    scores: npt.NDArray[Any], cut: npt.NDArray[Any], column: Ints
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return scores in which a column of each row, if it has one, is no score, and where it was one."""
    rows = np.flatnonzero(column >= 0)
    is_found = np.zeros(len(scores), dtype=bool)
    is_found[rows] = scores[rows, column[rows]] > cut[rows]
    scores = scores.copy()
    scores[rows, column[rows]] = -np.inf
    return scores, is_found


def _count_above(scores: npt.NDArray[Any], cut: npt.NDArray[Any]) -> Ints:
    counts = np.full(len(scores), scores.shape[1], dtype=np.int64)
    flooded = np.flatnonzero(np.isfinite(cut))
    counts[flooded] = (scores[flooded] > cut[flooded, None]).sum(axis=1)
    return counts
