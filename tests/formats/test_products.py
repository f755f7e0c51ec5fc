"""Vectors are ranked as if every pair were scored alone: for any data, precision and split."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, Stored, chunks_of
from fire_toolkit.formats.runs.embeddings import SIMILARITY_NAMES, pair_scores, products, vectors_of
from fire_toolkit.formats.runs.ranked import Ranked, rank_rows

KINDS = (
    "plain", "duplicates", "all equal", "near ties", "huge norms", "mixed norms", "denormal", "whole numbers"
)  # fmt: skip
COLUMNS = ("query", "doc", "rank", "score")


def hard_vectors(kind: str, n: int, width: int, dtype: str, random: np.random.Generator) -> Array:
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


def ranked(
    blocks: Iterable[Array], n_queries: int, ids: list[str], pairs: tuple[Array, Array], depth: int
) -> Ranked:
    about = {"docs": ids, "depth": depth, "positives": pairs, "spare": 1}
    return rank_rows(blocks, where="m", n_rows=n_queries, n_queries=n_queries, **about)


def stored(values: Array) -> Stored:
    return Stored("s", values.shape, values.dtype, lambda: values)


def by_pairs(
    queries: Array, docs: Array, similarity: str, ids: list[str], pairs: tuple[Array, Array], depth: int
) -> Ranked:
    """Every pair scored by itself, then ranked as any matrix is."""
    wide = [vectors_of(side, "s", similarity) for side in (queries, docs)]
    scores = pair_scores(*wide, *np.divmod(np.arange(len(queries) * len(docs)), len(docs)), similarity)
    return ranked(chunks_of(scores.reshape(len(queries), len(docs))), len(queries), ids, pairs, depth)


def by_blocks(
    queries: Array, docs: Array, similarity: str, ids: list[str], pairs: tuple[Array, Array], depth: int
) -> Ranked:
    blocks = products(stored(queries), stored(docs), similarity)
    return ranked(blocks, len(queries), ids, pairs, depth)


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
    seed=st.integers(0, 2**16),
)
def test_blocks_change_nothing(
    kind: str, similarity: str, dtype: str, n_queries: int, n_docs: int, width: int, depth: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    both = hard_vectors(kind, n_queries + n_docs, width, dtype, random)
    queries, docs = both[:n_queries], both[n_queries:]
    if similarity == "cosine" and not (np.abs(both.astype(float)).max(axis=1) > 1e-40).all():
        return  # a vector of zeros has no cosine
    ids = [f"d{place}" for place in random.permutation(n_docs)]
    cells = random.choice(n_queries * n_docs, min(9, n_queries * n_docs), replace=False)
    given = queries, docs, similarity, ids, (cells // n_docs, cells % n_docs), depth
    assert_same(by_blocks(*given), by_pairs(*given))


@pytest.mark.parametrize("similarity", SIMILARITY_NAMES)
def test_any_split_of_the_queries_gives_the_same_rows(similarity: str) -> None:
    random = np.random.default_rng(3)
    queries, docs = (hard_vectors("duplicates", n, 24, "float32", random) for n in (61, 900))
    ids = [f"d{place}" for place in range(len(docs))]
    rows, columns = np.arange(61), random.integers(0, 900, 61)
    whole = by_blocks(queries, docs, similarity, ids, (rows, columns), 10)
    for edges in ([0, 1, 2, 60, 61], [0, 30, 61]):
        parts = []
        for start, stop in pairwise(edges):
            mine = rows[start:stop] - start, columns[start:stop]
            part = by_blocks(queries[start:stop], docs, similarity, ids, mine, 10)
            parts.append((part.query + start, part.doc, part.rank, part.score))
        for name, pieces in zip(COLUMNS, zip(*parts, strict=True), strict=True):
            np.testing.assert_array_equal(getattr(whole, name), np.concatenate(pieces), err_msg=name)


def test_numbers_too_large_to_square_are_refused() -> None:
    with pytest.raises(FormatError, match="a number beyond 1e"):
        list(products(stored(np.ones((2, 3))), stored(np.full((2, 3), 1e150)), "dot"))


def test_ten_lines_of_numpy_agree() -> None:
    random = np.random.default_rng(8)
    queries, docs = random.normal(size=(40, 64)).astype("f4"), random.normal(size=(3000, 64)).astype("f4")
    docs[1500:1600] = docs[:100]
    ids = [f"{place:04d}" for place in range(3000)]
    found = by_blocks(queries, docs, "dot", ids, (np.empty(0, int), np.empty(0, int)), 20)
    scores = np.round(queries.astype("f8") @ docs.astype("f8").T, 9)
    order = np.lexsort((-np.arange(3000) + 0 * scores, -scores), axis=1)[:, :21]
    np.testing.assert_array_equal(found.doc.reshape(40, 21), order)
