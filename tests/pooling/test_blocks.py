"""A pool of runs that are read a block at a time is the pool of the same runs whole."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run as fire
from parted import in_parts
from small_world import qrels_of

from examples import some
from fire_toolkit.formats.runs import native
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import open_run
from fire_toolkit.matching.joining import StoredRun
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.tables import Run, check_run

DEPTH = 3


def make_run(run_id: str, seed: int) -> Run:
    """Return lists of other queries, lengths and docs than the next run has; below some tops stand gaps."""
    random = np.random.default_rng(seed)
    rows = []
    for query in random.permutation(30)[: random.integers(16, 31)]:
        ranks = np.arange(1, random.integers(1, 7) + 1)
        ranks[-1] += random.integers(0, 2) * 40  # a positive that was kept below the top, or the only doc
        docs = random.permutation(25)[: len(ranks)]
        rows += [
            (run_id, f"q{query}", f"d{doc}", rank, -float(rank))
            for doc, rank in zip(docs, ranks, strict=True)
        ]
    return check_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "rank", "score"]))


RUNS = [make_run(run_id, seed) for seed, run_id in enumerate(["z", "a", "m"])]
QRELS = qrels_of({(f"q{n}", "d7"): (1, 0, 2)[n % 3] for n in range(3, 33)})
OWN = {f"q{n}": f"d{n % 5}" for n in range(0, 30, 2)}


def slow_sources(runs: list[Run], own: dict[str, str], queries: set[str] | None) -> list[tuple[object, ...]]:
    """Return what brought what, list by list: own items out, ranks closed up, docs to the first gap."""
    found = []
    for run in runs:
        lists: dict[str, dict[int, str]] = defaultdict(dict)
        for row in run.itertuples(index=False):
            lists[row.query_id][row.rank] = row.doc_id
        for query, docs in lists.items():
            at = next((rank for rank, doc in docs.items() if doc == own.get(query)), None)
            kept = {rank - (at is not None and rank > at): doc for rank, doc in docs.items() if rank != at}
            if queries is None or query in queries:
                for rank in range(1, DEPTH + 1):
                    if rank not in kept:
                        break
                    found.append((query, kept[rank], run["run_id"].iloc[0], rank))
    return sorted(found)


@pytest.fixture(params=[False, True], ids=["blocks", "parts"])
def stored(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[StoredRun]:
    """The same runs in files, of which a few rows are read at a time, or a few by each worker."""
    monkeypatch.setattr(native, "_BLOCK_ROWS", 9)
    for run in RUNS:
        (tmp_path / f"{run['run_id'].iloc[0]}.parquet").write_bytes(run_bytes(run))
    opened = [open_run(tmp_path / f"{name}.parquet") for name in "zam"]
    return [in_parts(run) for run in opened] if request.param else opened


@pytest.mark.parametrize("own", some([OWN, {}], 1), ids=["own_items", "whole"])
@pytest.mark.parametrize(
    "given", [{}, {"originals": QRELS, "include_originals": True}], ids=["", "originals"]
)
def test_blocks_of_stored_runs_give_the_pool_of_all(
    stored: list[StoredRun], own: dict[str, str], given: dict
) -> None:
    whole = pool_runs(RUNS, depth=DEPTH, own_items=own, **given)
    queries = set(QRELS["query_id"]) if given else None
    assert list(whole.pool_sources.itertuples(index=False, name=None)) == slow_sources(RUNS, own, queries)
    found = pool_runs(stored, depth=DEPTH, own_items=own, **given)
    assert found.counts == whole.counts
    pd.testing.assert_frame_equal(found.pool_sources, whole.pool_sources)
    pd.testing.assert_frame_equal(found.pool, whole.pool)


@pytest.mark.parametrize("strategy", some(["move-to-front", "settle(C@2)", "rrf", "settle(RR)"], 2))
def test_strategies_choose_from_blocks_what_they_choose_from_all(
    stored: list[StoredRun], strategy: str
) -> None:
    options: dict[str, Any] = {"depth": DEPTH, "strategy": strategy, "per_query": 2, "originals": QRELS}
    whole, found = (pool_runs(runs, include_originals=True, **options) for runs in (RUNS, stored))
    assert found.counts == whole.counts
    pd.testing.assert_frame_equal(found.pool, whole.pool)
    pd.testing.assert_frame_equal(found.stops, whole.stops)


def test_a_damaged_run_is_named_and_nothing_is_written(here: Path) -> None:
    (here / "z.parquet").write_bytes(run_bytes(RUNS[0]))
    (here / "b.parquet").write_bytes(run_bytes(RUNS[1])[:-9])
    assert "b.parquet" in fire("pool", "z.parquet", "b.parquet", "--out", "never", code=1).stderr
    assert {path.name for path in here.rglob("*")} == {"z.parquet", "b.parquet"}
