"""The nearest docs of query vectors by an index of faiss, for docs too many to be compared with every query.

Each doc stands in the list of its nearest centre (k-means of a sample of the docs), with 8 bits a number;
a query is compared with the docs in the lists of the centres nearest to it. The docs found get their
scores from `pair_scores`, in float64, so only which docs are found is approximate, and not their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.runs.candidates import PADDING, Candidates
from fire_toolkit.formats.runs.embeddings import L2, ProductMatrix, product_matrix
from fire_toolkit.formats.runs.matrix import Array, Matrix, rows_per_block
from fire_toolkit.formats.runs.recall import RecallSample, rows_at

_SPARE = 64  # docs found beyond the depth, since 8 bits do not order them as their scores do
_LISTS_PER_ROOT = 2  # lists, by the square root of the number of docs
_SAMPLED_PER_LIST = 50
_LEAST_PER_LIST = 39  # docs, which faiss asks for
_ROUNDS = 10
_BLOCK = 4096
_SEED = 1


def n_lists_for(n_docs: int) -> int:
    """Return how many lists docs are put into: the power of 2 near twice the square root of their number.

    Examples:
        >>> [n_lists_for(n) for n in (10, 200_000, 1_000_000)]
        [1, 1024, 2048]
    """
    wished = 2 ** round(np.log2(_LISTS_PER_ROOT * n_docs**0.5))
    return int(max(1, min(wished, n_docs // _LEAST_PER_LIST)))


def cost_in_queries(n_docs: int) -> int:
    """Return with how many queries every doc could be compared in the time that making the index takes."""
    n_lists = n_lists_for(n_docs)
    n_sampled = min(n_docs, _SAMPLED_PER_LIST * n_lists)
    return n_lists + _ROUNDS * n_sampled * n_lists // n_docs


def find_nearest(
    queries: Matrix, docs: Matrix, *, similarity: str | None, depth: int, target: float, n_sampled: int
) -> tuple[Candidates, dict[str, Any]]:
    """Return for each query its nearest docs as far as an index finds them, and the index for a manifest.

    As many lists are looked at as are needed to find `target` of the nearest ten docs of `n_sampled` queries,
    which are others than those of `measure_recall`, if there are as many.

    Args:
        queries, docs: vectors as rows, of one width.
        similarity: `dot`, `cosine` or `l2`; None where all vectors have length 1.
        depth: how many docs are wanted; some more are returned, so that ties at the depth are seen.
        target: share of the nearest, above 0 and at most 1.
        n_sampled: how many queries are ranked exactly.

    Raises:
        FormatError: the vectors cannot be compared, or have numbers beyond float32.
        UsageError: faiss is not installed, or the vectors' lengths differ from 1 and `similarity` is None.
    """
    product = product_matrix(queries, docs, similarity=similarity)
    n_docs = docs.shape[0]
    index = _index_of(product, n_docs)
    n_found = min(depth + _SPARE, n_docs)
    sample = RecallSample.draw(
        queries, docs, depth=10, n_queries=n_sampled, similarity=similarity, is_second=True
    )
    of_sample = rows_at(_blocks(product, of_docs=False), sample.drawn)
    index.nprobe = _probes_needed(index, of_sample, sample.nearest, n_found, target)
    found = [index.search(block, n_found)[1] for block in _blocks(product, of_docs=False)]
    places = np.concatenate(found)
    about = {
        "name": f"faiss IVF{index.nlist},SQ8, nprobe {index.nprobe}",
        "wanted": target,
        "sampled": len(sample.drawn),
        "faiss": _faiss().__version__,
    }
    return _scored(product, places), about


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise UsageError("--approximate needs faiss: pip install faiss-cpu") from None
    return faiss


def _index_of(product: ProductMatrix, n_docs: int) -> Any:
    """Return the index with all docs in it; the same for any number of threads."""
    faiss, n_lists = _faiss(), n_lists_for(n_docs)
    metric = faiss.METRIC_L2 if product.similarity == L2 else faiss.METRIC_INNER_PRODUCT
    index = faiss.index_factory(int(product.held.shape[1]), f"IVF{n_lists},SQ8", metric)
    index.cp.niter, index.cp.min_points_per_centroid = _ROUNDS, 1
    index.cp.max_points_per_centroid = _SAMPLED_PER_LIST
    drawn = np.random.default_rng(_SEED).permutation(n_docs)[: _SAMPLED_PER_LIST * n_lists]
    index.train(rows_at(_blocks(product, of_docs=True), np.sort(drawn)))
    for block in _blocks(product, of_docs=True):
        index.add(block)
    return index


def _blocks(product: ProductMatrix, *, of_docs: bool) -> Iterator[Array]:
    """Yield the vectors of the docs, or of the queries, in float32."""
    if of_docs == product.is_flipped:
        blocks = product.streamed_vectors(rows_per_block(product.streamed))
    else:
        blocks = (product.held[at : at + _BLOCK] for at in range(0, len(product.held), _BLOCK))
    for block in blocks:
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(block, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise FormatError(f"{product.where}: a number beyond float32; scale the vectors down")
        yield vectors


def _probes_needed(index: Any, queries: Array, nearest: Ints, n_found: int, target: float) -> int:
    """Return the least power of 2 (or all) of lists in which `target` of the nearest docs are found."""
    n_probes = 1
    while n_probes < index.nlist:
        index.nprobe = n_probes
        found = index.search(queries, n_found)[1]
        n_seen = sum(
            np.isin(own, docs[docs != PADDING]).sum() for own, docs in zip(nearest, found, strict=True)
        )
        if n_seen >= target * nearest.size:
            break
        n_probes *= 2
    return int(min(n_probes, index.nlist))


def _scored(product: ProductMatrix, places: Ints) -> Candidates:
    """Return the docs found with their exact scores, best first."""
    query, column = np.nonzero(places != PADDING)
    pairs = query, places[query, column]
    scores = np.full(places.shape, -np.inf)
    scores[query, column] = product.pick(*(pairs[::-1] if product.is_flipped else pairs))
    order = np.argsort(-scores, axis=1, kind="stable")
    return Candidates(
        product.where, np.take_along_axis(places, order, axis=1), np.take_along_axis(scores, order, axis=1)
    )
