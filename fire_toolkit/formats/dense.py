"""Matrices of scores to ranked lists, in one reading: each query's top, and its positives at any rank.

Queries are the rows of the matrix or its columns. The ranks are those of `ranking`'s rule, exact under
ties, also for positives below the top. What no model means is counted on the way: NaN, infinities, rows
flooded by one lowest value, constant rows, rows of padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.matrix import Array, Ints, Matrix, n_rows_columns, rows_per_block
from fire_toolkit.formats.oddities import CONSTANT_DOCS, FLOOD_DOCS, Oddities
from fire_toolkit.kernels import compiled
from fire_toolkit.ranking import best_of_rows, ranks_in_rows, top_of_rows

_CHUNK_CELLS = 1 << 20
QUERIES_ROWS, QUERIES_COLUMNS = "queries-rows", "queries-columns"


@dataclass(frozen=True)
class Ranked:
    """Ranked docs by index: query, doc, rank (1-based, true over all docs) and score, by query, then rank."""

    query: Ints
    doc: Ints
    rank: Ints
    score: npt.NDArray[np.float64]
    oddities: Oddities


def tie_codes_of(docs: Sequence[str]) -> Ints:
    """Return for each doc its place in the order of ids: the higher comes first among equal scores."""
    order = np.argsort(np.array(docs, dtype=object), kind="stable")
    codes = np.empty(len(docs), dtype=np.int64)
    codes[order] = np.arange(len(docs))
    return codes


def rank_matrix(
    matrix: Matrix,
    *,
    orientation: str,
    n_queries: int,
    docs: Sequence[str],
    depth: int,
    positives: tuple[Ints, Ints] | None = None,
    mask: Array | None = None,
) -> Ranked:
    """Return the top `depth` docs of each query and its positives below them, with their true ranks.

    Args:
        matrix: rows × columns, or three axes of which the first two are rows.
        orientation: `queries-rows` or `queries-columns`, as the matrix's writer saw it.
        n_queries: how many queries there are. Where the rows are queries and more than this, the rows
            without any finite score are padding.
        docs: the ids of the docs, in the order of the other axis.
        depth: how many docs are kept, 1 or more.
        positives: query index and doc index of pairs that are kept at any rank.
        mask: one flag a row, False where the row is padding.

    Returns:
        Cells that are NaN or infinite, and the lowest score of flooded queries, are no scores: such docs
        are not in the list. All are counted.

    Raises:
        FormatError: the rows without padding are not `n_queries`, or the file is damaged.
    """
    pairs = positives or (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    queries_are_rows = (orientation == QUERIES_ROWS) != matrix.is_flipped
    tie_codes = tie_codes_of(docs)
    compiled(matrix.shape[-1] * matrix.shape[-2])  # blocks are small; the whole may be worth loading loops
    if queries_are_rows:
        return _RowPass(matrix, n_queries, tie_codes, depth, pairs, mask).run()
    return _ColumnPass(matrix, n_queries, tie_codes, depth, pairs).run()


@dataclass
class _RowPass:
    """One reading of a matrix whose rows are queries."""

    matrix: Matrix
    n_queries: int
    tie_codes: Ints
    depth: int
    positives: tuple[Ints, Ints]
    mask: Array | None
    oddities: Oddities = field(default_factory=Oddities)
    parts: list[tuple[Array, ...]] = field(default_factory=list)

    def run(self) -> Ranked:
        order = np.lexsort(self.positives[::-1])
        self.positives = (self.positives[0][order], self.positives[1][order])
        n_rows, n_docs = n_rows_columns(self.matrix)
        may_pad = n_rows > self.n_queries
        if self.mask is not None and (len(self.mask), int(self.mask.sum())) != (n_rows, self.n_queries):
            raise FormatError(
                f"{self.matrix.where}: the mask keeps {int(self.mask.sum())} of {len(self.mask)} rows, "
                f"expected {self.n_queries} queries of {n_rows} rows"
            )
        row = query = 0
        step = max(1, _CHUNK_CELLS // n_docs)
        for block in self.matrix.blocks(rows_per_block(self.matrix)):
            for start in range(0, len(block), step):
                chunk = block[start : start + step]
                kept = self._kept(chunk, row, may_pad=may_pad)
                row += len(chunk)
                if kept is not None:
                    self.oddities.padding += len(chunk) - int(kept.sum())
                    chunk = chunk[kept]
                self._rank(chunk, query)
                query += len(chunk)
                if query > self.n_queries:
                    self._refuse_rows(query)
        if query != self.n_queries:
            self._refuse_rows(query)
        return _joined(self.parts, self.oddities, self.depth)

    def _kept(self, chunk: Array, row: int, *, may_pad: bool) -> Array | None:
        if self.mask is not None:
            return np.asarray(self.mask[row : row + len(chunk)])
        return np.asarray(np.isfinite(chunk).any(axis=1)) if may_pad else None

    def _refuse_rows(self, found: int) -> None:
        raise FormatError(
            f"{self.matrix.where}: {found} rows or more with scores, expected {self.n_queries}, one a query "
            "id; rows of padding must be -inf or NaN throughout, or named by a mask"
        )

    def _rank(self, chunk: Array, start: int) -> None:
        if not len(chunk):
            return
        low, high = chunk.min(axis=1), chunk.max(axis=1)
        bad = ~(np.isfinite(low) & np.isfinite(high))
        if bad.any():
            chunk = chunk.copy()
            chunk[bad] = _without_oddities(chunk[bad], start + np.flatnonzero(bad), self.oddities)
            low[bad] = np.where(chunk[bad] == -np.inf, np.inf, chunk[bad]).min(axis=1)
            high[bad] = chunk[bad].max(axis=1)
        at_low = (chunk == low[:, None]).sum(axis=1)
        flooded = _count_shapes(self.oddities, low, high, at_low, chunk.shape[1], start)
        cut = np.where(flooded, low, -np.inf)
        rows, columns = top_of_rows(chunk, self.depth + 1, self.tie_codes)
        self._keep(rows, columns, chunk[rows, columns], cut, start)
        self._keep_positives(chunk, cut, start)

    def _keep(self, rows: Ints, columns: Ints, scores: Array, cut: Array, start: int) -> None:
        real = scores > cut[rows]
        rows, columns, scores = rows[real], columns[real], scores[real]
        ranks = _places(rows)
        _count_ties(self.oddities, rows, ranks, scores, self.depth)
        kept = ranks <= self.depth
        self.parts.append((rows[kept] + start, columns[kept], ranks[kept], scores[kept].astype(np.float64)))

    def _keep_positives(self, chunk: Array, cut: Array, start: int) -> None:
        queries, docs = self.positives
        first, last = np.searchsorted(queries, (start, start + len(chunk)))
        rows, columns = queries[first:last] - start, docs[first:last]
        scores = chunk[rows, columns]
        real = scores > cut[rows]
        rows, columns, scores = rows[real], columns[real], scores[real].astype(np.float64)
        ranks, n_equal = ranks_in_rows(chunk, rows, columns, self.tie_codes)
        self.oddities.tied_positives += int(np.count_nonzero(n_equal > 1))
        self.parts.append((rows + start, columns, ranks, scores))


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
            rows, places = top_of_rows(np.ascontiguousarray(block.T), self.depth, self.tie_codes[first_doc:])
            self._add(rows, places + first_doc, block[places, rows])
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
        is_last = _places(rows) == self.depth
        self.bound[rows[is_last]] = scores[is_last]
        self.entries, self.n_entries = [(rows, docs, scores)], len(rows)
        return rows, docs, scores


@dataclass
class _ColumnPass:
    """One reading of a matrix whose columns are queries: blocks of docs are merged into the best so far."""

    matrix: Matrix
    n_queries: int
    tie_codes: Ints
    depth: int
    positives: tuple[Ints, Ints]
    oddities: Oddities = field(default_factory=Oddities)

    def run(self) -> Ranked:
        n_docs = n_rows_columns(self.matrix)[0]
        queries, docs = self.positives
        own = self.matrix.pick(docs, queries) if len(docs) else np.empty(0)
        above, equal = np.zeros(len(docs), dtype=np.int64), np.zeros(len(docs), dtype=np.int64)
        low, high = np.full(self.n_queries, np.inf), np.full(self.n_queries, -np.inf)
        at_low = np.zeros(self.n_queries, dtype=np.int64)
        best = _Best(self.n_queries, self.depth + 1, self.tie_codes)
        start = 0
        for block in self._blocks():
            block, block_low = self._clean(block, start)
            at_low[block_low < low] = 0
            low, high = np.minimum(low, block_low), np.maximum(high, block.max(axis=0))
            at_low += np.count_nonzero(block == low.astype(block.dtype), axis=0)
            for part, over, ties in self._over(block, start, own):
                above[part] += over
                equal[part] += ties
            best.offer(block, start)
            start += len(block)
        flooded = _count_shapes(self.oddities, low, high, at_low, n_docs, 0)
        cut = np.where(flooded, low, -np.inf)
        parts = [self._top(best, cut)]
        real = np.isfinite(own) & (own > cut[queries])
        self.oddities.tied_positives = int((equal[real] > 1).sum())
        parts.append((queries[real], docs[real], above[real] + 1, own[real].astype(np.float64)))
        return _joined(parts, self.oddities, self.depth)

    def _blocks(self) -> Iterator[Array]:
        """Yield blocks of docs, large beside what is kept of earlier ones."""
        return self.matrix.blocks(max(rows_per_block(self.matrix), min(4 * self.depth, 4096)))

    def _clean(self, block: Array, start: int) -> tuple[Array, Array]:
        """Return docs × queries with minus infinity for what is no score, and the lowest score of each."""
        low = block.min(axis=0)
        if np.isfinite(low).all() and np.isfinite(block.max()):
            return block, low
        turned = np.ascontiguousarray(block.T)
        block = _without_oddities(turned, np.arange(self.n_queries), self.oddities, first_doc=start).T
        return np.ascontiguousarray(block), np.where(block == -np.inf, np.inf, block).min(axis=0)

    def _over(self, block: Array, start: int, own: Array) -> Iterator[tuple[slice, Ints, Ints]]:
        """Yield, for the positives by parts, how many docs of the block stand above and how many tie."""
        queries, docs = self.positives
        codes = self.tie_codes[start : start + len(block)]
        step = max(1, _CHUNK_CELLS // max(1, len(block)))
        for at in range(0, len(queries), step):
            part = slice(at, at + step)
            lines = block[:, queries[part]]
            score = own[part].astype(block.dtype)
            places, which = np.divmod(np.flatnonzero((lines == score).ravel()), lines.shape[1])
            wins = codes[places] > self.tie_codes[docs[part]][which]
            n_wins = np.bincount(which[wins], minlength=lines.shape[1])
            yield (
                part,
                np.count_nonzero(lines > score, axis=0) + n_wins,
                np.bincount(which, minlength=lines.shape[1]),
            )

    def _top(self, best: _Best, cut: Array) -> tuple[Array, ...]:
        if not best.entries:
            raise FormatError(f"{self.matrix.where}: no row, expected at least one doc")
        rows, docs, scores = best.settle()
        real = scores > cut[rows]
        rows, docs, scores = rows[real], docs[real], scores[real]
        ranks = _places(rows)
        _count_ties(self.oddities, rows, ranks, scores, self.depth)
        kept = ranks <= self.depth
        return rows[kept], docs[kept], ranks[kept], scores[kept].astype(np.float64)


def _without_oddities(lines: Array, queries: Ints, oddities: Oddities, *, first_doc: int = 0) -> Array:
    """Return queries × docs with every cell that is no finite number at minus infinity, counted."""
    for kind, found in (
        ("nan", np.isnan(lines)),
        ("minus_inf", lines == -np.inf),
        ("plus_inf", lines == np.inf),
    ):
        n_found = int(np.count_nonzero(found))
        if n_found:
            setattr(oddities, f"n_{kind}", getattr(oddities, f"n_{kind}") + n_found)
            line, place = divmod(int(np.argmax(found)), lines.shape[1])
            oddities.note(kind, (int(queries[line]), place + first_doc))
    return np.asarray(np.where(np.isfinite(lines), lines, -np.inf), dtype=lines.dtype)


def _count_shapes(
    oddities: Oddities, low: Array, high: Array, at_low: Ints, n_docs: int, start: int
) -> npt.NDArray[np.bool_]:
    """Count constant and flooded queries; return which are flooded."""
    constant = (low == high) & (at_low == n_docs) & (n_docs >= CONSTANT_DOCS)
    flooded = (low < high) & (at_low >= FLOOD_DOCS) & (2 * at_low >= n_docs)
    for kind, found in (("constant", constant), ("flood", flooded)):
        n_found = int(np.count_nonzero(found))
        if n_found:
            setattr(oddities, kind, getattr(oddities, kind) + n_found)
            oddities.note(kind, (start + int(np.argmax(found)), 0))
    return np.asarray(flooded, dtype=np.bool_)


def _count_ties(oddities: Oddities, rows: Ints, ranks: Ints, scores: Array, depth: int) -> None:
    """Count the queries with ties among the first `depth`, and those with a tie across the cut."""
    equal = np.zeros(len(rows), dtype=bool)
    equal[1:] = (rows[1:] == rows[:-1]) & (scores[1:] == scores[:-1])
    oddities.tied_in_top += len(np.unique(rows[equal & (ranks <= depth)]))
    oddities.tied_at_cut += int(np.count_nonzero(equal & (ranks == depth + 1)))


def _places(rows: Ints) -> Ints:
    """Return 1, 2, ... within each stretch of equal values."""
    places = np.arange(len(rows))
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = rows[1:] != rows[:-1]
    return np.asarray(places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1, dtype=np.int64)


def _joined(parts: list[tuple[Array, ...]], oddities: Oddities, depth: int) -> Ranked:
    """Return the parts as one, each pair once, by query, then rank; count lists that are alike."""
    columns: list[Array] = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
    order = np.lexsort((columns[2], columns[0]))
    columns = [column[order] for column in columns]
    once = np.ones(len(order), dtype=bool)
    for column in (columns[0], columns[2]):
        once[1:] &= column[1:] == column[:-1]
    once[1:] = ~once[1:]
    query, doc, rank, score = (column[once] for column in columns)
    ranked = Ranked(query, doc, rank, score, oddities)
    count_duplicates(ranked, depth)
    return ranked


def count_duplicates(ranked: Ranked, depth: int) -> None:
    """Count the queries whose first `depth` docs and scores are an earlier query's."""
    top = ranked.rank <= depth
    query, doc, score = ranked.query[top], ranked.doc[top], ranked.score[top]
    starts = np.flatnonzero(_places(query) == 1).tolist()
    seen: dict[bytes, int] = {}
    for start, end in pairwise([*starts, len(query)]):
        content = doc[start:end].tobytes() + score[start:end].tobytes()
        earlier = seen.setdefault(content, int(query[start]))
        if earlier != query[start]:
            ranked.oddities.duplicates += 1
            ranked.oddities.note("duplicates", (int(query[start]), earlier))
