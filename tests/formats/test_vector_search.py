"""Vectors are ranked as if every pair were scored: for any data, precision, split and size of block."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs import dense, vector_search
from fire_toolkit.formats.runs.dense import QUERIES_ROWS, rank_matrix, tie_codes_of
from fire_toolkit.formats.runs.embeddings import SIMILARITY_NAMES, ProductMatrix, pair_scores, product_matrix
from fire_toolkit.formats.runs.matrix import Array, held
from fire_toolkit.formats.runs.ranked import Pairs, Ranked

KINDS = (
    "plain", "duplicates", "all equal", "near ties", "huge norms", "mixed norms", "denormal", "whole numbers"
)  # fmt: skip
COLUMNS = ("query", "doc", "rank", "score")


def vectors_of(kind: str, n: int, width: int, dtype: str, random: np.random.Generator) -> Array:
    """Vectors that are hard to rank."""
    values = random.normal(size=(n, width))
    largest = float(np.finfo(dtype).max)
    if kind == "duplicates":
        values = values[random.integers(0, 1 + n // 4, n)]
    elif kind == "all equal":
        values[:] = values[0]
    elif kind == "near ties":
        values = values[0] + 1e-9 * values
    elif kind == "huge norms":
        values *= min(largest, 1e90) / 1e3
    elif kind == "mixed norms":
        values *= 10.0 ** random.integers(-4, 4, (n, 1))
    elif kind == "denormal":
        values *= float(np.finfo(dtype).smallest_normal) if dtype == "float32" else 1e-5
    elif kind == "whole numbers":
        values = random.integers(1, 3, (n, width)).astype(float)
    return values.astype(dtype)


def by_pairs(
    queries: Array, docs: Array, similarity: str, ids: list[str], pairs: Pairs, depth: int
) -> Ranked:
    """Every pair scored, then ranked as any matrix is."""
    product = product_matrix(held("q", queries), held("d", docs), similarity=similarity)
    every = np.stack(_all_scores(product.held, product))
    scores = every.T if product.is_flipped else every
    return rank_matrix(
        held("s", scores),
        orientation=QUERIES_ROWS,
        n_queries=len(queries),
        docs=ids,
        depth=depth,
        positives=(pairs.query, pairs.doc),
        spare=1,
    )


def _all_scores(right: Array, product: ProductMatrix) -> list[Array]:
    columns, rows = np.arange(len(right)), []
    for block in product.streamed_vectors(1000):
        rows += [
            pair_scores(block, right, np.full(len(right), row), columns, product.similarity)
            for row in range(len(block))
        ]
    return rows


def screened(
    queries: Array, docs: Array, similarity: str, ids: list[str], pairs: Pairs, depth: int
) -> Ranked:
    product = product_matrix(held("q", queries), held("d", docs), similarity=similarity)
    return vector_search.rank_product(product, tie_codes_of(ids), depth=depth, spare=1, pairs=pairs)


def assert_same(left: Ranked, right: Ranked) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    assert left.anomalies == right.anomalies


@settings(max_examples=examples(150), deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    similarity=st.sampled_from(SIMILARITY_NAMES),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    n_queries=st.integers(1, 12),
    n_docs=st.integers(1, 150),
    width=st.sampled_from([1, 2, 7, 16, 33]),
    depth=st.integers(1, 20),
    tile=st.sampled_from([1, 50, 1 << 22]),
    block=st.sampled_from([1, 600, 32 << 20]),
    seed=st.integers(0, 2**16),
)
def test_screening_changes_nothing(
    kind: str, similarity: str, dtype: str, n_queries: int, n_docs: int, width: int, depth: int, tile: int,
    block: int, seed: int,
) -> None:  # fmt: skip
    random = np.random.default_rng(seed)
    both = vectors_of(kind, n_queries + n_docs, width, dtype, random)
    queries, docs = both[:n_queries], both[n_queries:]
    if similarity == "cosine" and not (np.abs(both.astype(float)).max(axis=1) > 1e-40).all():
        return  # a vector of zeros has no cosine
    ids = [f"d{place}" for place in random.permutation(n_docs)]
    cells = random.choice(n_queries * n_docs, min(9, n_queries * n_docs), replace=False)
    pairs = Pairs.of((cells // n_docs, cells % n_docs), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_search, "_TILE_CELLS", tile)
        patch.setattr(vector_search, "_BLOCK_BYTES", block)
        patch.setattr(vector_search, "_MANY", int(random.integers(0, 3)))
        found = screened(queries, docs, similarity, ids, pairs, depth)
    assert_same(found, by_pairs(queries, docs, similarity, ids, pairs, depth))
    product = product_matrix(held("q", queries), held("d", docs), similarity=similarity)
    in_float64 = rank_matrix(
        product, orientation=QUERIES_ROWS, n_queries=n_queries, docs=ids, depth=depth, spare=1,
        positives=(pairs.query, pairs.doc),
    )  # fmt: skip
    assert_same(found, in_float64)


@pytest.mark.parametrize("similarity", SIMILARITY_NAMES)
def test_any_split_of_the_queries_gives_the_same_rows(similarity: str) -> None:
    random = np.random.default_rng(3)
    queries, docs = (vectors_of("duplicates", n, 24, "float32", random) for n in (61, 900))
    ids = [f"d{place}" for place in range(len(docs))]
    pairs = Pairs.of((np.arange(61), random.integers(0, 900, 61)), None)
    whole = screened(queries, docs, similarity, ids, pairs, 10)
    for edges in ([0, 1, 2, 60, 61], [0, 30, 61]):
        parts = []
        for start, stop in pairwise(edges):
            own = (pairs.query >= start) & (pairs.query < stop)
            mine = Pairs.of((pairs.query[own] - start, pairs.doc[own]), None)
            part = screened(queries[start:stop], docs, similarity, ids, mine, 10)
            parts.append((part.query + start, part.doc, part.rank, part.score))
        for name, pieces in zip(COLUMNS, zip(*parts, strict=True), strict=True):
            np.testing.assert_array_equal(getattr(whole, name), np.concatenate(pieces), err_msg=name)


@pytest.mark.parametrize("first", [0.5, 1e-7])
def test_a_flood_spread_over_blocks_of_growing_vectors_is_counted(
    first: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    docs = np.abs(random.normal(size=(400, 8))) * np.where(np.arange(400) < 200, first, 50)[:, None]
    docs[random.permutation(400)[:220]] = 0
    monkeypatch.setattr(vector_search, "_BLOCK_BYTES", 4 * 8 * 40)
    ids, pairs = [f"d{place}" for place in range(400)], Pairs.of(None, None)
    queries = np.abs(random.normal(size=(3, 8)))
    found = screened(queries, docs, "dot", ids, pairs, 5)
    assert found.anomalies.flood == 3
    assert_same(found, by_pairs(queries, docs, "dot", ids, pairs, 5))


def test_large_sets_of_vectors_are_screened(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    queries, docs = random.normal(size=(20, 4)), random.normal(size=(900, 4))
    ids, called = [f"d{place}" for place in range(900)], list[int]()

    def noted(*given: Any, **options: Any) -> Ranked:
        called.append(1)
        return vector_search.rank_product(*given, **options)

    monkeypatch.setattr(dense, "_SCREENED_CELLS", 18_000)
    monkeypatch.setattr("fire_toolkit.formats.runs.dense.rank_product", noted)
    product = product_matrix(held("q", queries), held("d", docs), similarity="l2")
    found = rank_matrix(product, orientation=QUERIES_ROWS, n_queries=20, docs=ids, depth=30)
    monkeypatch.setattr(dense, "_SCREENED_CELLS", 18_001)
    assert_same(found, rank_matrix(product, orientation=QUERIES_ROWS, n_queries=20, docs=ids, depth=30))
    assert called == [1]


def test_numbers_too_large_to_square_are_refused() -> None:
    with pytest.raises(FormatError, match="a number beyond 1e"):
        product_matrix(held("q", np.ones((2, 3))), held("d", np.full((2, 3), 1e150)), similarity="dot")


def test_ten_lines_of_numpy_agree() -> None:
    random = np.random.default_rng(8)
    queries, docs = random.normal(size=(40, 64)).astype("f4"), random.normal(size=(3000, 64)).astype("f4")
    docs[1500:1600] = docs[:100]
    ids = [f"{place:04d}" for place in range(3000)]
    found = screened(queries, docs, "dot", ids, Pairs.of(None, None), 20)
    scores = np.round(queries.astype("f8") @ docs.astype("f8").T, 9)
    order = np.lexsort((-np.arange(3000) + 0 * scores, -scores), axis=1)[:, :21]
    np.testing.assert_array_equal(found.doc.reshape(40, 21), order)
