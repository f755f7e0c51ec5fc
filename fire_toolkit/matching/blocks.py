"""Runs as integers before they meet qrels: a run is some blocks of lists, and need not fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Bools, Codes, Ints, are_among, starts_of_lists
from fire_toolkit.matching.ranking import ranked_lengths
from fire_toolkit.tables import Run


@dataclass(frozen=True, eq=False)
class RunBlock:
    """The lists of some queries of one run, each whole, as integers.

    queries: ids, sorted, each once; docs: ids, each once; start: the first row of each query, and at last
    the number of rows; doc: of each row, its place in `docs`; rank: of each row, ascending within a query;
    score: of each row, float32 or float64; lengths, last_rank: of each query how many rows it has, and its
    deepest rank, 0 where it has no row.
    """

    queries: pd.Index[str]
    docs: pd.Index[str]
    start: Ints
    doc: Codes
    rank: npt.NDArray[Any]
    score: npt.NDArray[Any]

    lengths: Ints = field(init=False)
    last_rank: Ints = field(init=False)

    def __post_init__(self) -> None:
        lengths = np.diff(self.start)
        last, has_rows = np.zeros(len(lengths), dtype=np.int64), lengths > 0
        last[has_rows] = self.rank[self.start[1:][has_rows] - 1]
        vars(self).update({"lengths": lengths, "last_rank": last})

    @property
    def query(self) -> Ints:
        """Return of each row its place in `queries`."""
        return np.repeat(np.arange(len(self.queries)), self.lengths)

    def select(self, kept: Bools) -> RunBlock:
        """Return the rows kept; a query of which none is keeps its place."""
        place = np.flatnonzero(kept)
        rows = {name: getattr(self, name)[place] for name in ("doc", "rank", "score")}
        return replace(self, start=np.searchsorted(place, self.start), **rows)

    @cached_property
    def n_ranked(self) -> Ints:
        """Return how many docs of each query were ranked, see `ranking.ranked_lengths`."""
        if (self.last_rank == self.lengths).all():
            return self.lengths
        return ranked_lengths(self.rank, self.start[:-1], self.start[1:])

    def to_depth(self, depth: int) -> RunBlock:
        """Return the rows at ranks up to `depth`, above the first gap of their list."""
        kept = self.rank <= depth
        if self.n_ranked is not self.lengths:
            kept &= self.rank <= np.repeat(self.n_ranked, self.lengths)
        return self if kept.all() else self.select(kept)

    def with_used_docs(self) -> RunBlock:
        """Return the same lists over the docs that stand in them."""
        is_used = are_among(self.doc, len(self.docs))
        place = np.cumsum(is_used, dtype=np.int32) - 1
        return replace(self, docs=self.docs[is_used], doc=place[self.doc])

    def over(self, queries: pd.Index[str], docs: pd.Index[str]) -> RunBlock:
        """Return the same lists as places in longer lists of ids; `queries` are sorted."""
        lengths = np.zeros(len(queries), dtype=np.int64)
        lengths[queries.get_indexer(self.queries)] = self.lengths
        doc = docs.get_indexer(self.docs).astype(np.int32)[self.doc]
        return replace(self, queries=queries, docs=docs, start=starts_of_lists(lengths), doc=doc)


def block_of(run: Run) -> RunBlock:
    """Return `run`, which holds one run, as one block."""
    query, doc = (run[name].array for name in ("query_id", "doc_id"))  # `.cat.codes` would copy
    firsts = np.arange(len(query.categories) + 1, dtype=query.codes.dtype)
    return RunBlock(
        queries=query.categories,
        docs=doc.categories,
        start=np.searchsorted(query.codes, firsts),
        doc=doc.codes.astype(np.int32, copy=False),
        rank=run["rank"].to_numpy(),
        score=run["score"].to_numpy(),
    )
