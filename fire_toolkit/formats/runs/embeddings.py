"""Query and doc vectors as a matrix of their similarities, computed in blocks.

Products in float32 depend on the processor, the threads and the shape of the blocks. Here they are
in float64 and rounded to nine decimal places; the rounded values decide the order and go into the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.runs.matrix import Array, Matrix, pick_from_blocks, rows_per_block

DECIMALS = 9
_UNIT = 1e-3
_CHUNK_CELLS = 1 << 22
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
        own_squares = _squares(self.held) if self.similarity == L2 else None
        step = max(1, min(n_rows, _CHUNK_CELLS // max(1, len(self.held))))
        for block in self.streamed.blocks(rows_per_block(self.streamed)):
            if self.must_be_unit:
                _check_unit(block, self.streamed.where)
            vectors = as_vectors(block, self.where, is_cosine=self.similarity == COSINE)
            for start in range(0, len(vectors), step):
                part = vectors[start : start + step]
                products = part @ self.held.T
                if own_squares is not None:
                    products = np.minimum(2 * products - own_squares - _squares(part)[:, None], 0.0)
                yield np.round(products, DECIMALS, out=products)

    def pick(self, rows: Ints, columns: Ints) -> Array:
        """Return single products."""
        return pick_from_blocks(self, rows, columns)


def as_vectors(block: Array, where: str, *, is_cosine: bool) -> Array:
    """Return vectors in float64, of length 1 for the cosine.

    Raises:
        FormatError: a number is NaN or infinite, or, for the cosine, a vector is zero.
    """
    vectors = block.astype(np.float64)
    if not np.isfinite(vectors).all():
        raise FormatError(f"{where}: a vector contains NaN or infinity")
    if not is_cosine:
        return vectors
    lengths = _lengths(vectors)
    if not (lengths > 0).all():
        raise FormatError(f"{where}: a vector is zero, which has no cosine; leave it out")
    return np.asarray(vectors / lengths[:, None])


def product_matrix(queries: Matrix, docs: Matrix, *, similarity: str | None) -> ProductMatrix:
    """Return the similarities of query and doc vectors as a matrix of queries × docs.

    Args:
        queries, docs: vectors as rows, of one width.
        similarity: `dot`, `cosine` or `l2`; None if all vectors have length 1 within a thousandth, where all
            order docs alike (the cosine is used).

    Raises:
        FormatError: the widths differ, or vectors are not finite.
        UsageError: the lengths differ from 1 and `similarity` is None.
    """
    where = f"{queries.where} × {docs.where}"
    if len(queries.shape) != 2 or len(docs.shape) != 2 or queries.shape[1] != docs.shape[1]:
        raise FormatError(
            f"{where}: vectors of shape {queries.shape} and {docs.shape}, expected two matrices "
            "of equal width, one vector a row"
        )
    if queries.is_flipped or docs.is_flipped:
        raise FormatError(f"{where}: column-major order; save numpy.ascontiguousarray of the vectors")
    docs_streamed = docs.shape[0] > queries.shape[0]
    streamed, small = (docs, queries) if docs_streamed else (queries, docs)
    raw = np.concatenate(list(small.blocks(rows_per_block(small))))
    if similarity is None:
        _check_unit(raw, small.where)
    held = as_vectors(raw, small.where, is_cosine=similarity in (None, COSINE))
    is_open = similarity is None
    return ProductMatrix(where, streamed, held, similarity or COSINE, docs_streamed, must_be_unit=is_open)


def _squares(vectors: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.sqrt(_squares(vectors)))


def _check_unit(vectors: Array, where: str) -> None:
    lengths = _lengths(vectors.astype(np.float64))
    off = np.abs(lengths - 1) > _UNIT
    if off.any():
        raise UsageError(
            f"{where}: vectors of lengths {lengths.min():.3g} to {lengths.max():.3g}: give "
            "--similarity cosine, dot or l2, whichever the model was scored with"
        )
