"""What is done in parts has the bytes of what is done whole, and is refused in the same words."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from parted import N_PARTS, done, here, in_parts

from examples import cases, some
from fire_toolkit.arrays import ranges_of
from fire_toolkit.engines.cluster import _refuse_another, rank_shared_vectors, shared_file, spread
from fire_toolkit.errors import FormatError, ServerError, TableError
from fire_toolkit.formats.runs import native
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import open_run, read_run
from fire_toolkit.matching.coded import code_qrels
from fire_toolkit.matching.own_items import LeftOut, drop_own_items
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, check_qrels

QUERIES = [f"q{n}" for n in (7, 3, 1, 0, 6, 2, 5)]  # not in the order of their ids
DOCS = [f"d{n}" for n in np.random.default_rng(1).permutation(40)]
MEASURES = ["C@1", "AP", "nDCG@10", "MedR", "Judged@5"]


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


@pytest.fixture
def qrels() -> Qrels:
    random = np.random.default_rng(2)
    pairs = [
        (q, d, int(random.integers(-1, 3)))
        for q in [*QUERIES[1:-1], "q9"]  # extra queries stand in the first part and the last
        for d in random.choice(DOCS, 6, False)
    ]
    return check_qrels(pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"]))


def matrix(folder: Path, seed: int, *, is_turned: bool = False) -> Path:
    """Write scores with many ties, under ids that stand beside them."""
    scores = np.random.default_rng(seed).integers(0, 9, (len(QUERIES), len(DOCS))).astype(np.float16)
    path = folder / f"m{seed}.npy"
    np.save(path, scores.T if is_turned else scores)
    for what, ids in (("query_ids", QUERIES), ("doc_ids", DOCS)):
        Path(folder, f"{path.stem}.{what}.txt").write_text("\n".join(ids))
    return path


def stored(folder: Path, seed: int) -> Path:
    """Write the top of such scores as the toolkit's own file, of several row groups."""
    path = folder / f"s{seed}.parquet"
    path.write_bytes(run_bytes(read_run(matrix(folder, seed), depth=12)))
    return path


MAKE = {"matrix": matrix, "columns": partial(matrix, is_turned=True), "stored": stored}


@pytest.fixture(scope="module", params=MAKE)
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "_BLOCK_ROWS", 20)
        yield [MAKE[request.param](tmp_path_factory.mktemp("runs"), seed) for seed in (1, 2)]


@pytest.fixture
def runs(paths: list[Path]) -> list[Any]:
    return [open_run(path) for path in paths]


