"""The nearest docs of query vectors: screened by products in float32, scored in float64, exact.

A product of matrices in float32 tells each score within a bound that is proven, so that docs which cannot be
among the nearest are left out for certain; the others get their scores from `pair_scores`, and these decide.
The result is that of comparing all pairs, for any split of the queries and any size of the blocks.

The bound: the products of two vectors of n numbers, rounded to a precision of unit u and added in any
order, with or without fused operations, differ from their exact sum by at most gamma(n + 2) |q| |d|
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1, with Cauchy's inequality;
2 for the rounding of the numbers themselves), plus what underflow takes. A few more units stand for
the rounding of lengths, squares and of the bound itself. A BLAS that takes fewer digits than float32's for
products in float32 is not covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fire_toolkit.arrays import Ints, running_count
from fire_toolkit.formats.runs.embeddings import L2, UNIT_64, ProductMatrix, gamma, pair_scores, squares_of
from fire_toolkit.formats.runs.matrix import Array, rows_per_block
from fire_toolkit.formats.runs.ranked import Pairs, Ranked, count_shapes, count_ties, in_order, ranked_of
from fire_toolkit.formats.runs.score_anomalies import CONSTANT_DOCS, ScoreAnomalies

_TILE_CELLS = 1 << 22
_BLOCK_BYTES = 32 << 20  # of float32
_UNIT = 1.001e-9  # scores further apart than this have other values when rounded
_TINY = 2.0**-120  # what underflow takes of a product of numbers up to 1, with all that follows from it
_MANY = 8  # times the docs that are looked for: so many candidates are screened again in float64
_GROUPS = 8
_ROOM = 4.0
_PRECISIONS: tuple[tuple[type[np.floating[Any]], float], ...] = (
    (np.float32, 2.0**-24),
    (np.float64, UNIT_64),
)


@dataclass(frozen=True)
class _Docs:
    """A block of docs from doc `start`; exponent: of 2, that brings its numbers to 1 at most."""

    start: int
    vectors: Array
    squares: Array
    exponent: int
    longest: float
    low: Array

    @classmethod
    def of(cls, vectors: Array, start: int, similarity: str) -> _Docs:
        squares = squares_of(vectors)
        exponent = _exponents(vectors.max(initial=0.0), vectors.min(initial=0.0))
        longest = float(np.sqrt(squares.max()))
        low = _scaled(vectors, squares, int(exponent), similarity, np.float32)
        return cls(start, vectors, squares, int(exponent), longest, low)


def _exponents(high: Any, low: Any) -> Any:
    return np.frexp(np.maximum(high, -low))[1]


def _scaled(vectors: Array, squares: Array, exponent: int, similarity: str, dtype: type[Any]) -> Array:
    """Return docs scaled to at most 1; for L2 with one more column, of half the squared length, negative."""
    wide = np.empty((len(vectors), vectors.shape[1] + (similarity == L2)), dtype)
    np.multiply(vectors, np.ldexp(1.0, -exponent), out=wide[:, : vectors.shape[1]], casting="same_kind")
    if similarity == L2:
        wide[:, -1] = np.ldexp(squares, -2 * exponent) / -2
    return wide


def rank_product(product: ProductMatrix, tie_codes: Ints, *, depth: int, spare: int, pairs: Pairs) -> Ranked:
    """Return the top `depth` docs of each query, and its pairs below them, as `dense.rank_matrix` does.

    Memory holds the smaller of the two sets of vectors in float64, and blocks of the larger.
    """
    search = _Search(product.similarity, tie_codes, depth, spare)
    if product.is_flipped:
        scores = product.pick(pairs.doc, pairs.query)
        found = search.run(product.held, 0, lambda: _doc_blocks(product), pairs, scores)
        return ranked_of([found], search.anomalies, depth)
    docs = [_Docs.of(part, start, product.similarity) for start, part in _parts(product.held)]
    parts, start = [], 0
    for queries in product.streamed_vectors(rows_per_block(product.streamed)):
        own = slice(*np.searchsorted(pairs.query, (start, start + len(queries))))
        mine = Pairs(pairs.query[own] - start, pairs.doc[own], pairs.is_positive[own])
        scores = pair_scores(queries, product.held, mine.query, mine.doc, product.similarity)
        parts.append(search.run(queries, start, lambda: docs, mine, scores))
        start += len(queries)
    return ranked_of(parts, search.anomalies, depth)


def _parts(vectors: Array) -> Iterator[tuple[int, Array]]:
    step = max(1, _BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), step):
        yield start, vectors[start : start + step]


def _doc_blocks(product: ProductMatrix) -> Iterator[_Docs]:
    start = 0
    for vectors in product.streamed_vectors(rows_per_block(product.streamed, _BLOCK_BYTES)):
        yield _Docs.of(vectors, start, product.similarity)
        start += len(vectors)


@dataclass
class _Search:
    """What is looked for; the same for all queries."""

    similarity: str
    tie_codes: Ints
    depth: int
    spare: int
    anomalies: ScoreAnomalies = field(default_factory=ScoreAnomalies)

    def run(
        self, queries: Array, first: int, docs: Callable[[], Iterable[_Docs]], pairs: Pairs, scores: Array
    ) -> tuple[Array, ...]:
        """Return query (from `first`), doc, rank and score of some queries' docs; pairs have `scores`."""
        seen = _Seen(queries, self.similarity, self.tie_codes, self.depth + 1, pairs, scores)
        for block in docs():
            seen.take(block)
        cut = self._cut(seen, docs, first)
        ranks, n_equal = seen.above + 1, seen.equal
        real = scores > cut[pairs.query]
        self.anomalies.tied_positives += int(((n_equal > 1) & real & pairs.is_positive).sum())
        own = pairs.query[real], pairs.doc[real], ranks[real], scores[real]
        query, *rest = in_order([self._top(seen, cut), own])
        return query + first, *rest

    def _cut(self, seen: _Seen, docs: Callable[[], Iterable[_Docs]], first: int) -> Array:
        """Return the score at or below which a query's docs are left out, and count constants and floods."""
        cut = np.full(len(seen.queries), -np.inf)
        suspects = seen.suspects(len(self.tie_codes))
        if suspects.size:
            low, high, at_low = seen.shapes(suspects, docs)
            every = np.zeros((3, len(cut)))
            every[:, suspects] = low, high, at_low
            every[1, every[2] == 0] = 1
            shapes = every[0], every[1], every[2].astype(np.int64)
            flooded = count_shapes(self.anomalies, *shapes, len(self.tie_codes), first)
            cut[flooded] = every[0][flooded]
        return cut

    def _top(self, seen: _Seen, cut: Array) -> tuple[Array, ...]:
        row, place = np.nonzero((seen.docs >= 0) & (seen.scores > cut[:, None]))
        ranks, scores = place + 1, seen.scores[row, place]
        count_ties(self.anomalies, row, ranks, scores, self.depth)
        kept = ranks <= self.depth + self.spare
        return row[kept], seen.docs[row, place][kept], ranks[kept], scores[kept]


