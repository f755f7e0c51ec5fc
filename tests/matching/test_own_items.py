"""A query's own item is left out of a ranking as if it had never been scored, whatever the ranking."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fire_toolkit as fire
from examples import examples
from fire_toolkit.formats.runs.native import NativeRunFile, run_bytes
from fire_toolkit.matching.own_items import LeftOut, OwnItemRule, drop_own_items, own_items_of
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.pooling import pool_runs
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_qrels, check_queries

QUERIES, DOCS = ["q0", "q1", "q2"], [f"d{n}" for n in range(6)]
cells = st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=3, max_size=3)
named = st.dictionaries(st.sampled_from(QUERIES), st.sampled_from([*DOCS, "elsewhere"]))


def run_of(cells: Any, own: dict[str, str] | None = None, depth: int = 6) -> Run:
    """The run of a matrix without the cells of own items, which are never scored."""
    rows = [
        ("m", query, doc, score)
        for query, row in zip(QUERIES, cells, strict=True)
        for doc, score in zip(DOCS, row, strict=True)
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
    assert [LeftOut(sum(doc in DOCS for doc in own.values()), 0)] == told
    pd.testing.assert_frame_equal(before, whole)


@given(cells, named, st.sampled_from([None, "index", "average"]))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_in_files_and_matrices_as_they_lie_give_the_same_scores(
    tmp_path: Path, cells: Any, own: dict[str, str], ties: str | None
) -> None:
    np.save(tmp_path / "m.npy", np.array(cells, dtype=np.float32))
    (tmp_path / "m.query_ids.txt").write_text("\n".join(QUERIES))
    (tmp_path / "m.doc_ids.txt").write_text("\n".join(DOCS))
    (tmp_path / "m.parquet").write_bytes(run_bytes(run_of(cells)))
    qrels = make_qrels([("q0", "d1", 1), ("q0", "d2", 1), ("q1", "d3", 1), ("q2", "d0", 0)])
    asked = (qrels, ["C@1", "AP", "MnR", "nDCG", "Judged@2"])
    expected = score_runs(run_of(cells, own), *asked, per_query=True, ties=ties, doc_order=DOCS)
    for name in ("m.parquet", "m.npy"):
        told: list[LeftOut] = []
        run = drop_own_items(fire.open_run(tmp_path / name), own, tell=told.append)
        found = score_runs(run, *asked, per_query=True, ties=ties, doc_order=DOCS)
        assert not isinstance(run, pd.DataFrame)
        pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
        assert expected.notes == found.notes
        assert [sum(doc in DOCS for doc in own.values())] == [each.n_queries for each in told]


def test_a_positive_below_the_top_moves_up_where_the_own_item_stands_above_it(tmp_path: Path) -> None:
    scored = {"run_id": "m", "query_id": ["q", "q", "q", "r", "r"], "doc_id": ["a", "o", "p", "a", "p"]}
    run = Run(rank_run(pd.DataFrame({**scored, "score": -1.0})).assign(rank=[1, 2, 9, 1, 9]))
    run = Run(run.assign(doc_id=pd.Categorical(scored["doc_id"])))
    (tmp_path / "m.parquet").write_bytes(run_bytes(run))
    told: list[LeftOut] = []
    dropped = drop_own_items(run, {"q": "o", "r": "o"}, tell=told.append)
    assert [row[1:4] for row in rows_of(dropped)] == [
        ("q", "a", 1),
        ("q", "p", 8),
        ("r", "a", 1),
        ("r", "p", 9),
    ]
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
        assert [*map(str, scoring.notes)] == [
            "m: 1 of 2 queries of the qrels missing from the run; they score 0"
        ]


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
    originals = make_qrels([(query, doc, 1) for query in QUERIES for doc in {*own.values()} & {*DOCS}] or
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
        assert [*zip(pool["query_id"], pool["doc_id"], strict=True)] == [
            ("q0", "d1"),
            ("q1", "d0"),
            ("q2", "d0"),
        ]


@pytest.mark.parametrize("own", [{}, {"q0": "elsewhere"}])
def test_nothing_changes_where_no_list_has_an_own_item(own: dict[str, str]) -> None:
    run = run_of([[5, 4, 3, 2, 1, 0]] * 3)
    assert drop_own_items(run, own) is run
