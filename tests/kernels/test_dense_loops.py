"""The compiled loops over matrices of scores give what their plain NumPy twins give, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import THOROUGH, examples
from fire_toolkit import kernels
from fire_toolkit.formats.runs import ranked
from fire_toolkit.formats.runs.dense import QUERIES_COLUMNS, QUERIES_ROWS, rank_matrix
from fire_toolkit.formats.runs.matrix import held
from fire_toolkit.formats.runs.ranked import Ranked, all_finite, extremes_of, loops_for
from fire_toolkit.matching.ranking import top_of_rows

pytest.importorskip("numba")
# Each type is compiled for itself, which takes five seconds in a fresh clone.
TYPES = [np.float32, np.float64, np.int16] if THOROUGH else [np.float32]
KINDS = ["normal", "few values", "one value", "mostly missing", "huge range", "rising", "flood", "tiny"]


@pytest.fixture(scope="module")
def both_ways() -> Iterator[Callable[[Callable[[], Any]], tuple[Any, Any]]]:
    """What a piece of work gives with NumPy, then with the compiled loops."""
    patch = pytest.MonkeyPatch()

    def run(work: Callable[[], Any]) -> tuple[Any, Any]:
        patch.setattr(ranked, "_LARGE_CELLS", 0)
        patch.setattr(kernels, "_loops", None)
        patch.setattr(kernels, "_is_absent", True)
        plain = work()
        patch.setattr(kernels, "_is_absent", False)
        assert kernels.load_loops()
        patch.setattr(kernels, "_WARM_STEPS", 0)
        return plain, work()

    yield run
    patch.undo()


def scores_of(kind: str, n_rows: int, n_columns: int, seed: int, dtype: Any) -> Any:
    """Scores of a kind that a bound found by halving, or a buffer of the best, may stumble over."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n_rows, n_columns))
    if kind == "few values":
        scores = rng.integers(-2, 3, scores.shape) * 1.0
    elif kind == "one value":
        scores = np.full(scores.shape, -0.0)
    elif kind == "mostly missing":
        scores[rng.random(scores.shape) < 0.9] = -np.inf
    elif kind == "huge range":
        scores = scores * 10.0 ** rng.integers(-37, 37, scores.shape)
    elif kind == "rising":
        scores = np.sort(scores, axis=0)
    elif kind == "flood":
        scores[rng.random(scores.shape) < 0.6] = -100
    elif kind == "tiny":
        scores = scores * 1e-45
    return scores.astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_top_of_rows_of_any_kind(both_ways: Any, kind: str, dtype: Any) -> None:
    scores = scores_of(kind, 30, 413, 1, dtype)
    codes = np.random.default_rng(2).permutation(413)
    for depth in (1, 7, 100):
        (rows, columns), (found_rows, found_columns) = both_ways(
            lambda d=depth: top_of_rows(scores, d, codes)
        )
        assert np.array_equal(rows, found_rows)
        assert np.array_equal(columns, found_columns)


@pytest.mark.parametrize("n_columns", [1, 63, 64, 65, 200])
def test_extremes_of_rows(both_ways: Any, n_columns: int) -> None:
    for kind in KINDS:
        scores = scores_of(kind, 9, n_columns, 3, np.float32)
        scores[4, n_columns // 2] = np.nan
        scores[5, 0] = np.inf
        plain, found = both_ways(lambda s=scores: extremes_of(s, loops_for(s.size)))
        finite = plain[3]
        assert np.array_equal(finite, found[3])
        for expected, value in zip(plain[:3], found[:3], strict=True):
            assert np.array_equal(expected[finite], value[finite])


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -np.inf])
def test_one_cell_that_is_no_number_is_seen_wherever_it_is(both_ways: Any, value: float) -> None:
    for place in (0, 1500, 2999):
        block = np.zeros((3, 1000), dtype=np.float32)
        block.ravel()[place] = value
        assert both_ways(lambda b=block: all_finite(b, loops_for(b.size))) == (value == 0.0, value == 0.0)


def same(one: Ranked, other: Ranked) -> None:
    for name in ("query", "doc", "rank", "score"):
        expected, found = getattr(one, name), getattr(other, name)
        assert expected.dtype == found.dtype, name
        assert np.array_equal(expected, found), name
    assert one.anomalies == other.anomalies


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(KINDS),
    n_docs=st.sampled_from([1, 5, 60, 700]),
    n_queries=st.sampled_from([1, 3, 8, 1030]),
    depth=st.sampled_from([1, 2, 10, 100]),
    dtype=st.sampled_from(TYPES),
    orientation=st.sampled_from([QUERIES_ROWS, QUERIES_COLUMNS]),
    n_bad=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_a_matrix_of_any_kind_is_ranked_alike(
    both_ways: Any,
    kind: str,
    n_docs: int,
    n_queries: int,
    depth: int,
    dtype: Any,
    orientation: str,
    n_bad: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    kind = kind if dtype != np.int16 else "few values"
    scores = scores_of(kind, n_docs, n_queries, seed, dtype)
    for _ in range(n_bad if dtype != np.int16 else 0):
        scores[rng.integers(n_docs), rng.integers(n_queries)] = rng.choice([np.nan, -np.inf, np.inf])
    values = scores if orientation == QUERIES_COLUMNS else np.ascontiguousarray(scores.T)
    values.flags.writeable = False
    pairs = np.unique(rng.integers(0, (n_queries, n_docs), (2 * n_queries, 2)), axis=0)
    pairs = rng.permutation(pairs)

    def work() -> Ranked:
        return rank_matrix(
            held("m", values),
            orientation=orientation,
            n_queries=n_queries,
            docs=[f"d{n}" for n in range(n_docs)],
            depth=depth,
            positives=(pairs[:, 0], pairs[:, 1]),
        )

    same(*both_ways(work))


def test_a_zero_without_its_sign_is_the_same_score(both_ways: Any) -> None:
    """Scores that underflow are 0.0 or -0.0, and the loops may keep either."""
    values = np.array([[0.0, -0.0, 0.0]], dtype=np.float32)
    for shown in both_ways(
        lambda: rank_matrix(held("m", values), orientation=QUERIES_COLUMNS, n_queries=3, docs=["d"], depth=1)
    ):
        assert shown.anomalies.duplicates == 2
        assert not np.signbit(shown.score).any()


def test_a_small_matrix_does_not_load_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden() -> bool:
        raise AssertionError("loaded")

    monkeypatch.setattr(ranked, "_LARGE_CELLS", 32_000_000)
    monkeypatch.setattr(kernels, "_loops", None)
    monkeypatch.setattr(ranked, "load_loops", forbidden)
    monkeypatch.setattr(kernels, "load_loops", forbidden)
    values = np.random.default_rng(0).random((3000, 1000), dtype=np.float32)
    for orientation, n_queries, n_docs in ((QUERIES_ROWS, 3000, 1000), (QUERIES_COLUMNS, 1000, 3000)):
        rank_matrix(
            held("m", values),
            orientation=orientation,
            n_queries=n_queries,
            docs=[f"d{n}" for n in range(n_docs)],
            depth=10,
        )
    assert loops_for(31_999_999) is None
