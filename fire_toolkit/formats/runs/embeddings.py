"""Query and doc vectors as rows of their similarities, computed in blocks.

The score of a query and a doc is `pair_scores`: products in float64, added in one fixed order, rounded
to nine decimal places; the rounded values decide the order of docs and go into the run. Products of matrices
depend on the processor, the threads and the shape of the blocks, so they only tell which scores are clear.
"""

from collections.abc import Iterator

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.arrays.matrix import CHUNK_CELLS, TURNED_CELLS, Array, as_floats, chunks_of
from fire_toolkit.formats.runs.named_arrays import Matrix

DECIMALS = 9
_UNIT = 1e-3
_PAIR_CELLS = 1 << 16
_LARGEST = 1e100  # a number beyond it has a square that float64 cannot add up
_UNIT_64 = 2.0**-53
DOT, COSINE, L2 = "dot", "cosine", "l2"


def products(queries: Matrix, docs: Matrix, similarity: str | None) -> Iterator[Array]:
    """Yield the similarities of queries × docs, some queries at a time; each side may be larger than memory.

    Args:
        queries, docs: vectors as rows, of one width.
        similarity: `dot`, `cosine`, or `l2`, which is minus the squared Euclidean distance; None if all
            vectors have length 1 within a thousandth, where all order docs alike (the cosine is used).

    Raises:
        FormatError: the widths differ or are 0, or a vector has NaN, infinity or a number beyond 1e100, or is
            zero where the cosine is asked for.
        UsageError: the lengths differ from 1 and `similarity` is None.
    """
    where, rows, columns = f"{queries.where} × {docs.where}", queries.values, docs.values
    if (rows.ndim, columns.ndim) != (2, 2) or rows.shape[1] != columns.shape[1]:
        raise FormatError(
            f"{where}: vectors of shape {rows.shape} and {columns.shape}, expected two matrices "
            "of equal width, one vector a row"
        )
    if not rows.shape[1]:
        raise FormatError(f"{where}: vectors of no number, expected at least one")
    few, most = max(1, CHUNK_CELLS // rows.shape[1]), max(1, (TURNED_CELLS << 1) // max(1, len(columns)))
    for start in range(0, len(rows), most):
        own = rows[start : start + most]
        part = np.empty((len(own), len(columns)))
        for begin in range(0, len(columns), few):
            right = vectors_of(columns[begin : begin + few], docs.where, similarity)
            for first in range(0, len(part), few):
                left = vectors_of(own[first : first + few], queries.where, similarity)
                part[first : first + few, begin : begin + few] = _scores(left, right, similarity or COSINE)
        yield from chunks_of(part)


def vectors_of(block: Array, where: str, similarity: str | None) -> Array:
    """Return vectors in float64, of length 1 for the cosine.

    Raises:
        FormatError, UsageError: as for `products`.
    """
    with np.errstate(invalid="ignore"):  # signalling NaN, which is refused below
        vectors = as_floats(block, where).astype(np.float64)
    if not np.isfinite(vectors).all():
        raise FormatError(f"{where}: a vector contains NaN or infinity")
    if np.abs(vectors).max(initial=0.0) > _LARGEST:
        raise FormatError(f"{where}: a vector contains a number beyond {_LARGEST:g}; scale the vectors down")
    if similarity in (DOT, L2):
        return vectors
    lengths = np.sqrt(_squares_of(vectors))
    if similarity is None and (np.abs(lengths - 1) > _UNIT).any():
        raise UsageError(
            f"{where}: vectors of lengths {lengths.min():.3g} to {lengths.max():.3g}: give "
            "--similarity cosine, dot or l2, whichever the model was scored with"
        )
    if not (lengths > 0).all():
        raise FormatError(f"{where}: a vector is zero, which has no cosine; leave it out")
    return np.asarray(vectors / lengths[:, None])


def _scores(left: Array, right: Array, similarity: str) -> Array:
    """Return left × right: by a product of matrices where it rounds clearly, else pair by pair."""
    squares = _squares_of(left), _squares_of(right)
    size = np.sqrt(squares[0]) * np.sqrt(squares[1].max(initial=0.0))
    scores = left @ right.T
    if similarity == L2:
        size = 2 * size + squares[0] + squares[1].max(initial=0.0)
        scores *= 2
        scores -= squares[0][:, None] + squares[1]
    error = (left.shape[1] + 40) * _UNIT_64  # n rounded operations: n u / (1 - n u), Higham 2002, lemma 3.1
    size *= error / (1 - error)
    low, high = (_rounded(scores + side[:, None], similarity) for side in (-size, size))
    rows, columns = np.nonzero(low != high)
    low[rows, columns] = pair_scores(left, right, rows, columns, similarity)
    return low


def pair_scores(left: Array, right: Array, rows: Ints, columns: Ints, similarity: str) -> Array:
    """Return the score of each pair of a row of `left` and a row of `right`, rounded to nine decimal places.

    The same pair has the same score to the last bit, whatever it is computed with, on any processor: sums are
    added in a fixed order, without fused operations. left, right: float64, for the cosine of length 1.
    """
    scores, step = np.empty(len(rows)), max(1, _PAIR_CELLS // max(1, left.shape[1]))
    for start in range(0, len(rows), step):
        row, column = rows[start : start + step], columns[start : start + step]
        scores[start : start + step] = _added_up(left[row] * right[column])
    if similarity == L2 and len(rows):
        scores = 2 * scores - (_squares_of(left)[rows] + _squares_of(right)[columns])
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


def _squares_of(vectors: Array) -> Array:
    """Return the squared length of each row, added up as in `pair_scores`."""
    squares, step = np.empty(len(vectors)), max(1, _PAIR_CELLS // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        squares[start : start + step] = _added_up(np.square(vectors[start : start + step]))
    return squares
