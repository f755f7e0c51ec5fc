"""The recall of a vector search: how many of the nearest docs it found, on a sample of the queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.dense import QUERIES_ROWS, rank_matrix
from fire_toolkit.formats.runs.embeddings import ProductMatrix, product_matrix
from fire_toolkit.formats.runs.matrix import Array, Matrix, held, rows_per_block

_SEED = 0
_FLOAT32 = 1e-6  # what products in float32 may be off, of the largest squared length


@dataclass(frozen=True)
class Recall:
    """Mean recall at a depth, with the half-width of its 95% interval over the queries of the sample."""

    depth: int
    n_queries: int
    mean: float
    half_width: float

    @property
    def words(self) -> str:
        """Return it as people read it."""
        margin = f" ± {self.half_width:.3f}" if self.half_width else ""
        return f"recall@{self.depth} {self.mean:.3f}{margin} on {self.n_queries:,} queries"


def measure_recall(
    places: Ints, queries: Matrix, docs: Matrix, *, depth: int, n_queries: int, similarity: str | None = None
) -> Recall:
    """Return the share of each query's nearest docs that are among the first `depth` of its candidates.

    A candidate counts where its exact score reaches that of the depth-th nearest doc, but for the rounding
    of float32, in which indexes compute; so docs of equal score stand for one another. Exact scores are
    products in float64, rounded to nine decimal places.

    Args:
        places: queries × K, the places of docs, -1 for padding.
        queries, docs: the vectors, a row for each query and each doc.
        depth: how many candidates are looked at, at most K.
        n_queries: how many queries are drawn; all, where there are fewer. The draw is always the same.
        similarity: `dot`, `cosine` or `l2`; None where all vectors have length 1.

    Raises:
        FormatError: there is not one vector for each query, or the vectors cannot be compared.
        UsageError: the vectors' lengths differ from 1 and `similarity` is None.
    """
    if queries.shape[0] != len(places):
        raise FormatError(
            f"{queries.where}: {queries.shape[0]:,} vectors, but {len(places):,} lists of candidates; "
            "expected one vector for each"
        )
    depth = min(depth, places.shape[1])
    sample = RecallSample.draw(queries, docs, depth=depth, n_queries=n_queries, similarity=similarity)
    own = places[sample.drawn, : sample.depth]
    margin = _FLOAT32 * float(np.square(sample.exact.held).sum(axis=1).max())
    found = (_scores_of(sample.exact, own) >= sample.worst[:, None] - margin).mean(axis=1)
    spread = float(found.std(ddof=1)) if len(found) > 1 else 0.0
    half_width = 1.96 * spread / float(np.sqrt(len(found)))
    return Recall(sample.depth, len(found), float(found.mean()), half_width)


@dataclass(frozen=True)
class RecallSample:
    """Some queries with their nearest docs, all compared.

    drawn: their rows, ascending. exact: their vectors and all docs. nearest: queries × depth, places of docs,
    best first. worst: the score of the last of them.
    """

    drawn: Ints
    exact: ProductMatrix
    nearest: Ints
    worst: Array

    @property
    def depth(self) -> int:
        """Return how many docs of each query are known."""
        return int(self.nearest.shape[1])

    @classmethod
    def draw(
        cls,
        queries: Matrix,
        docs: Matrix,
        *,
        depth: int,
        n_queries: int,
        similarity: str | None,
        is_second: bool = False,
    ) -> RecallSample:
        """Return a sample that is the same for the same number of queries; the second has none of the first.

        Where too few queries are left for a second sample, it is the last `n_queries` of the draw.
        """
        order = np.random.default_rng(_SEED).permutation(queries.shape[0])
        drawn = np.sort(order[n_queries:][:n_queries] if is_second else order[:n_queries])
        if len(drawn) < n_queries:
            drawn = np.sort(order[-n_queries:])
        own = held(queries.where, rows_at(queries.blocks(rows_per_block(queries)), drawn))
        exact = product_matrix(own, docs, similarity=similarity)
        ids = [str(doc) for doc in range(docs.shape[0])]  # ties may fall as they do: scores are compared
        depth = min(depth, len(ids))
        ranked = rank_matrix(exact, orientation=QUERIES_ROWS, n_queries=len(drawn), docs=ids, depth=depth)
        nearest = np.full((len(drawn), depth), -1)
        nearest[ranked.query, ranked.rank - 1] = ranked.doc
        worst = np.full(len(drawn), np.finfo(np.float64).min)
        worst[ranked.query[ranked.rank == depth]] = ranked.score[ranked.rank == depth]
        return cls(drawn, exact, nearest, worst)


def rows_at(blocks: Iterable[Array], rows: Ints) -> Array:
    """Return rows of a matrix that comes in blocks; `rows` ascend."""
    parts, start = [], 0
    for block in blocks:
        first, last = np.searchsorted(rows, (start, start + len(block)))
        parts.append(block[rows[first:last] - start])
        start += len(block)
    return np.concatenate(parts)


def _scores_of(exact: ProductMatrix, places: Ints) -> Array:
    """Return the exact score of each candidate, minus infinity for padding."""
    query, doc = np.repeat(np.arange(len(places)), places.shape[1]), places.ravel()
    pairs = (doc, query) if exact.is_flipped else (query, doc)
    scores = exact.pick(*(np.maximum(each, 0) for each in pairs))
    return np.where(doc < 0, -np.inf, scores).reshape(places.shape)