class _Seen:
    """What is known of some queries while blocks of docs are taken in.

    scores, docs: of each query's best so far, best first, -1 where there are fewer. above: how many docs are
    before each pair; equal: how many have its score, itself among them.
    """

    def __init__(
        self, queries: Array, similarity: str, tie_codes: Ints, n_top: int, pairs: Pairs, own: Array
    ):
        self.queries, self.similarity, self.codes, self.pairs, self.own = (
            queries, similarity, tie_codes, pairs, own
        )  # fmt: skip
        self.squares = squares_of(queries)
        self.lengths = np.sqrt(self.squares)
        self.exponents = _exponents(queries.max(axis=1), queries.min(axis=1))
        self.factor = 2 if similarity == L2 else 1
        self.shift: Array = -self.squares if similarity == L2 else np.zeros(len(queries))
        room = min(n_top, len(tie_codes))
        self.scores = np.full((len(queries), room), -np.inf)
        self.docs = np.full((len(queries), room), -1, dtype=np.int64)
        self.above, self.equal = (np.zeros(len(own), dtype=np.int64) for _ in range(2))
        self.lowest, self.n_lowest = np.full(len(queries), np.inf), np.zeros(len(queries), dtype=np.int64)
        self.longest = 0.0

    def take(self, block: _Docs) -> None:
        """Take in the next docs."""
        if block.longest > self.longest:
            self.longest, self.n_lowest[:] = _ROOM * block.longest, block.start
        step = max(1, _TILE_CELLS // len(block.vectors))
        for start in range(0, len(self.queries), step):
            _Tile(self, block, slice(start, min(start + step, len(self.queries)))).take()

    def suspects(self, n_docs: int) -> Ints:
        """Return the queries of which half the docs may share the lowest score."""
        return np.flatnonzero((2 * self.n_lowest >= n_docs) & (self.n_lowest >= CONSTANT_DOCS))

    def shapes(self, rows: Ints, docs: Callable[[], Iterable[_Docs]]) -> tuple[Array, Array, Ints]:
        """Return the lowest and the highest score of queries, and how many docs have the lowest."""
        low, high = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
        at_low = np.zeros(len(rows), dtype=np.int64)
        for block in docs():
            columns = np.arange(len(block.vectors))
            for place, row in enumerate(rows.tolist()):
                scores = self._pairs(np.full(len(columns), row), columns, block)
                least = scores.min()
                at_low[place] = (at_low[place] if low[place] <= least else 0) + (
                    int((scores == least).sum()) if least <= low[place] else 0
                )
                low[place], high[place] = min(low[place], least), max(high[place], scores.max())
        return low, high, at_low

    def _pairs(self, rows: Ints, columns: Ints, block: _Docs) -> Array:
        return pair_scores(self.queries, block.vectors, rows, columns, self.similarity)

    def merge(self, rows: Ints, columns: Ints, block: _Docs) -> None:
        """Take docs of a block among the best of their queries; rows ascend."""
        if not len(rows):
            return
        scores = self._pairs(rows, columns, block)
        held, place = np.nonzero(self.docs[rows[0] : rows[-1] + 1] >= 0)
        held += rows[0]
        row, doc = np.append(held, rows), np.append(self.docs[held, place], columns + block.start)
        score = np.append(self.scores[held, place], scores)
        order = np.lexsort((-self.codes[doc], -score, row))
        rank = running_count(row[order])
        order, rank = order[rank <= self.docs.shape[1]], rank[rank <= self.docs.shape[1]] - 1
        self.docs[row[order], rank], self.scores[row[order], rank] = doc[order], score[order]

    def count(self, at: Ints, columns: Ints, block: _Docs) -> None:
        """Count docs of a block that are before the pairs `at`, or have their score."""
        scores, own = self._pairs(self.pairs.query[at], columns, block), self.own[at]
        is_equal, codes = scores == own, self.codes
        is_before = is_equal & (codes[columns + block.start] > codes[self.pairs.doc[at]])
        np.add.at(self.above, at[(scores > own) | is_before], 1)
        np.add.at(self.equal, at[is_equal], 1)


class _Tile:
    """Some queries by a block of docs: their scores within a bound, in the precision that is needed."""

    def __init__(self, seen: _Seen, block: _Docs, rows: slice):
        self.seen, self.block, self.rows = seen, block, rows
        first, last = np.searchsorted(seen.pairs.query, (rows.start, rows.stop))
        self.pairs = np.arange(first, last)

    def take(self) -> None:
        """Take the tile's docs into what is seen."""
        for dtype, unit in _PRECISIONS:
            self._screen(dtype, unit)
            is_candidate = self.cells >= self._at_most(self._least_needed())[:, None]
            n_found = int(np.count_nonzero(is_candidate))
            if n_found <= _MANY * len(self.cells) * (self.seen.docs.shape[1] + _GROUPS):
                break
        self._count_lowest()
        for at in np.array_split(self.pairs, 1 + len(self.pairs) // max(1, len(self.cells))):
            self._count_pairs(at)
        row, column = _places_of(is_candidate)
        self.seen.merge(row + self.rows.start, column, self.block)

    def _screen(self, dtype: type[np.floating[Any]], unit: float) -> None:
        """Compute `cells`; cells · scale · factor + shift is the score, within `bound`."""
        seen, block, rows = self.seen, self.block, self.rows
        is_l2, n = seen.similarity == L2, seen.queries.shape[1]
        exponents = np.maximum(seen.exponents[rows], block.exponent) if is_l2 else seen.exponents[rows]
        wide = np.empty((len(exponents), n + is_l2), dtype)
        wide[:, :n] = seen.queries[rows] * np.ldexp(1.0, -exponents)[:, None]
        if is_l2:
            wide[:, n] = np.ldexp(1.0, block.exponent - exponents)
        low = block.low
        if dtype is not np.float32:
            low = _scaled(block.vectors, block.squares, block.exponent, seen.similarity, dtype)
        self.cells = wide @ low.T
        self.scale = np.ldexp(float(seen.factor), exponents + block.exponent)
        self.shift = seen.shift[rows]
        self.bound = self._bound(block.longest, unit)
        self.lowest_bound = self._bound(seen.longest, unit)

    def _bound(self, longest: float, unit: float) -> Array:
        """Return how far each query's scores may be from those of `pair_scores` before rounding."""
        seen, n = self.seen, self.seen.queries.shape[1]
        size = seen.lengths[self.rows] * longest
        if seen.similarity == L2:
            size = size + longest**2 / 2
        rest = seen.factor * size - self.shift
        return np.asarray(
            gamma(n + 8, unit) * seen.factor * size + gamma(n + 64, UNIT_64) * rest + n * _TINY * self.scale
        )

    def _values(self, cells: Array) -> Array:
        return np.asarray(cells * self.scale + self.shift)

    def _at_most(self, scores: Array, own: Any = slice(None), *, up: bool = False) -> Array:
        """Return the cells of such scores, rounded down, or up, to the precision of the cells."""
        with np.errstate(over="ignore"):
            cells = ((scores - self.shift[own]) / self.scale[own]).astype(self.cells.dtype)
        return np.asarray(np.nextafter(cells, self.cells.dtype.type(np.inf if up else -np.inf)))

    def _least_needed(self) -> Array:
        """Return for each query the score below which no doc can be among the nearest."""
        n_top, seen = self.seen.docs.shape[1], self.seen
        needed = seen.scores[self.rows, -1]
        if n_top <= self.cells.shape[1]:
            reached = self._values(_kth_of_groups(self.cells, n_top).astype(np.float64)) - self.bound
            needed = np.maximum(needed, np.minimum(reached, 0.0) if seen.similarity == L2 else reached)
        return needed - self.bound - _UNIT

    def _count_lowest(self) -> None:
        """Count the docs that may have the lowest score; never fewer than do."""
        seen, rows = self.seen, self.rows
        width = 2 * self.lowest_bound + 2 * _UNIT
        lowest = np.minimum(seen.lowest[rows], self._values(self.cells.min(axis=1).astype(np.float64)))
        n_low = np.count_nonzero(self.cells <= self._at_most(lowest + width, up=True)[:, None], axis=1)
        seen.n_lowest[rows] = n_low + np.where(lowest + width >= seen.lowest[rows], seen.n_lowest[rows], 0)
        seen.lowest[rows] = lowest

    def _count_pairs(self, at: Ints) -> None:
        """Count the docs before each pair: those clearly above, and among the others those that score so."""
        if not len(at):
            return
        seen = self.seen
        own, line = seen.own[at], seen.pairs.query[at] - self.rows.start
        margin = self.bound[line] + _UNIT
        high = self._at_most(own + margin, line, up=True)
        if seen.similarity == L2:
            high[own > -2 * _UNIT] = np.inf  # no doc is nearer
        low = self._at_most(own - margin, line)
        for part in np.array_split(np.arange(len(at)), 1 + len(at) * self.cells.shape[1] // _TILE_CELLS):
            cells = self.cells[line[part]]
            is_above = cells > high[part, None]
            seen.above[at[part]] += np.count_nonzero(is_above, axis=1)
            place, column = _places_of((cells >= low[part, None]) ^ is_above)
            seen.count(at[part][place], column, self.block)


def _places_of(flags: Array) -> tuple[Ints, Ints]:
    """Return row and column of the few flags that are set; much faster than numpy.nonzero of a matrix."""
    row, column = np.divmod(np.flatnonzero(flags), flags.shape[1])
    return row, column


def _kth_of_groups(cells: Array, k: int) -> Array:
    """Return for each row a number that at least `k` of its cells reach, near the k-th largest."""
    width = cells.shape[1]
    n_groups = min(width, max(_GROUPS * k, 64))
    depth = width // n_groups
    own = cells[:, : n_groups * depth].reshape(len(cells), depth, n_groups).max(axis=1)
    return np.asarray(np.partition(own, n_groups - k, axis=1)[:, n_groups - k])
