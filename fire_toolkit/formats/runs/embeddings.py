"""Query and doc vectors as a matrix of their similarities, computed in blocks.

The score of a query and a doc is `pair_scores`: products in float64, added in one fixed order, rounded
to nine decimal places; the rounded values decide the order of docs and go into the run. Products of matrices
depend on the processor, the threads and the shape of the blocks, so they only tell which scores are clear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.arrays.matrix import Array, Matrix, rows_per_block

DECIMALS = 9
_UNIT = 1e-3
_CHUNK_CELLS = 1 << 22
_PAIR_CELLS = 1 << 16
_LARGEST = 1e100  # a number beyond it has a square that float64 cannot add up
_UNIT_64 = 2.0**-53
DOT, COSINE, L2 = "dot", "cosine", "l2"
SIMILARITY_NAMES = (DOT, COSINE, L2)


@dataclass(frozen=True)
class ProductMatrix:
    """The similarities of two sets of vectors; the smaller set is held, the larger is read in blocks.

    streamed, held: rows of vectors, float64 when held. similarity: `dot`, `cosine`, or `l2`, which is minus
    the squared Euclidean distance. is_flipped: the streamed ones are the docs. must_be_unit: no similarity
    was given, so vectors must have length 1.
    """

    where: str
    streamed: Matrix
    held: Array
    similarity: str
    is_flipped: bool
    must_be_unit: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return streamed × held."""
        return self.streamed.shape[0], len(self.held)

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of similarities."""
        step = max(1, min(n_rows, _CHUNK_CELLS // max(1, len(self.held))))
        for vectors in self._streamed_vectors():
            for start in range(0, len(vectors), step):
                yield self._scores(vectors[start : start + step])

    def _streamed_vectors(self) -> Iterator[Array]:
        """Yield blocks of the streamed vectors, checked, in float64, of length 1 for the cosine."""
        for block in self.streamed.blocks(rows_per_block(self.streamed)):
            if self.must_be_unit:
                _check_unit(block, self.streamed.where)
            yield _as_vectors(block, self.where, is_cosine=self.similarity == COSINE)

    def _scores(self, part: Array) -> Array:
        """Return part × held: by a product of matrices where it rounds clearly, else pair by pair."""
        squares = _squares_of(part), _squares_of(self.held)
        size = np.sqrt(squares[0]) * np.sqrt(squares[1].max(initial=0.0))
        products = part @ self.held.T
        if self.similarity == L2:
            size = 2 * size + squares[0] + squares[1].max(initial=0.0)
            products *= 2
            products -= squares[0][:, None] + squares[1]
        size *= _gamma(part.shape[1] + 40)
        low, high = (_rounded(products + side[:, None], self.similarity) for side in (-size, size))
        rows, columns = np.nonzero(low != high)
        low[rows, columns] = pair_scores(part, self.held, rows, columns, self.similarity)
        return low


def pair_scores(left: Array, right: Array, rows: Ints, columns: Ints, similarity: str) -> Array:
    """Return the score of each pair of a row of `left` and a row of `right`, rounded to nine decimal places.

    The same pair has the same score to the last bit, whatever it is computed with, on any processor: sums are
    added in a fixed order, without fused operations. left, right: float64, for the cosine of length 1.
    """
    scores = np.empty(len(rows))
    squares = (_squares_of(left), _squares_of(right)) if similarity == L2 and len(rows) else None
    step = max(1, _PAIR_CELLS // max(1, left.shape[1]))
    for start in range(0, len(rows), step):
        row, column = rows[start : start + step], columns[start : start + step]
        products = left[row]
        products *= right[column]
        scores[start : start + step] = _added_up(products)
    if squares is not None:
        scores = 2 * scores - (squares[0][rows] + squares[1][columns])
    return _rounded(scores, similarity)


def _rounded(scores: Array, similarity: str) -> Array:
    scores = np.minimum(scores, 0.0) if similarity == L2 else scores
    return np.asarray(np.round(scores, DECIMALS) + 0.0)


def _added_up(cells: Array) -> Array:
    """Return the sum of each row, its halves added to one another until one cell is left; cells change."""
    width = cells.shape[1]
    while width > 1:
        half = (width + 1) // 2
        cells[:, : width - half] += cells[:, half:width]
        width = half
    return cells[:, 0]


def _gamma(n: int) -> float:
    """Return the relative error of n rounded operations: n u / (1 - n u), Higham 2002, lemma 3.1.

    Raises:
        UsageError: vectors are so wide that nothing is known of their sums.
    """
    if n * _UNIT_64 >= 0.5:
        raise UsageError(f"vectors of {n:,} numbers, more than sums in this precision can bear")
    return n * _UNIT_64 / (1 - n * _UNIT_64)


def _as_vectors(block: Array, where: str, *, is_cosine: bool) -> Array:
    """Return vectors in float64, of length 1 for the cosine.

    Raises:
        FormatError: a number is NaN or infinite, or, for the cosine, a vector is zero.
    """
    with np.errstate(invalid="ignore"):  # signalling NaN, which is refused below
        vectors = block.astype(np.float64)
    if not np.isfinite(vectors).all():
        raise FormatError(f"{where}: a vector contains NaN or infinity")
    if max(vectors.max(initial=0.0), -vectors.min(initial=0.0)) > _LARGEST:
        raise FormatError(f"{where}: a vector contains a number beyond {_LARGEST:g}; scale the vectors down")
    if not is_cosine:
        return vectors
    lengths = _lengths(vectors)
    if not (lengths > 0).all():
        raise FormatError(f"{where}: a vector is zero, which has no cosine; leave it out")
    return np.asarray(vectors / lengths[:, None])


def product_matrix(queries: Matrix, docs: Matrix, *, similarity: str | None) -> ProductMatrix:
    """Return the similarities of query and doc vectors as a matrix of queries × docs.

    Args:
        queries, docs: vectors as rows, of one width, see `matrix.by_rows`.
        similarity: `dot`, `cosine` or `l2`; None if all vectors have length 1 within a thousandth, where all
            order docs alike (the cosine is used).

    Raises:
        FormatError: the widths differ or are 0, or a vector has NaN, infinity or a number beyond 1e100.
        UsageError: the lengths differ from 1 and `similarity` is None.
    """
    where = f"{queries.where} × {docs.where}"
    if len(queries.shape) != 2 or len(docs.shape) != 2 or queries.shape[1] != docs.shape[1]:
        raise FormatError(
            f"{where}: vectors of shape {queries.shape} and {docs.shape}, expected two matrices "
            "of equal width, one vector a row"
        )
    if not queries.shape[1]:
        raise FormatError(f"{where}: vectors of no number, expected at least one")
    docs_streamed = docs.shape[0] > queries.shape[0]
    streamed, small = (docs, queries) if docs_streamed else (queries, docs)
    raw = np.concatenate(list(small.blocks(rows_per_block(small))))
    if similarity is None:
        _check_unit(raw, small.where)
    held = _as_vectors(raw, small.where, is_cosine=similarity in (None, COSINE))
    is_open = similarity is None
    return ProductMatrix(where, streamed, held, similarity or COSINE, docs_streamed, must_be_unit=is_open)


def _squares_of(vectors: Array) -> Array:
    """Return the squared length of each row, added up as in `pair_scores`."""
    squares, step = np.empty(len(vectors)), max(1, _PAIR_CELLS // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        squares[start : start + step] = _added_up(np.square(vectors[start : start + step]))
    return squares


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.sqrt(_squares_of(vectors)))


def _check_unit(vectors: Array, where: str) -> None:
    lengths = _lengths(vectors.astype(np.float64))
    off = np.abs(lengths - 1) > _UNIT
    if off.any():
        raise UsageError(
            f"{where}: vectors of lengths {lengths.min():.3g} to {lengths.max():.3g}: give "
            "--similarity cosine, dot or l2, whichever the model was scored with"
        )
