"""The tops of runs as codes: each run is read once, kept small, and taken out by ranges of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Bools, Codes, Ints, starts_of_lists
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.blocks import RunBlock, leave_out_own
from fire_toolkit.matching.own_items import OwnItems, places_of
from fire_toolkit.matching.ranking import ranked_lengths
from fire_toolkit.matching.stored_runs import AnyRun, list_stored, top_blocks
from fire_toolkit.tables.columns import listed, places_in_order

_ROWS_AT_ONCE = 1 << 20  # entries of a range of queries


class Entries(NamedTuple):
    """Docs of the tops, run after run in the order of their ids: codes, ranks, and scores run after run."""

    query: Codes
    doc: Codes
    run: Codes
    rank: Ints
    scores: Sequence[npt.NDArray[Any]]


class _Lists(NamedTuple):
    """The lists of some queries of one run: codes of the queries, ascending, and of the docs."""

    run: int
    query: Codes
    start: Ints
    doc: Codes
    rank: npt.NDArray[Any]
    score: npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Tops:
    """The tops of some runs, as codes over the sorted ids of all of them.

    run_ids: sorted; given: the same in the order of the runs. own: codes of the queries whose own item
    stands in a top, where own items are left out. wanted: which queries count; None: all.
    """

    run_ids: pd.Index[str]
    query_ids: pd.Index[str]
    doc_ids: pd.Index[str]
    given: Sequence[str]
    lists: Sequence[_Lists]
    to_doc: Codes
    own: Codes
    wanted: Bools | None = None

    def of_queries(self, universe: set[str]) -> Tops:
        """Return the tops of these queries alone; the ids stay."""
        known = np.fromiter((name in universe for name in listed(self.query_ids)), bool, len(self.query_ids))
        return self if known.all() else replace(self, wanted=known)

    @property
    def n_extra(self) -> int:
        """How many queries of the runs do not count."""
        return 0 if self.wanted is None else int((~self.wanted).sum())

    @property
    def n_own(self) -> int:
        """How many pairs of a query and its own item stand in the tops."""
        own = np.unique(self.own)
        return int(own.size if self.wanted is None else self.wanted[own].sum())

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of queries, the first and one past the last, with about a million docs each."""
        lengths = np.zeros(len(self.query_ids), dtype=np.int64)
        for each in self.lists:
            lengths[each.query] += np.diff(each.start)
        before = starts_of_lists(lengths)
        cuts = np.searchsorted(before, np.arange(_ROWS_AT_ONCE, before[-1], _ROWS_AT_ONCE))
        ends = [*np.unique(cuts[cuts > 0]).tolist(), len(lengths)]
        yield from zip([0, *ends[:-1]], ends, strict=True)

    def entries(self, depth: int, queries: tuple[int, int] | None = None) -> Entries:
        """Return the docs at ranks up to `depth` of a range of the queries; None: of all."""
        found = [self._taken(each, depth, queries or (0, len(self.query_ids))) for each in self.lists]
        query, doc, run, rank = (
            np.concatenate([np.empty(0, dtype=kind), *(part[place] for part in found)])
            for place, kind in enumerate((np.int32, np.int32, np.int32, np.int64))
        )
        return Entries(query, self.to_doc[doc], run, rank, [part[4] for part in found])

    def _taken(self, lists: _Lists, depth: int, queries: tuple[int, int]) -> tuple[Any, ...]:
        first, stop = np.searchsorted(lists.query, queries)
        rows = slice(int(lists.start[first]), int(lists.start[stop]))
        query = np.repeat(lists.query[first:stop], np.diff(lists.start[first : stop + 1]))
        kept = lists.rank[rows] <= depth
        if self.wanted is not None:
            kept &= self.wanted[query]
        taken = [query, *(values[rows] for values in (lists.doc, lists.rank, lists.score))]
        query, doc, rank, score = taken if kept.all() else (values[kept] for values in taken)
        return query, doc, np.full(len(query), lists.run, dtype=np.int32), rank.astype(np.int64), score

    @cached_property
    def _n_runs(self) -> Ints:
        """How many runs have each query."""
        counts = np.zeros(len(self.query_ids), dtype=np.int64)
        for each in self.lists:
            counts[each.query] += 1
        return counts

    def check_fit(self, universe: set[str] | None) -> None:
        """Raise JoinError for a run none of whose queries is among the qrels', or among another run's."""
        if not self.given:
            raise UsageError("no run given, expected at least one")
        first = {name: len(self.query_ids) for name in self.given}
        is_known, is_shared = dict.fromkeys(self.given, False), dict.fromkeys(self.given, False)
        for each in self.lists:
            name = self.run_ids[each.run]
            first[name] = min(first[name], int(each.query[0]))
            is_known[name] |= self.wanted is None or bool(self.wanted[each.query].any())
            is_shared[name] |= bool((self._n_runs[each.query] > 1).any())
        for name in self.given:
            own = self.query_ids[first[name]]
            if universe is not None and not is_known[name]:
                raise JoinError(
                    f"run {name!r} has none of the {len(universe)} queries of the original qrels (its first: "
                    f"{own!r}, theirs: {min(universe)!r}); is it a run for another collection?"
                )
            if len(self.given) > 1 and not is_shared[name]:
                theirs = self.query_ids[min(first[other] for other in self.given if other != name)]
                raise JoinError(
                    f"run {name!r} has no query in common with the other runs (its first: {own!r}, "
                    f"theirs: {theirs!r}); is it a run for another collection?"
                )


