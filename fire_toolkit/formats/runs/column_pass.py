"""One reading of a matrix whose columns are queries: docs are merged into the best of each query so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.matrix import Array, Matrix, n_rows_columns, rows_per_block
from fire_toolkit.formats.runs.ranked import (
    Pairs,
    Ranked,
    all_finite,
    count_shapes,
    count_ties,
    in_order,
    places_of,
    ranked_of,
    without_anomalies,
)
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies
from fire_toolkit.kernels import as_input
from fire_toolkit.matching.ranking import best_of_rows, top_of_rows

_CHUNK_CELLS = 1 << 20
_COMPILED_DEPTH = 1024
_SPARE = 64  # docs kept beyond twice the depth, where that is small


@dataclass
class _Best:
    """The best docs of each query among those seen, and newer ones that may be among them."""

    n_queries: int
    depth: int
    tie_codes: Ints
    entries: list[tuple[Array, Array, Array]] = field(default_factory=list)
    n_entries: int = 0
    bound: Array | None = None

    def offer(self, block: Array, first_doc: int) -> None:
        """Take the scores of a block of docs × queries that reach the bounds."""
        if self.bound is None:
            codes = self.tie_codes[first_doc : first_doc + len(block)]
            step = max(1, _CHUNK_CELLS // len(block))
            for start in range(0, self.n_queries, step):
                lines = np.ascontiguousarray(block[:, start : start + step].T)
                rows, places = top_of_rows(lines, self.depth, codes)
                self._add(rows + start, places + first_doc, lines[rows, places])
            self.settle()
            return
        flat = np.flatnonzero((block >= self.bound).ravel())
        places, rows = np.divmod(flat, self.n_queries)
        self._add(rows, places + first_doc, block[places, rows])
        if self.n_entries > 2 * self.n_queries * self.depth:
            self.settle()

    def _add(self, rows: Ints, docs: Ints, scores: Array) -> None:
        small = (rows.astype(np.int32), docs.astype(np.int32), scores + scores.dtype.type(0))
        self.entries.append(small)
        self.n_entries += len(rows)

    def settle(self) -> tuple[Array, Array, Array]:
        """Keep the best `depth` of each query, by query, best first, and raise the bounds."""
        rows, docs, scores = (np.concatenate(pieces) for pieces in zip(*self.entries, strict=True))
        self.entries = []
        order = np.argsort(rows, kind="stable")
        rows, docs, scores = rows[order], docs[order], scores[order]
        kept = best_of_rows(rows, scores, self.tie_codes[docs], n_rows=self.n_queries, depth=self.depth)
        rows, docs, scores = rows[kept], docs[kept], scores[kept]
        self.bound = np.full(self.n_queries, np.finfo(scores.dtype).min, dtype=scores.dtype)
        is_last = places_of(rows) == self.depth
        self.bound[rows[is_last]] = scores[is_last]
        self.entries, self.n_entries = [(rows, docs, scores)], len(rows)
        return rows, docs, scores


class _Plain:
    """What is known of each query and positive while docs are read, by NumPy."""

    def __init__(self, n_queries: int, depth: int, tie_codes: Ints, positives: tuple[Ints, Ints], own: Array):
        self.positives, self.own, self.tie_codes = positives, own, tie_codes
        self.low, self.high = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
        self.at_low = np.zeros(n_queries, dtype=np.int64)
        self.above, self.equal = np.zeros(len(own), dtype=np.int64), np.zeros(len(own), dtype=np.int64)
        self.best = _Best(n_queries, depth, tie_codes)

    def take(self, block: Array, start: int) -> None:
        """Take in docs × queries, finite or minus infinity."""
        low = np.where(block == -np.inf, np.inf, block).min(axis=0)
        self.at_low[low < self.low] = 0
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, block.max(axis=0))
        self.at_low += np.count_nonzero(block == self.low.astype(block.dtype), axis=0)
        self._take_positives(block, start)
        self.best.offer(block, start)

    def _take_positives(self, block: Array, start: int) -> None:
        """Count, for the positives by parts, how many docs of the block stand above and how many tie."""
        queries, docs = self.positives
        codes = self.tie_codes[start : start + len(block)]
        step = max(1, _CHUNK_CELLS // max(1, len(block)))
        for at in range(0, len(queries), step):
            part = slice(at, at + step)
            lines = block[:, queries[part]]
            score = self.own[part].astype(block.dtype)
            places, which = np.divmod(np.flatnonzero((lines == score).ravel()), lines.shape[1])
            wins = codes[places] > self.tie_codes[docs[part]][which]
            n_wins = np.bincount(which[wins], minlength=lines.shape[1])
            self.above[part] += np.count_nonzero(lines > score, axis=0) + n_wins
            self.equal[part] += np.bincount(which, minlength=lines.shape[1])

    def top(self) -> tuple[Array, Array, Array]:
        """Return the best docs of each query with their scores, by query, best first."""
        return self.best.settle()


class _Compiled:
    """The same by compiled loops, in one pass over a block."""

    def __init__(
        self,
        loops: ModuleType,
        n_queries: int,
        depth: int,
        tie_codes: Ints,
        positives: tuple[Ints, Ints],
        own: Array,
        dtype: np.dtype[Any],
    ):
        self.loops, self.depth, self.codes = loops, min(depth, len(tie_codes)), as_input(tie_codes, np.int64)
        self.low, self.high = np.full(n_queries, np.inf, dtype), np.full(n_queries, -np.inf, dtype)
        self.at_low = np.zeros(n_queries, dtype=np.int32)
        self.above, self.equal = np.zeros(len(own), dtype=np.int32), np.zeros(len(own), dtype=np.int32)
        starts = np.searchsorted(positives[0], np.arange(0, n_queries + loops.TILE, loops.TILE))
        self.positives = (positives[0], own.astype(dtype), tie_codes[positives[1]], starts)
        room = min(max(2 * self.depth, self.depth + _SPARE), len(tie_codes) + 1)
        self.best = (
            np.full(n_queries, np.finfo(dtype).min, dtype),
            np.full(n_queries, -1, dtype=np.int64),
            np.zeros(n_queries, dtype=np.int32),
            np.empty((n_queries, room), dtype),
            np.empty((n_queries, room), dtype=np.int32),
        )

    def take(self, block: Array, start: int) -> None:
        """Take in docs × queries, finite or minus infinity."""
        extremes = (self.low, self.at_low, self.high)
        block = as_input(block, block.dtype.type)
        counts = (self.above, self.equal)
        self.loops.take_docs(
            block, start, self.codes, self.depth, extremes, self.positives, counts, self.best
        )

    def top(self) -> tuple[Array, Array, Array]:
        """Return the best docs of each query with their scores, by query, best first."""
        self.loops.sort_best(self.codes, self.depth, self.best)
        _, _, n_kept, scores, docs = self.best
        is_kept = np.arange(scores.shape[1]) < n_kept[:, None]
        rows = np.repeat(np.arange(len(n_kept)), n_kept)
        return rows, docs[is_kept].astype(np.int64), scores[is_kept] + scores.dtype.type(0)


@dataclass
class ColumnPass:
    """One reading of a matrix whose columns are queries: blocks of docs are merged into the best so far."""

    matrix: Matrix
    n_queries: int
    tie_codes: Ints
    depth: int
    spare: int
    pairs: Pairs
    loops: ModuleType | None
    anomalies: ScoreAnomalies = field(default_factory=ScoreAnomalies)

    def run(self) -> Ranked:
        """Return the ranked docs of all queries."""
        queries, docs = self.pairs.query, self.pairs.doc
        own = self.matrix.pick(docs, queries) if len(docs) else np.empty(0)
        state: _Plain | _Compiled | None = None
        start = 0
        for block in self.matrix.blocks(max(rows_per_block(self.matrix), min(4 * self.depth, 4096))):
            state = state or self._state(own, block.dtype)
            state.take(self._clean(block, start), start)
            start += len(block)
        if state is None:
            raise FormatError(f"{self.matrix.where}: no row, expected at least one doc")
        low, high = state.low.astype(np.float64), state.high.astype(np.float64)
        n_docs = n_rows_columns(self.matrix)[0]
        flooded = count_shapes(self.anomalies, low, high, state.at_low.astype(np.int64), n_docs, 0)
        cut = np.where(flooded, low, -np.inf)
        real = np.isfinite(own) & (own > cut[queries])
        self.anomalies.tied_positives = int(((state.equal > 1) & real & self.pairs.is_positive).sum())
        ranks = state.above[real].astype(np.int64) + 1
        own_places = (queries[real], docs[real], ranks, own[real])
        return ranked_of([in_order([self._top(state, cut), own_places])], self.anomalies, self.depth)

    def _state(self, own: Array, dtype: np.dtype[Any]) -> _Plain | _Compiled:
        common = (self.n_queries, self.depth + 1, self.tie_codes, (self.pairs.query, self.pairs.doc), own)
        if self.loops is not None and self.depth <= _COMPILED_DEPTH:
            return _Compiled(self.loops, *common, dtype)
        return _Plain(*common)

    def _clean(self, block: Array, start: int) -> Array:
        """Return docs × queries with minus infinity in place of scores that are not finite."""
        if all_finite(block, self.loops):
            return block
        turned = np.ascontiguousarray(block.T)
        block = without_anomalies(turned, np.arange(self.n_queries), self.anomalies, first_doc=start).T
        return np.ascontiguousarray(block)

    def _top(self, state: _Plain | _Compiled, cut: Array) -> tuple[Array, ...]:
        rows, docs, scores = state.top()
        real = scores > cut[rows]
        rows, docs, scores = rows[real], docs[real], scores[real]
        ranks = places_of(rows)
        count_ties(self.anomalies, rows, ranks, scores, self.depth)
        kept = ranks <= self.depth + self.spare
        return rows[kept], docs[kept], ranks[kept], scores[kept]
