"""Runs in every form that they are scored from, each joined once with pairs of qrels.

A join is the rank of each pair, and between which ranks docs of its score lie. Lists are read a block at a
time, and their rows looked up among the pairs; of a matrix of all docs' scores the ranks are counted, without
sorting anything. What follows is the same for both.

Here alone it is decided how deep original and augmented labels read a run. One kept from a matrix holds its
top, and below it the original positives at their exact ranks. Where other labels have positives that lie in
none of its lists, their ranks are not known. Counting the original positives below the top and not these
would take from every gain, so none below the top counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Ints, are_among, are_firsts, find_pairs, parts_of, places_among, rows_of_lists
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.own_items import OwnItems, places_of
from fire_toolkit.matching.ranking import LEAST_SHARED, ranks_in_rows, run_depth, split_runs
from fire_toolkit.tables import Run
from fire_toolkit.tables.columns import places_in
from fire_toolkit.words import n_of


class PairRanks:
    """Where pairs of a query and a doc stand in a run, as it is read; at first none is retrieved.

    rank: of each pair of the qrels, 0 where it is not retrieved; first, last: ranks of the first and the last
    doc of its score; n_retrieved, last_rank: of each query of the universe, see `JudgedRanking`;
    n_extra_queries: queries of the run that are not in it; has_known_doc: whether any doc of the run is one
    of the qrels; n_own_items: queries whose own item had a score and was left out; first_pair: query and doc
    of the run's first row.
    """

    def __init__(self, coded: CodedQrels) -> None:
        self.rank, self.first, self.last = np.zeros((3, coded.pairs.size), dtype=np.int64)
        self.n_retrieved, self.last_rank = np.zeros((2, len(coded.queries)), dtype=np.int64)
        self.n_extra_queries, self.n_own_items, self.has_known_doc = 0, 0, False
        self.first_pair = ("", "")

    def look_up(self, block: RunBlock, coded: CodedQrels, doc_of: Any, *, with_ties: bool) -> None:
        """Find a block's rows among the pairs; doc_of: the places of its docs in the qrels', -1 of others."""
        query_of = places_in(block.queries.array, coded.queries.array).astype(np.int64)
        is_known = query_of >= 0
        self.n_extra_queries += int(np.count_nonzero(block.lengths[~is_known]))
        self.n_retrieved[query_of[is_known]] = block.n_ranked[is_known]
        self.last_rank[query_of[is_known]] = block.last_rank[is_known]
        for part in parts_of(block.start[:-1], len(block.doc)):
            lists = slice(*np.searchsorted(block.start, (part.start, part.stop)))
            query, doc = query_of[lists], doc_of[block.doc[part]]
            known, is_strange = query[query >= 0], doc < 0
            self.has_known_doc = self.has_known_doc or not is_strange.all()
            if not known.size:
                continue
            keys = np.repeat(query * len(coded.docs), block.lengths[lists]) + doc
            keys[is_strange] = -1  # those of other queries are below 0, too
            own = slice(coded.start[known[0]], coded.start[known[-1] + 1])  # known queries ascend
            rows, at = find_pairs(keys, coded.pairs[own])
            at, rank = at + own.start, block.rank[part]
            self.rank[at] = self.first[at] = self.last[at] = rank[rows]
            if with_ties:
                is_first = np.append(are_firsts(block.score[part]), True)
                is_first[block.start[lists] - part.start] = True
                starts = np.flatnonzero(is_first)
                group = np.searchsorted(starts, rows, side="right")
                self.first[at], self.last[at] = rank[starts[group - 1]], rank[starts[group] - 1]

    def placed(self, coded: CodedQrels, *, with_ties: bool = False) -> JudgedRanking:
        """Return the rankings, whose relevances are places among the pairs: `by` any qrels of these."""
        at = np.flatnonzero(self.rank > 0)
        query, rank = coded.query[at], self.rank[at]
        keys = query * (int(rank.max(initial=0)) + 1) + rank
        order = np.argsort(keys, kind="stable")  # the stable sort gains by the order of the queries
        at = at[order]
        return JudgedRanking(
            query=query[order],
            rank=rank[order].astype(np.float64),
            relevance=at,
            n_retrieved=self.n_retrieved,
            last_rank=self.last_rank,
            worst_rank=int(self.last_rank.max(initial=0)) + 1,
            qrels=coded,
            n_extra_queries=self.n_extra_queries,
            ties=np.stack([self.first[at], self.last[at]]) if with_ties else None,
        )


class StoredRun:
    """One run, which need not fit in memory: lists in blocks, or what a kind of its own reads otherwise.

    It is read as often as it is asked for.
    """

    run_id: str

    def blocks(self, depth: int | None = None) -> Iterable[RunBlock]:
        """Yield its lists, at least the top `depth` docs of each; a query is in one block.

        Without a depth they are whole, and the queries of each block sort after those of the block before.
        """
        raise NotImplementedError

    def rank_pairs(
        self, coded: CodedQrels, *, with_ties: bool = False, doc_order: Sequence[str] | None = None
    ) -> PairRanks:
        """Return where the pairs of `coded` stand; it is read once, and its blocks are dropped.

        Of docs that a list left out nothing is known: docs of one score that go on below its end count as
        far as it goes.

        Args:
            coded: the pairs, and the universe.
            with_ties: whether ties are looked for; else no doc need count as tied.
            doc_order: docs of equal score stand in this order; None leaves the order of the run.
        """
        found = PairRanks(coded)
        docs: pd.Index[str] = pd.Index([], dtype="str")
        doc_of: Any = None
        for block in self.blocks():
            if block.doc.size and not any(found.first_pair):
                found.first_pair = block.queries[int(np.argmax(block.lengths > 0))], block.docs[block.doc[0]]
            if doc_order is not None:
                at_index = places_in_collection(block.docs, doc_order, run_id=self.run_id)[block.doc]
                block = replace(block, doc=block.doc[np.lexsort((at_index, -block.score, block.query))])
            if block.docs is not docs:  # as blocks of one file have them
                docs, doc_of = block.docs, places_in(block.docs.array, coded.docs.array)
            found.look_up(block, coded, doc_of, with_ties=with_ties)
        return found


AnyRun = Run | StoredRun


@dataclass(frozen=True)
class HeldRun(StoredRun):
    """A Run of one run, as those take it that read runs a block at a time."""

    run_id: str
    run: Run

    def blocks(self, depth: int | None = None) -> Iterable[RunBlock]:
        """Return it as one block."""
        return [block_of(self.run)]


def list_stored(runs: AnyRun | Sequence[AnyRun]) -> list[StoredRun]:
    """Return each run by itself, in the order given; a Run table may hold several.

    Raises:
        TableError: two runs have one id.
    """
    return [
        HeldRun(run_id, Run(run)) if isinstance(run, pd.DataFrame) else run
        for run_id, run in split_runs(runs).items()
    ]


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
        UsageError, JoinError: `doc_order` is no order of the docs, see `places_in_collection`.
    """
    if doc_order is None:
        first_to_last = np.argsort(doc_ids.to_numpy(dtype=object), kind="stable")[::-1]
    else:
        first_to_last = np.argsort(places_in_collection(doc_ids, doc_order, run_id=run_id))
    codes = places_among(first_to_last[::-1], len(doc_ids))  # of equal scores the doc of the higher is first
    row_of, column_of = query_ids.get_indexer(coded.queries), doc_ids.get_indexer(coded.docs)
    queries, lengths = np.argsort(row_of, kind="stable")[np.count_nonzero(row_of < 0) :], np.diff(coded.start)
    by_row = rows_of_lists(coded.start[queries], lengths[queries])
    by_row = by_row[column_of[coded.doc[by_row]] >= 0]
    row, column = row_of[coded.query[by_row]], column_of[coded.doc[by_row]]
    n_found, begin = np.zeros(len(query_ids), dtype=np.int64), 0
    left_out = None if own_items is None else places_of(own_items, query_ids, doc_ids)[1]
    found = PairRanks(coded)
    for scores, cut in blocks:
        end = begin + len(scores)
        if left_out is not None:
            with_own = np.flatnonzero(left_out[begin:end] >= 0)
            own = with_own, left_out[begin:end][with_own]
            found.n_own_items += int(np.count_nonzero(scores[own] > cut[with_own]))
            scores = scores.copy()
            scores[own] = -np.inf
        n_found[begin:end] = scores.shape[1]
        flooded = np.flatnonzero(np.isfinite(cut)) if left_out is None else np.arange(len(scores))
        n_found[begin + flooded] = (scores[flooded] > cut[flooded, None]).sum(axis=1)
        part = np.arange(*np.searchsorted(row, (begin, end)))
        if len(flooded):
            part = part[scores[row[part] - begin, column[part]] > cut[row[part] - begin]]
        rank, first, n_equal = ranks_in_rows(scores, row[part] - begin, column[part], codes)
        found.rank[by_row[part]], found.first[by_row[part]] = rank, first
        found.last[by_row[part]] = first + n_equal - 1
        begin = end
    found.n_retrieved = found.last_rank = np.where(row_of >= 0, n_found[row_of], 0)
    is_known = are_among(row_of[row_of >= 0], len(query_ids))
    found.n_extra_queries = int(np.count_nonzero(n_found[~is_known]))
    found.has_known_doc = bool((column_of >= 0).any())
    if len(query_ids) and len(doc_ids):
        found.first_pair = query_ids[0], doc_ids[0]
    return found


