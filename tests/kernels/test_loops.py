"""The compiled loops give what their plain NumPy twins give, to the bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from examples import seeds
from fire_toolkit import arrays, kernels
from fire_toolkit.matching import lookup
from fire_toolkit.matching.ranking import ranks_in_rows, top_of_rows
from fire_toolkit.measures import (
    code_qrels,
    code_run,
    judge_run,
    list_measures,
    parse_measure,
    score_coded,
)
from fire_toolkit.tables import check_qrels, check_run, columns

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


@pytest.mark.parametrize("n_judged", [3, 60])
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
        lambda: lookup.find_judged(doc, rank, (stop - lengths, stop), judged, relevance, judged_start, n_docs)
    )
    assert expected[0].size > 5
    assert_same(found, expected)


def test_positives_are_numbered_within_a_query(both_ways: Any) -> None:
    rng = np.random.default_rng(0)
    query = np.sort(rng.integers(0, 40, 300))
    rank, relevance = rng.random(300), rng.integers(-1, 3, 300)
    expected, found = both_ways(lambda: lookup.take_positives(query, rank, relevance))
    assert {0, 1, 2, 3} & set(expected[3]) == {1, 2, 3}
    assert_same(found, expected)


def test_positives_are_cut_and_counted_down_to_a_rank(both_ways: Any) -> None:
    rng = np.random.default_rng(0)
    query = np.sort(rng.integers(0, 40, 300))
    rank, grade, place = rng.integers(1, 30, 300) / 2, rng.integers(1, 3, 300), rng.integers(1, 9, 300)
    expected, found = both_ways(lambda: lookup.cut_positives(query, rank, grade, place, 10))
    assert 0 < expected[0].size < 300
    assert_same(found, expected)
    limit = rng.integers(0, 15, 45)  # the last five queries have no entry
    counts, found_counts = both_ways(lambda: lookup.count_to(query, rank, limit))
    assert 0 < counts.sum() < 300
    assert_same((found_counts,), (counts,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("depth", "n_values"), [(1, 1000), (5, 3), (20, 40), (20, 10**6), (60, 1), (200, 9)])
def test_the_top_of_rows_is_exact_under_ties(both_ways: Any, dtype: Any, depth: int, n_values: int) -> None:
    rng = np.random.default_rng(depth)
    scores = rng.integers(0, n_values, (60, 173)).astype(dtype)
    scores[rng.random(scores.shape) < 0.05] = -np.inf
    scores.flags.writeable = False  # as a mapped file is
    codes = rng.permutation(173)
    order = np.lexsort([np.tile(-codes, 60), -scores.ravel(), np.repeat(np.arange(60), 173)]) % 173
    best = order.reshape(60, 173)[:, :depth].ravel()
    for rows, docs in both_ways(lambda: top_of_rows(scores, depth, codes)):
        assert list(np.repeat(np.arange(60), min(depth, 173))) == list(rows)
        assert list(best) == list(docs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [7, 32, 45, 64, 90, 112])  # below and around groups of 16
@pytest.mark.parametrize("n_values", [3, 40, 10**6])
@pytest.mark.parametrize("n_cells", [30, 200])  # NumPy sorts the rows of many cells
def test_ranks_in_rows_are_places_in_the_sorted_row(
    both_ways: Any, n_cells: int, n_values: int, n_columns: int, dtype: Any
) -> None:
    rng = np.random.default_rng(n_values)
    scores, codes = rng.integers(0, n_values, (40, n_columns)).astype(dtype), rng.permutation(n_columns)
    scores[scores == 0] = rng.choice([0.0, -0.0, -np.inf], (scores == 0).sum())
    rows, columns = rng.integers(0, 40, n_cells), rng.integers(0, n_columns, n_cells)
    in_order = [np.lexsort([-codes, -scores[row]]).tolist() for row in range(40)]
    for rank, n_equal in both_ways(lambda: ranks_in_rows(scores, rows, columns, codes)):
        assert [in_order[row].index(column) + 1 for row, column in zip(rows, columns, strict=True)] == list(
            rank
        )
        assert [(scores[r] == scores[r, c]).sum() for r, c in zip(rows, columns, strict=True)] == list(
            n_equal
        )


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


@pytest.mark.parametrize("n_queries", [3, 80])
@pytest.mark.parametrize("n_judged", [5, 70])
@pytest.mark.parametrize("n_docs", [40, 2500])
@pytest.mark.parametrize("n_grades", [1, 3])
@pytest.mark.parametrize("is_gapped", [False, True])
def test_measures_are_equal_either_way(
    both_ways: Any, n_queries: int, n_judged: int, n_docs: int, n_grades: int, is_gapped: bool
) -> None:
    rng = np.random.default_rng(n_judged)
    longest = n_docs if n_queries == 3 else min(n_docs, 200)
    rows = []
    for query in range(n_queries):
        length = int(rng.integers(0 if query else longest, longest + 1))
        rank = np.sort(rng.permutation(n_docs + 40)[:length]) + 1 if is_gapped else np.arange(1, length + 1)
        docs = rng.permutation(n_docs)[:length]
        rows += [("m", f"q{query:03d}", f"d{d}", r, -r) for d, r in zip(docs, rank, strict=True)]
    run = check_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "rank", "score"]))
    drawn = rng.integers(0, (n_queries, n_docs + 9, n_grades + 1), (n_queries * n_judged, 3))
    pairs = {(f"q{q:03d}", f"d{d}"): g for q, d, g in drawn} | {("q000", "d1"): n_grades, ("q9", "d1"): 0}
    table = [(*pair, int(grade)) for pair, grade in pairs.items()]
    coded = code_qrels(check_qrels(pd.DataFrame(table, columns=["query_id", "doc_id", "relevance"])))
    names = [d.example for d in list_measures()] + ["AP", "RR", "nDCG", "P@3", "C@1", "AP@50", "P@200"]
    names += ["AP@5:rel=2", "R@5:condensed"]
    measures = [parse_measure(name) for name in dict.fromkeys(names)]
    plain, compiled = both_ways(lambda: score_coded(code_run(run, coded), coded, measures))
    ranking = judge_run(run, coded)
    assert plain[[measure.name for measure in measures].index("AP")].any()
    for measure, expected, found in zip(measures, plain, compiled, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=measure.name)
        np.testing.assert_array_equal(expected, measure.per_query(measure.view(ranking)))


@pytest.mark.parametrize("seed", seeds(20))
def test_means_are_the_exact_sum_divided_either_way(both_ways: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(4001) ** rng.integers(1, 40) * rng.choice([-1, 1], 4001)
    for mean in both_ways(lambda: arrays.mean(values)):
        assert mean == math.fsum(values.tolist()) / 4001


@pytest.mark.parametrize("n_docs", [12, 40, 4000])
def test_a_doc_given_twice_is_found_either_way(both_ways: Any, n_docs: int) -> None:
    rng = np.random.default_rng(n_docs)
    found = []
    for _ in range(30):
        starts = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 20))])
        docs = np.concatenate([rng.permutation(n_docs)[:n] for n in np.diff(starts, append=starts[-1] + 3)])
        docs[rng.integers(0, docs.size)] = rng.integers(0, n_docs)
        stretches = np.split(docs, starts[1:])
        expected = any(len(set(each)) < len(each) for each in stretches)
        found.append(expected)
        values, begins = docs.astype(np.int16), starts
        assert [expected] * 2 == list(both_ways(partial(columns.has_repeat_within, values, begins)))
    assert len(set(found)) == 2 or n_docs == 4000
