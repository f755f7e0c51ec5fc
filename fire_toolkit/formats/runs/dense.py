"""Matrices of scores to ranked lists: each query's top, and its positives at any rank.

Queries are the rows of the matrix or its columns. The ranks are those of `ranking`'s rule, exact under
ties, also for positives below the top. Anomalies are counted on the way: NaN, infinities, rows
flooded by one lowest value, constant rows, rows of padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, FileArray, Matrix, n_rows_columns, rows_per_block
from fire_toolkit.formats.runs.embeddings import ProductMatrix
from fire_toolkit.formats.runs.ranked import (
    Pairs,
    Ranked,
    count_shapes,
    extremes_of,
    in_order,
    ranked_of,
    without_anomalies,
)
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies
from fire_toolkit.matching.ranking import ranks_in_rows, top_of_rows

_CHUNK_CELLS = 1 << 20
_HELD_BYTES = 512 << 20  # of float32, of a matrix that is turned
QUERIES_ROWS, QUERIES_COLUMNS = "queries-rows", "queries-columns"


def tie_codes_of(docs: Sequence[str]) -> Ints:
    """Return for each doc its place in the order of ids; among equal scores the higher comes first."""
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
    others: tuple[Ints, Ints] | None = None,
    spare: int = 0,
    mask: Array | None = None,
) -> Ranked:
    """Return the top `depth` docs of each query and its positives below them, with their true ranks.

    Args:
        matrix: rows × columns, or three axes of which the first two are rows.
        orientation: `queries-rows` or `queries-columns`, of the matrix as it was saved.
        n_queries: how many queries there are. Where the rows are queries and more than this, the rows
            without any finite score are padding.
        docs: the ids of the docs, in the order of the other axis.
        depth: how many docs are kept, 1 or more.
        positives: query index and doc index of pairs that are kept at any rank.
        others: further such pairs, whose ties are not counted.
        spare: 1 to keep one doc below the top too, 0 otherwise.
        mask: one flag a row, False where the row is padding.

    Returns:
        Cells that are NaN or infinite, and the lowest score of flooded queries, are not scores: such
        docs are left out, and counted.

    Raises:
        FormatError: the rows without padding are not `n_queries`, or the file is damaged.
    """
    pairs = Pairs.of(positives, others)
    queries_are_rows = (orientation == QUERIES_ROWS) != matrix.is_flipped
    tie_codes = tie_codes_of(docs)
    rows, columns = n_rows_columns(matrix)
    if queries_are_rows:
        blocks = matrix.blocks(rows_per_block(matrix))
    else:
        blocks, rows, columns, mask = _turned(matrix), columns, rows, None
    size = (rows, columns, n_queries)
    return _RowPass(matrix.where, blocks, size, tie_codes, depth, spare, pairs, mask).run()


def _turned(matrix: Matrix) -> Iterator[Array]:
    """Yield queries × docs of a matrix whose columns are queries, as many queries as can be held.

    The file is read again for each part; its bytes are counted only the first time.
    """
    n_docs, n_queries = n_rows_columns(matrix)
    step = max(1, _HELD_BYTES // (4 * n_docs))
    for start in range(0, n_queries, step):
        part, own = matrix, slice(start, start + step)
        if isinstance(matrix, ProductMatrix):  # its columns are what it holds
            part, own = replace(matrix, held=matrix.held[own]), slice(None)
        doc, lines = 0, np.empty(0)
        for block in part.blocks(rows_per_block(part)):
            columns = block[:, own].T
            lines = lines if doc else np.empty((len(columns), n_docs), block.dtype)
            lines[:, doc : doc + len(block)] = columns
            doc += len(block)
        yield lines
        matrix = matrix.watched(None) if isinstance(matrix, FileArray) else matrix


@dataclass
class _RowPass:
    """Ranks blocks of rows in one pass; size: the numbers of rows, docs, and queries among the rows."""

    where: str
    blocks: Iterator[Array]
    size: tuple[int, int, int]
    tie_codes: Ints
    depth: int
    spare: int
    pairs: Pairs
    mask: Array | None
    anomalies: ScoreAnomalies = field(default_factory=ScoreAnomalies)
    parts: list[tuple[Array, ...]] = field(default_factory=list)

    def run(self) -> Ranked:
        n_rows, n_docs, n_queries = self.size
        if self.mask is not None and (len(self.mask), int(self.mask.sum())) != (n_rows, n_queries):
            raise FormatError(
                f"{self.where}: the mask keeps {int(self.mask.sum())} of {len(self.mask)} rows, "
                f"expected {n_queries} queries of {n_rows} rows"
            )
        row = query = 0
        step = max(1, _CHUNK_CELLS // n_docs)
        for block in self.blocks:
            for start in range(0, len(block), step):
                chunk = block[start : start + step]
                kept = self._kept(chunk, row, may_pad=n_rows > n_queries)
                row += len(chunk)
                if kept is not None:
                    self.anomalies.padding += len(chunk) - int(kept.sum())
                    chunk = chunk[kept]
                self._rank(chunk, query)
                query += len(chunk)
                if query > n_queries:
                    self._refuse_rows(query)
        if query != n_queries:
            self._refuse_rows(query)
        return ranked_of(self.parts, self.anomalies, self.depth)

    def _kept(self, chunk: Array, row: int, *, may_pad: bool) -> Array | None:
        if self.mask is not None:
            return np.asarray(self.mask[row : row + len(chunk)])
        return np.asarray(np.isfinite(chunk).any(axis=1)) if may_pad else None

    def _refuse_rows(self, found: int) -> None:
        raise FormatError(
            f"{self.where}: {found} rows or more with scores, expected {self.size[2]}, one for "
            "each query id; padding must be -inf or NaN throughout, or marked by a mask"
        )

    def _rank(self, chunk: Array, start: int) -> None:
        if not len(chunk):
            return
        low, high, at_low, is_finite = extremes_of(chunk)
        if not is_finite.all():
            bad = ~is_finite
            chunk = chunk.copy()
            chunk[bad] = without_anomalies(chunk[bad], start + np.flatnonzero(bad), self.anomalies)
            low[bad] = np.where(chunk[bad] == -np.inf, np.inf, chunk[bad]).min(axis=1)
            high[bad] = chunk[bad].max(axis=1)
            at_low[bad] = (chunk[bad] == low[bad][:, None]).sum(axis=1)
        flooded = count_shapes(self.anomalies, low, high, at_low, chunk.shape[1], start)
        cut = np.where(flooded, low, -np.inf)
        top = self._top(chunk, cut, start)
        pairs = self._pairs(chunk, cut, start)
        self.parts.append(_with_pairs(top, pairs, self.depth + self.spare))

    def _top(self, chunk: Array, cut: Array, start: int) -> tuple[Array, ...]:
        """Return the top of each row above its cut, by row, then rank, and count its ties."""
        n_rows, n_docs = chunk.shape
        columns = top_of_rows(chunk, self.depth + 1, self.tie_codes)[1].reshape(n_rows, -1)
        scores = chunk.reshape(-1).take(columns + n_docs * np.arange(n_rows)[:, None])
        is_real = scores > cut[:, None]
        is_tied = (scores[:, 1:] == scores[:, :-1]) & is_real[:, 1:]
        self.anomalies.tied_in_top += int(is_tied[:, : self.depth - 1].any(axis=1).sum())
        self.anomalies.tied_at_cut += int(is_tied[:, self.depth - 1 :].sum())
        row, place = np.nonzero(is_real[:, : self.depth + self.spare])
        ranked = row + start, columns[row, place], place + 1
        return *(each.astype(np.int32) for each in ranked), scores[row, place]

    def _pairs(self, chunk: Array, cut: Array, start: int) -> tuple[Array, ...]:
        queries, docs, is_positive = self.pairs.query, self.pairs.doc, self.pairs.is_positive
        first, last = np.searchsorted(queries, (start, start + len(chunk)))
        rows, columns = queries[first:last] - start, docs[first:last]
        scores = chunk[rows, columns]
        real = scores > cut[rows]
        rows, columns, scores = rows[real], columns[real], scores[real]
        ranks, n_equal = ranks_in_rows(chunk, rows, columns, self.tie_codes)
        is_counted = is_positive[first:last][real]
        self.anomalies.tied_positives += int(np.count_nonzero((n_equal > 1) & is_counted))
        return rows + start, columns, ranks, scores


def _with_pairs(top: tuple[Array, ...], pairs: tuple[Array, ...], n_top: int) -> tuple[Array, ...]:
    """Return the top of each row, followed by its pairs with ranks beyond `n_top`."""
    below = pairs[2] > n_top
    if not below.any():
        return top
    rest = in_order([tuple(column[below] for column in pairs)])
    at = np.searchsorted(top[0], rest[0], side="right")
    return tuple(np.insert(column, at, values) for column, values in zip(top, rest, strict=True))
