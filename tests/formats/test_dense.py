"""A matrix gives the same lists in either orientation and any blocks, with true ranks below the top."""

from typing import Any

import numpy as np
import pytest
from brought import refused
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.arrays.matrix import blocks_of, by_rows
from fire_toolkit.formats.runs.ranked import Ranked, rank_rows

DOCS = ["d2", "d10", "a", "Z", "d1"]


def brute_force(scores: Any, docs: list[str], depth: int, positives: set[tuple[int, int]]) -> list[Any]:
    """The rule, one query after the other: score descending, doc id descending; what has no score is out."""
    found = []
    for query, row in enumerate(scores.tolist()):
        order = [d for d in range(len(docs)) if np.isfinite(row[d])]
        order.sort(key=lambda d: (row[d], docs[d]), reverse=True)
        for rank, doc in enumerate(order, start=1):
            if rank <= depth or (query, doc) in positives:
                found.append((query, doc, rank, row[doc]))
    return found


def rows_of(ranked: Ranked) -> list[Any]:
    columns = (ranked.query, ranked.doc, ranked.rank, ranked.score)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def rank(scores: Any, **options: Any) -> Ranked:
    rows = by_rows(np.asarray(scores))
    docs = [f"d{n:02}" for n in range(rows.shape[-1])]
    given = {"n_queries": len(rows), "docs": docs, "depth": 2} | options
    return rank_rows(blocks_of(rows, "m"), where="m", n_rows=len(rows), **given)


@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 6),
    order=st.sampled_from("CF"),
    block_cells=st.sampled_from([4, 12, 1 << 20]),
    n_missing=st.integers(0, 3),
    dtype=st.sampled_from([np.float32, np.float64, np.int8]),
)
def test_any_matrix_is_ranked_as_by_brute_force(
    seed: int, depth: int, order: Any, block_cells: int, n_missing: int, dtype: Any
) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-2, 3, size=(4, 5)).astype(dtype)
    if scores.dtype.kind == "f":
        scores[random.integers(4, size=n_missing), random.integers(5, size=n_missing)] = -np.inf
        scores[random.integers(4, size=n_missing), random.integers(5, size=n_missing)] = np.nan
    positives = {divmod(int(cell), 5) for cell in random.integers(20, size=3)}
    values = np.array(scores, order=order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix, "CHUNK_CELLS", block_cells)
        patch.setattr(matrix, "TURNED_CELLS", 2 * block_cells)
        pairs = tuple(np.array(list(positives)).T)
        ranked = rank(values, docs=DOCS, depth=depth, positives=pairs)
    assert brute_force(scores.astype(np.float64), DOCS, depth, positives) == rows_of(ranked)
    assert np.array_equal(values, scores, equal_nan=True)
    assert ranked.anomalies.n_nan == int(np.isnan(scores.astype(np.float64)).sum())


@pytest.mark.parametrize("order", ["C", "F"])
def test_ties_floods_and_constant_rows_are_counted_and_a_flood_is_not_ranked(order: Any) -> None:
    pairs = (np.array([0, 1, 2]), np.array([1, 3, 0]))
    tied = np.array([[3, 3, 1, 0], [4, 3, 3, 0], [1, 2, 3, 0]], order=order)
    odd = rank(tied, positives=pairs).anomalies
    assert (odd.tied_in_top, odd.tied_at_cut, odd.tied_positives) == (1, 1, 1)
    # a reranker fills what it did not score with -100
    scores = np.full((3, 21), -100.0, dtype=np.float32, order=order)
    scores[0, :9] = np.arange(9)
    scores[1] = np.arange(21)
    scores[2] = 5
    ranked = rank(scores, depth=15)
    assert (ranked.anomalies.flood, ranked.anomalies.constant) == (1, 1)
    assert np.bincount(ranked.query).tolist() == [9, 15, 15]


def test_equal_rows_are_counted_as_duplicates_and_a_zero_without_its_sign_is_the_same_score() -> None:
    """Scores that underflow are 0.0 or -0.0."""
    assert rank([[1, 2, 3], [1, 2, 3], [3, 2, 1], [1, 2, 3]]).anomalies.duplicates == 2
    shown = rank([[0.0], [-0.0], [0.0]], depth=1)
    assert shown.anomalies.duplicates == 2
    assert not np.signbit(shown.score).any()


def test_rows_of_padding_are_left_out_by_content_or_by_mask() -> None:
    expected = [(0, 1, 1, 2.0), (0, 0, 2, 1.0), (1, 0, 1, 2.0), (1, 1, 2, 1.0)]
    assert expected == rows_of(rank([[1, 2], [-np.inf, np.nan], [2, 1]], n_queries=2))
    filled = [[1, 2], [9, 9], [2, 1]]
    assert expected == rows_of(rank(filled, n_queries=2, mask=np.array([True, False, True])))
    refused("3 rows or more with scores, expected 2", rank, filled, n_queries=2)
    mask = np.array([True, False, False])
    refused("the mask keeps 1 of 3 rows, expected 2 queries", rank, filled, n_queries=2, mask=mask)


def test_three_axes_are_rows_of_the_last() -> None:
    ranked = rank([[[1, 2, 3], [3, 2, 1]], [[1, 3, 2], [-np.inf] * 3]], n_queries=3, depth=1)
    assert ranked.doc.tolist() == [2, 0, 1]
    assert ranked.anomalies.padding == 1