def tops_of(
    runs: AnyRun | Sequence[AnyRun],
    depth: int,
    *,
    own_items: OwnItems | None = None,
    counted_depth: int = 1,
    with_scores: bool = True,
) -> Tops:
    """Return the first `depth` docs of each query of runs, above their list's first gap.

    Args:
        runs: as `list_stored` takes them; each is read once, a block at a time.
        depth: 1 or more.
        own_items: left out of every list before it is cut.
        counted_depth: to which rank own items are looked for.
        with_scores: whether scores are wanted; else they are zeros.

    Raises:
        TableError: two runs have one id.
    """
    queries, docs = _Ids(), _Ids()
    found: dict[str, list[_Lists]] = {}
    own: list[Codes] = [np.empty(0, dtype=np.int32)]
    for run in list_stored(runs):
        for block in top_blocks(run, depth + bool(own_items)):
            if not len(block.queries):
                continue
            query = queries.codes(block.queries)
            if own_items:
                counted = _cut(block, counted_depth)
                own.append(query[_have_own(counted, own_items)])
                block = leave_out_own(_cut(block, depth + 1), own_items)[0]
            top = _cut(block, depth)
            score = top.score if with_scores else np.broadcast_to(np.float32(0), top.doc.shape)
            rank = top.rank.astype(np.min_scalar_type(depth))
            lists = _Lists(0, query, top.start, docs.codes(block.docs)[top.doc], rank, score)
            found.setdefault(run.run_id, []).append(lists)
    (query_ids, to_query), (doc_ids, to_doc) = queries.in_order(), docs.in_order()
    lists_of = [
        each._replace(run=number, query=to_query[each.query])
        for number, run_id in enumerate(sorted(found))
        for each in found[run_id]
    ]
    run_ids = pd.Index(sorted(found), dtype="str")
    return Tops(run_ids, query_ids, doc_ids, list(found), lists_of, to_doc, to_query[np.concatenate(own)])


def _cut(block: RunBlock, depth: int) -> RunBlock:
    """Return the rows at ranks up to `depth`, above the first gap of their list."""
    kept, lengths, stop = block.rank <= depth, block.lengths, block.start[1:]
    has_rows = lengths > 0
    if (block.rank[stop[has_rows] - 1] != lengths[has_rows]).any():
        kept &= block.rank <= np.repeat(ranked_lengths(block.rank, block.start[:-1], stop), lengths)
    return block if kept.all() else block.select(kept)


def _have_own(block: RunBlock, own_items: OwnItems) -> Ints:
    """Return the places of the queries whose own item is in the block."""
    own = places_of(own_items, block.queries, block.docs)[1]
    query = block.query
    found: Ints = query[block.doc == own[query]]
    return found


class _Ids:
    """The ids of blocks as codes, in the order in which they first came."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._last: tuple[pd.Index[str] | None, Codes] = (None, np.empty(0, dtype=np.int32))

    def codes(self, ids: pd.Index[str]) -> Codes:
        """Return the code of each id."""
        if self._last[0] is not ids:
            places = self._places
            codes = [places.setdefault(name, len(places)) for name in listed(ids)]
            self._last = ids, np.array(codes, dtype=np.int32)
        return self._last[1]

    def in_order(self) -> tuple[pd.Index[str], Codes]:
        """Return all ids, sorted, and the place of each code among them."""
        ids = pd.Index(list(self._places), dtype="str")
        places = places_in_order(ids.array)
        if places is None:
            return ids, np.arange(len(ids), dtype=np.int32)
        return ids[np.argsort(places)], places.astype(np.int32)