def test_lists_with_gaps_joined_from_parts_are_as_long_as_in_the_whole(
    tmp_path: Path, qrels: Qrels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the top only positives are kept, so a list's last rank is not its length."""
    monkeypatch.setattr(native, "_BLOCK_ROWS", 5)
    path, coded = tmp_path / "gaps.parquet", code_qrels(qrels)
    run = ingest(matrix(tmp_path, 1), Request(query_ids=QUERIES, doc_ids=DOCS, qrels=qrels, depth=3)).run
    path.write_bytes(run_bytes(run))
    joined = in_parts(open_run(path)).rank_pairs(coded)
    ranks = [run.loc[run["query_id"] == query, "rank"].tolist() for query in coded.queries]
    lengths = [sum(rank == n for n, rank in enumerate(own, start=1)) for own in ranks]
    assert joined.n_retrieved.tolist() == lengths
    assert joined.last_rank.tolist() == [max(own, default=0) for own in ranks]
    assert (joined.last_rank > joined.n_retrieved).any()
    assert done == [N_PARTS]


@pytest.mark.filterwarnings("ignore::fire_toolkit.errors.FileNote")
@pytest.mark.parametrize("ties", some([None, "index", "average", "pessimistic"], 2))
@pytest.mark.parametrize("own", [{}, {q: f"d{q[1:]}" for q in QUERIES}], ids=["whole", "own_items"])
def test_scores_of_runs_in_parts_are_those_of_the_whole(
    runs: list[Any], qrels: Qrels, ties: str | None, own: dict[str, str]
) -> None:
    asked: dict[str, Any] = {"ties": ties, "doc_order": DOCS, "per_query": True}
    told: list[list[LeftOut]] = [[], []]
    whole = [drop_own_items(run, own, tell=told[0].append) if own else run for run in runs]
    parts = [in_parts(drop_own_items(run, own, tell=told[1].append) if own else run) for run in runs]
    expected, found = (score_runs(each, qrels, MEASURES, **asked) for each in (whole, parts))
    pd.testing.assert_frame_equal(found.scores, expected.scores, check_exact=True)
    assert found.notes == expected.notes
    assert told[1] == told[0]
    assert done == [N_PARTS] * 2
    assert len(told[0]) == (2 if own else 0)


@cases("asked", few=1)
@pytest.mark.parametrize("own", [None, {q: f"d{q[1:]}" for q in QUERIES}], ids=["whole", "own_items"])
def test_pools_of_runs_in_parts_are_those_of_the_whole(
    runs: list[Any], qrels: Qrels, asked: dict[str, Any], own: dict[str, str] | None
) -> None:
    asked = asked | {"originals": qrels, "own_items": own}
    expected, found = (pool_runs(each, **asked) for each in (runs, [in_parts(run) for run in runs]))
    pd.testing.assert_frame_equal(found.pool, expected.pool)
    pd.testing.assert_frame_equal(found.pool_sources, expected.pool_sources)
    assert found.counts == expected.counts
    assert done == [N_PARTS] * 2


def test_a_whole_list_is_read_here(runs: list[Any]) -> None:
    whole, parts = (list(run.blocks()) for run in (runs[0], in_parts(runs[0])))
    assert [block.doc.tolist() for block in parts] == [block.doc.tolist() for block in whole]
    assert done == []


def test_a_damaged_matrix_is_refused_with_its_place_in_the_whole(tmp_path: Path, qrels: Qrels) -> None:
    path = matrix(tmp_path, 1)
    scores = np.load(path)
    scores[[4, 6], 3] = np.nan
    np.save(path, scores)
    said = rf"2 scores are NaN \(the first at query q6, doc {DOCS[3]}\)"
    with pytest.raises(TableError, match=said):
        score_runs(in_parts(open_run(path)), qrels, ["C@1"])


@pytest.mark.parametrize("n_rows", [20, 36], ids=["parts_of_groups", "each_part_a_group"])
def test_a_stored_run_whose_parts_are_not_in_order_is_refused(
    tmp_path: Path, qrels: Qrels, monkeypatch: pytest.MonkeyPatch, n_rows: int
) -> None:
    """Each row group is in order, and the file is not: only the whole can tell."""
    from pyarrow import parquet

    monkeypatch.setattr(native, "_BLOCK_ROWS", n_rows)
    path = stored(tmp_path, 1)
    file = parquet.ParquetFile(path)
    groups = [file.read_row_group(n) for n in range(file.metadata.num_row_groups)]
    assert (len(groups) == N_PARTS) == (n_rows == 36)
    with parquet.ParquetWriter(path, file.schema_arrow) as writer:
        writer.add_key_value_metadata({native.KEY: file.metadata.metadata[native.KEY]})
        for group in reversed(groups):
            writer.write_table(group)
    for run in (open_run(path), in_parts(open_run(path))):
        refused("queries that are not sorted", score_runs, run, qrels, ["C@1"])


def test_an_array_in_a_pickle_is_not_sent_about(tmp_path: Path, qrels: Qrels) -> None:
    path = matrix(tmp_path, 1)
    held = tmp_path / "m1.pkl"
    held.write_bytes(pickle.dumps(np.load(path)))
    expected, found = (score_runs(run, qrels, MEASURES) for run in (open_run(path), in_parts(open_run(held))))
    pd.testing.assert_frame_equal(found.scores, expected.scores)
    assert done == []


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
def test_vectors_ranked_in_parts_are_ranked_as_all(tmp_path: Path, qrels: Qrels, similarity: str) -> None:
    random = np.random.default_rng(3)
    queries, docs = (random.integers(-2, 3, (len(ids), 4)) + 0.5 for ids in (QUERIES, DOCS))
    queries[5] = queries[1]  # one list twice, in two parts
    queries[6] = queries[4]  # and one in one
    files = [tmp_path / f"{name}.npy" for name in ("queries", "docs")]
    for file, vectors in zip(files, (queries, docs), strict=True):
        np.save(file, vectors)
    asked = Request(query_ids=QUERIES, doc_ids=DOCS, qrels=qrels, depth=5, similarity=similarity)
    parted = Request(**{**vars(asked), "rank_vectors": partial(rank_shared_vectors, here, files)})
    expected, found = (ingest(files[0], request, other=files[1]) for request in (asked, parted))
    assert run_bytes(found.run) == run_bytes(expected.run)
    assert found.report == expected.report
    assert found.report["duplicates"] == 2
    assert found.report["tied_in_top"] > 0
    assert done == [N_PARTS]


@pytest.mark.parametrize(
    ("same", "allow", "said"),
    [
        ([2, 6], "", r"one score for all docs in 2 queries \(q1\)"),
        ([2, 3, 4, 5, 6], "constant", r"4 of 7 queries repeat another's list \(q0 that of q1\)"),
        ([3], "cosine", "a vector is zero, which has no cosine"),
    ],
    ids=["constant", "duplicates", "no_cosine"],
)
def test_anomalies_of_parts_are_told_by_the_first_of_the_whole(
    tmp_path: Path, same: list[int], allow: str, said: str
) -> None:
    """A vector that is zero has the same product with all docs; it stands in parts behind the first."""
    random = np.random.default_rng(3)
    queries, docs = (random.random((len(ids), 4)) + 1 for ids in (QUERIES, DOCS))
    queries[same] = 0
    files = [tmp_path / f"{name}.npy" for name in ("queries", "docs")]
    for file, vectors in zip(files, (queries, docs), strict=True):
        np.save(file, vectors)
    similarity = allow if allow == "cosine" else "dot"
    asked = Request(query_ids=QUERIES, doc_ids=DOCS, depth=5, similarity=similarity, allow=frozenset({allow}))
    parted = Request(**{**vars(asked), "rank_vectors": partial(rank_shared_vectors, here, files)})
    for request in (asked, parted):
        with pytest.raises((FormatError, TableError), match=said):
            ingest(files[0], request, other=files[1])
    assert done == [N_PARTS] * (similarity == "dot")


def test_ranges_hold_each_place_once() -> None:
    for n in range(12):
        for most in range(1, 9):
            ranges = ranges_of(n, most)
            assert [place for a, b in ranges for place in range(a, b)] == list(range(n))
            assert len(ranges) == min(n, most)
            assert all(b - a in (n // len(ranges), n // len(ranges) + 1) for a, b in ranges)


def test_another_file_and_no_file_are_told_of(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.npy", tmp_path / "b.npy"
    path.write_bytes(b"scores")
    _, *about = shared_file(path)
    _refuse_another(path, *about)
    copy.write_bytes(b"scores")
    _refuse_another(copy, *about)  # as on another machine: the same bytes
    copy.write_bytes(b"Scores")
    os.utime(copy, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    said = "b.npy: the worker on ... sees another file (sha256 ... ; put the same"
    refused(said, _refuse_another, copy, *about, by=ServerError)
    copy.unlink()
    said = "b.npy: the worker on ... sees no such file; put the same file"
    refused(said, _refuse_another, copy, *about, by=ServerError)


def test_without_dask_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = "tcp://127.0.0.1:1: a cluster needs Dask: pip install distributed"
    refused(said, spread, "tcp://127.0.0.1:1", len, lambda n: [], [], by=ServerError)
