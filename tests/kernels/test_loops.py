"""The compiled loops give what their plain NumPy twins give, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fire_toolkit import kernels
from fire_toolkit.measures import segments

pytest.importorskip("numba")


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Iterator[Any]]:
    """What a piece of work gives with NumPy, then with the compiled loops."""

    def run(work: Callable[[], Any]) -> Iterator[Any]:
        monkeypatch.setattr(kernels, "_loops", None)
        yield work()
        assert kernels.load_loops()
        monkeypatch.setattr(kernels, "_WARM_STEPS", 0)
        yield work()

    return run


def assert_same(found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_judged", [3, 60])  # compared one by one, and by a table of docs
def test_judged_docs_are_found_in_the_rows(both_ways: Any, n_judged: int) -> None:
    rng = np.random.default_rng(n_judged)
    n_docs, lengths = 90, rng.integers(0, 40, 50)
    doc = np.concatenate([rng.permutation(n_docs)[:n] for n in lengths]).astype(np.int32)
    rank = np.concatenate([np.sort(rng.permutation(200)[:n]) + 1 for n in lengths])
    stop = np.cumsum(lengths)
    counts = rng.integers(0, n_judged, 50)
    judged = np.concatenate([rng.permutation(n_docs)[:n] for n in counts]).astype(np.int32)
    judged[rng.random(judged.size) < 0.1] = -1
    relevance = rng.integers(-1, 4, judged.size)
    judged_start = np.concatenate([[0], np.cumsum(counts)])
    expected, found = both_ways(
        lambda: segments.find_judged(
            doc, rank, (stop - lengths, stop), judged, relevance, judged_start, n_docs
        )
    )
    assert expected[0].size > 5
    assert_same(found, expected)


def test_positives_are_numbered_within_a_query(both_ways: Any) -> None:
    rng = np.random.default_rng(0)
    query = np.sort(rng.integers(0, 40, 300))
    rank, relevance = rng.random(300), rng.integers(-1, 3, 300)
    expected, found = both_ways(lambda: segments.take_positives(query, rank, relevance))
    assert {0, 1, 2, 3} & set(expected[3]) == {1, 2, 3}
    assert_same(found, expected)


def test_small_work_does_not_load_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_loops", None)
    assert kernels.compiled(1_000_000) is None
    assert kernels.compiled(2_000_000) is not None
    assert kernels.compiled(9_999) is None


def test_without_numba_numpy_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_loops", None)
    monkeypatch.setattr(kernels, "_is_absent", True)
    assert not kernels.load_loops()
    assert kernels.compiled(10**9) is None