def places_in_collection(doc_ids: pd.Index[str], order: Sequence[str], *, run_id: str) -> Ints:
    """Return the place of each doc of a run in the collection's order.

    Raises:
        UsageError: a doc stands twice in `order`.
        JoinError: a doc of the run is not in `order`.
    """
    docs = pd.Index(order)
    if not docs.is_unique:
        twice = docs[docs.duplicated()][0]
        raise UsageError(f"list of docs: {twice!r} appears twice, expected each doc once")
    place = docs.get_indexer(doc_ids)
    if (place < 0).any():
        absent = doc_ids[place < 0]
        raise JoinError(
            f"run {run_id}: {n_of(len(absent), 'doc')} missing from the list of docs ({absent[0]}); expected "
            "the list of the whole collection"
        )
    return np.asarray(place, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Cut:
    """Why a run is read to its top alone.

    depth: of the top; n_new: positives of other labels that the original ones do not have, of queries that
    the run has; n_unlisted: those of them that lie in no list; exact: the run as the original labels judge
    it, with the positives below its top.
    """

    depth: int
    n_new: int
    n_unlisted: int
    exact: JudgedRanking


def find_cut(placed: JudgedRanking, qrels: Sequence[CodedQrels]) -> Cut | None:
    """Return how a run must be cut so that all labels read it equally deep, None where they do.

    Args:
        placed: the run, whose relevances are places among the pairs.
        qrels: the labels, of the same pairs, the original ones first.
    """
    first, *rest = qrels
    if not rest or not placed.has_gap:
        return None
    new = np.any([each.relevance >= 1 for each in rest], axis=0) & (first.relevance < 1)
    n_new = int(np.count_nonzero(placed.last_rank[first.query[new]]))
    n_listed = int(np.count_nonzero(new[placed.relevance]))
    if n_listed == n_new:
        return None
    depth = run_depth(placed.n_retrieved, placed.last_rank)
    return Cut(depth, n_new, n_new - n_listed, placed.by(first).in_order)


class JoinedRun(NamedTuple):
    """A run joined with the pairs of qrels: `placed.by` gives its ranking as each of them judges it.

    cut: why it is cut at its top, None where it is not.
    """

    placed: JudgedRanking
    cut: Cut | None


def join_stored(
    run: StoredRun,
    qrels: Sequence[CodedQrels],
    *,
    with_ties: bool = False,
    doc_order: Sequence[str] | None = None,
) -> JoinedRun:
    """Return where the pairs of `qrels`, labellings of the same ones, stand in `run`, see `find_cut`.

    Args:
        run: it is read once, see `StoredRun.rank_pairs`, also for with_ties and doc_order.
        qrels: one or more, the original ones first.

    Raises:
        JoinError: the run is for another split or collection: it has fewer than half of the queries, or none
            of its docs is in the qrels, under whatever query.
    """
    ranks = run.rank_pairs(qrels[0], with_ties=with_ties, doc_order=doc_order)
    n_shared, queries = int(np.count_nonzero(ranks.last_rank)), qrels[0].queries
    if n_shared < LEAST_SHARED * len(queries):
        raise JoinError(
            f"run {run.run_id}: has {n_shared:,} of the {len(queries):,} queries of the qrels (its first: "
            f"{ranks.first_pair[0]!r}, theirs: {queries[0]!r}), expected half or more; is it a run for "
            "another split?"
        )
    if not ranks.has_known_doc:
        raise JoinError(
            f"run {run.run_id}: none of its docs (its first: {ranks.first_pair[1]!r}, theirs: "
            f"{next(iter(qrels[0].docs), '')!r}) is in the qrels; is it a run for another collection?"
        )
    placed = ranks.placed(qrels[0], with_ties=with_ties)
    cut = find_cut(placed, qrels)
    return JoinedRun(placed.to_depth(cut.depth) if cut else placed, cut)
