"""One ordering rule: score descending, then doc id descending; a query's own item is left out of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import fire_toolkit as fire
from examples import examples
from fire_toolkit import arrays
from fire_toolkit.errors import TableError
from fire_toolkit.formats.runs.native import NativeRunFile, run_bytes
from fire_toolkit.matching.own_items import LeftOut, OwnItemRule, drop_own_items, own_items_of
from fire_toolkit.matching.ranking import rank_run, ranks_in_rows, split_runs, top, top_of_rows
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_qrels, check_queries

DOCS = ["007", "7", "NA", "a", "é", "日本", "q:1|x", "🙂"]
SCORES = [0.0, -0.0, 1.0, 1.0, -1e300, 1e300, 1e-300, 0.5]


def scored(pairs: list[tuple[str, str, float]], run_id: str = "m") -> pd.DataFrame:
    return pd.DataFrame(pairs, columns=["query_id", "doc_id", "score"]).assign(run_id=run_id)


def lists(run: Run) -> dict[str, list[str]]:
    return {str(query): list(rows["doc_id"]) for query, rows in run.groupby("query_id", observed=True)}


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("pq"), st.sampled_from(DOCS)), st.sampled_from(SCORES), min_size=1
    ),
    st.randoms(),
)
def test_the_order_is_that_of_a_plain_python_sort(scores: dict[tuple[str, str], float], random: Any) -> None:
    rows = [(query, doc, score) for (query, doc), score in scores.items()]
    expected: dict[str, list[str]] = {}
    for query, doc, _ in sorted(rows, key=lambda row: (row[2], row[1].encode()), reverse=True):
        expected.setdefault(query, []).append(doc)
    random.shuffle(rows)
    run = rank_run(scored(rows))
    assert expected == lists(run)
    for _, group in run.groupby("query_id", observed=True):
        assert list(range(1, len(group) + 1)) == list(group["rank"])


def test_the_rank_that_a_file_gives_is_not_used() -> None:
    run = rank_run(scored([("q", "a", 1.0), ("q", "b", 2.0)]).assign(rank=0))
    assert lists(run) == {"q": ["b", "a"]}


@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from(DOCS)), min_size=1), st.integers(1, 9))
def test_a_doc_twice_under_a_query_is_refused_wherever_it_stands(
    pairs: list[tuple[str, str]], part: int
) -> None:
    table = scored([(*pair, float(n)) for n, pair in enumerate(pairs)])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(arrays, "_PART", part)
        if len({*pairs}) < len(pairs):
            refused("given twice", rank_run, table, by=TableError)
        else:
            assert {query: [d for q, d in pairs[::-1] if q == query] for query, _ in pairs} == lists(
                rank_run(table)
            )


def test_top_keeps_the_first_ranks() -> None:
    run = rank_run(scored([("q", doc, float(n)) for n, doc in enumerate("abcd")]))
    assert lists(top(run, 2)) == {"q": ["d", "c"]}


def test_the_top_of_an_empty_run_is_empty(tmp_path: Path) -> None:
    empty = rank_run(scored([]))
    (path := tmp_path / "m.parquet").write_bytes(run_bytes(empty))
    for found in (top(empty, 2), NativeRunFile(path, "m").top(2)):
        assert found.empty


def test_a_table_of_several_runs_is_split_in_order_and_a_name_twice_refused() -> None:
    one, two = rank_run(scored([("q", "a", 1.0)], "z")), rank_run(scored([("q", "a", 1.0)], "b"))
    assert list(split_runs([one, two])) == ["z", "b"]
    both = Run(pd.concat([one.astype({"run_id": "str"}), two.astype({"run_id": "str"})]))
    assert list(split_runs(rank_run(both))) == ["b", "z"]
    refused("run 'b' is given twice", split_runs, [two, two], by=TableError)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float16, np.float64]))
@example(3, 0, np.float32)  # 0.0 and -0.0, which are one score, where their bits are compared
def test_the_top_of_a_matrix_is_that_of_a_full_sort(depth: int, seed: int, dtype: Any) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-2, 2, size=(4, 6)).astype(dtype)
    scores[scores == 0] = random.choice([0.0, -0.0], (scores == 0).sum())
    tie_codes = random.permutation(6).astype(np.int64)
    expected = [sorted(range(6), key=lambda c: (-scores[row, c], -tie_codes[c]))[:depth] for row in range(4)]
    assert expected == top_of_rows(scores, depth, tie_codes).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [7, 32, 90])
@pytest.mark.parametrize("n_values", [3, 40, 10**6])
@pytest.mark.parametrize("n_cells", [30, 200])  # of few cells rows are compared, of many sorted
def test_ranks_in_rows_are_places_in_the_sorted_row(
    n_cells: int, n_values: int, n_columns: int, dtype: Any
) -> None:
    rng = np.random.default_rng(n_values)
    scores, codes = rng.integers(0, n_values, (40, n_columns)).astype(dtype), rng.permutation(n_columns)
    scores[scores == 0] = rng.choice([0.0, -0.0, -np.inf], (scores == 0).sum())
    rows, columns = rng.integers(0, 40, n_cells), rng.integers(0, n_columns, n_cells)
    cells = list(zip(rows, columns, strict=True))
    in_order = [np.lexsort([-codes, -scores[row]]).tolist() for row in range(40)]
    rank, first, n_equal = ranks_in_rows(scores, rows, columns, codes)
    assert [in_order[row].index(column) + 1 for row, column in cells] == list(rank)
    assert [1 + (scores[row] > scores[row, column]).sum() for row, column in cells] == list(first)
    assert [(scores[row] == scores[row, column]).sum() for row, column in cells] == list(n_equal)


QUERIES, SIX = ["q0", "q1", "q2"], [f"d{n}" for n in range(6)]
cells = st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=3, max_size=3)
named = st.dictionaries(st.sampled_from(QUERIES), st.sampled_from([*SIX, "elsewhere"]))


def run_of(cells: Any, own: dict[str, str] | None = None, depth: int = 6) -> Run:
    """The run of a matrix without the cells of own items, which are never scored."""
    rows = [
        ("m", query, doc, score)
        for query, row in zip(QUERIES, cells, strict=True)
        for doc, score in zip(SIX, row, strict=True)
        if (own or {}).get(query) != doc
    ]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"], dtype=object))
    return Run(run[run["rank"] <= depth].reset_index(drop=True))


def rows_of(run: Run) -> list[tuple[Any, ...]]:
    return list(run.astype({"query_id": "str", "doc_id": "str"}).itertuples(index=False, name=None))


def make_qrels(pairs: list[tuple[str, str, int]]) -> Qrels:
    return check_qrels(pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"]))


@given(cells, named)
def test_the_docs_below_the_own_item_move_up_by_one(cells: Any, own: dict[str, str]) -> None:
    whole, told = run_of(cells), []
    before = whole.copy()
    assert rows_of(run_of(cells, own)) == rows_of(drop_own_items(whole, own, tell=told.append))
    assert [LeftOut(sum(doc in SIX for doc in own.values()), 0)] == told
    pd.testing.assert_frame_equal(before, whole)


@given(cells, named, st.sampled_from([None, "index", "average"]))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_in_files_and_matrices_as_they_lie_give_the_same_scores(
    tmp_path: Path, cells: Any, own: dict[str, str], ties: str | None
) -> None:
    np.save(tmp_path / "m.npy", np.array(cells, dtype=np.float32))
    (tmp_path / "m.query_ids.txt").write_text("\n".join(QUERIES))
    (tmp_path / "m.doc_ids.txt").write_text("\n".join(SIX))
    (tmp_path / "m.parquet").write_bytes(run_bytes(run_of(cells)))
    qrels = make_qrels([("q0", "d1", 1), ("q0", "d2", 1), ("q1", "d3", 1), ("q2", "d0", 0)])
    asked = (qrels, ["C@1", "AP", "MnR", "nDCG", "Judged@2"])
    expected = score_runs(run_of(cells, own), *asked, per_query=True, ties=ties, doc_order=SIX)
    for name in ("m.parquet", "m.npy"):
        told: list[LeftOut] = []
        run = drop_own_items(fire.open_run(tmp_path / name), own, tell=told.append)
        found = score_runs(run, *asked, per_query=True, ties=ties, doc_order=SIX)
        assert not isinstance(run, pd.DataFrame)
        pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
        assert expected.notes == found.notes
        assert [sum(doc in SIX for doc in own.values())] == [each.n_queries for each in told]


def test_a_positive_below_the_top_moves_up_where_the_own_item_stands_above_it(tmp_path: Path) -> None:
    scored = {"run_id": "m", "query_id": ["q", "q", "q", "r", "r"], "doc_id": ["a", "o", "p", "a", "p"]}
    run = Run(rank_run(pd.DataFrame({**scored, "score": -1.0})).assign(rank=[1, 2, 9, 1, 9]))
    run = Run(run.assign(doc_id=pd.Categorical(scored["doc_id"])))
    (tmp_path / "m.parquet").write_bytes(run_bytes(run))
    told: list[LeftOut] = []
    dropped = drop_own_items(run, {"q": "o", "r": "o"}, tell=told.append)
    expected = [("q", "a", 1), ("q", "p", 8), ("r", "a", 1), ("r", "p", 9)]
    assert [row[1:4] for row in rows_of(dropped)] == expected
    stored = drop_own_items(fire.open_run(tmp_path / "m.parquet"), {"q": "o", "r": "o"}, tell=told.append)
    assert isinstance(stored, NativeRunFile)
    assert [rank for block in stored.blocks() for rank in block.rank if rank > 1] == [8, 9]
    assert [LeftOut(1, 1), LeftOut(1, 1)] == told  # of r it is not known whether o stands above p


def test_a_list_that_holds_nothing_else_is_a_query_that_the_run_lacks(tmp_path: Path) -> None:
    rows = {"run_id": "m", "query_id": ["q", "r"], "doc_id": ["o", "a"], "score": 1.0}
    run = rank_run(pd.DataFrame(rows))
    (tmp_path / "m.parquet").write_bytes(run_bytes(run))
    qrels = make_qrels([("q", "a", 1), ("r", "a", 1)])
    for source in (run, fire.open_run(tmp_path / "m.parquet")):
        scoring = score_runs(drop_own_items(source, {"q": "o"}), qrels, ["C@1"])
        assert scoring.scores["value"].tolist() == [0.5]
        said = "m: 1 of 2 queries of the qrels missing from the run; they score 0"
        assert [*map(str, scoring.notes)] == [said]


def test_queries_name_their_own_items_in_the_column_reference() -> None:
    table = {"query_id": ["a", "b", "c"], "text": "t"}
    assert own_items_of(check_queries(pd.DataFrame(table))) == {}
    queries = check_queries(pd.DataFrame({**table, "reference": ["x", "", None]}))
    assert own_items_of(queries) == {"a": "x"}


def test_own_pairs_leave_the_qrels_but_no_query_does() -> None:
    qrels = make_qrels([("q", "o", 1), ("q", "a", 1), ("r", "r", 1)])
    found = OwnItemRule({"q": "o", "r": "r"}, True, "").qrels(qrels)
    assert [row[:3] for row in found.itertuples(index=False, name=None)] == [("q", "a", 1), ("r", "r", -1)]


@pytest.mark.slow
@given(cells, named, st.integers(1, 5))
def test_a_pool_is_that_of_runs_that_never_had_the_own_item(
    cells: Any, own: dict[str, str], depth: int
) -> None:
    runs = [run_of(cells), Run(run_of(cells[::-1]).assign(run_id=pd.Categorical(["n"] * 18)))]
    bare = [run_of(cells, own), run_of(cells[::-1], own)]
    bare[1] = Run(bare[1].assign(run_id=pd.Categorical(["n"] * len(bare[1]))))
    originals = make_qrels([(query, doc, 1) for query in QUERIES for doc in {*own.values()} & {*SIX}] or
                           [("q0", "d0", 1)])  # fmt: skip
    asked = {"depth": depth, "originals": originals}
    found = pool_runs(runs, **asked, include_originals=True, own_items=own)
    expected = pool_runs(bare, **asked).pool.set_index(["query_id", "doc_id"])
    pool = found.pool.set_index(["query_id", "doc_id"])
    assert not any((query, doc) in pool.index for query, doc in own.items())
    pd.testing.assert_frame_equal(expected[["best_rank"]], pool.loc[pool["n_runs"] > 0, ["best_rank"]])
    universe = set(originals["query_id"])
    in_top = [
        run[(run["rank"] <= depth) & (run["query_id"] == query) & (run["doc_id"] == doc)].size > 0
        for query, doc in own.items()
        if query in universe
        for run in [pd.concat(runs)]
    ]
    if own:
        assert sum(in_top) == found.counts["own_items"]


def test_the_same_own_items_come_as_queries_or_as_a_mapping() -> None:
    run = run_of([[5, 4, 3, 2, 1, 0]] * 3)
    queries = check_queries(pd.DataFrame({"query_id": ["q0"], "text": ["t"], "reference": ["d0"]}))
    found = (pool_runs(run, depth=1, own_items=own).pool for own in (queries, {"q0": "d0"}))
    for pool in found:
        expected = [("q0", "d1"), ("q1", "d0"), ("q2", "d0")]
        assert [*zip(pool["query_id"], pool["doc_id"], strict=True)] == expected


@pytest.mark.parametrize("own", [{}, {"q0": "elsewhere"}])
def test_nothing_changes_where_no_list_has_an_own_item(own: dict[str, str]) -> None:
    run = run_of([[5, 4, 3, 2, 1, 0]] * 3)
    assert drop_own_items(run, own) is run
