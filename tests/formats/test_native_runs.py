"""The toolkit's own file of a run: what is written is read back, whole or in blocks; damage is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from brought import put, refused
from pyarrow import parquet
from small_world import make_run as make_small

from fire_toolkit.formats.runs import native
from fire_toolkit.formats.runs.native import open_native_run, run_bytes
from fire_toolkit.formats.runs.read import open_run, read_run
from fire_toolkit.matching.ranking import rank_run, top
from fire_toolkit.tables import Run

pytestmark = pytest.mark.usefixtures("here")


def make_run(n_queries: int = 20, seed: int = 0) -> Run:
    """Return lists of one to nine docs, with ids of many alphabets and scores that float32 cannot hold."""
    random = np.random.default_rng(seed)
    rows = [
        ("m", f"q:{number}|é", f"日{doc}", random.random())
        for number in range(n_queries)
        for doc in random.permutation(40)[: random.integers(1, 10)]
    ]
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


def stored(run: Run, name: str = "run.parquet") -> Path:
    return put(name, run_bytes(run))


@pytest.mark.parametrize("block_rows", [1, 7, 1 << 20])
def test_a_run_in_any_number_of_row_groups_is_read_back(
    monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr(native, "_BLOCK_ROWS", block_rows)
    run = make_run()
    path = stored(run)
    n_groups = parquet.ParquetFile(path).metadata.num_row_groups
    assert n_groups == {1: 20, 7: -(-20 // (7 * 20 // len(run) or 1)), 1 << 20: 1}[block_rows]
    pd.testing.assert_frame_equal(run, read_run(path))
    blocks = list(open_native_run(path).blocks())
    assert [query for block in blocks for query in block.queries] == list(run["query_id"].cat.categories)
    docs = [doc for block in blocks for doc in block.docs[block.doc]]
    assert docs == list(run["doc_id"])


def test_a_large_row_group_is_read_in_parts_and_other_tools_read_lists_of_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run()
    path = stored(run)
    table = pd.read_parquet(path)
    assert list(table.columns) == ["query_id", "doc_ids", "ranks", "scores"]
    assert [doc for docs in table["doc_ids"] for doc in docs] == list(run["doc_id"])
    assert parquet.ParquetFile(path).metadata.num_row_groups == 1
    monkeypatch.setattr(native, "_BLOCK_BYTES", 200)
    assert len(list(open_native_run(path).blocks())) > 3
    pd.testing.assert_frame_equal(run, read_run(path))


def test_the_top_of_a_file_is_the_top_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_BLOCK_ROWS", 7)
    run = make_run()
    late = run["query_id"] == run["query_id"].iloc[0]  # nothing was ranked above its positive
    gapped = run["query_id"] == run["query_id"].iloc[-1]
    rank = run["rank"] + 50 * late + (gapped & (run["rank"] > 1))
    path = stored(Run(run.assign(rank=rank)))
    for depth in (1, 2, 3, 100):
        expected, found = top(read_run(path), depth), read_run(path, depth=depth)
        pd.testing.assert_frame_equal(expected.astype({"doc_id": "str"}), found.astype({"doc_id": "str"}))
        assert list(found["query_id"].cat.categories) == list(run["query_id"].cat.categories)


def test_only_the_own_file_is_left_unread_and_may_be_renamed() -> None:
    path = stored(make_run())
    opened = open_run(path, run_id="other")
    assert (type(opened).__name__, opened.run_id) == ("NativeRunFile", "other")
    assert isinstance(open_run(put("run.txt", "q1 Q0 d1 1 1.0 m\n")), pd.DataFrame)


def rewritten(path: Path, **columns: list[object]) -> Path:
    """Write the file again with other columns, checksums and all."""
    table = parquet.ParquetFile(path).read()
    for name, values in columns.items():
        at, kind = table.column_names.index(name), table.schema.field(name).type
        can_lack = pa.list_(kind.value_type) if pa.types.is_list(kind) else kind  # as files of 0.1 say
        table = table.set_column(at, name, pa.array(values, type=can_lack))
    about = json.dumps({"version": 1, "run_id": "m"})
    with parquet.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.add_key_value_metadata({"fire_toolkit.run": about})
        writer.write_table(table)
    return path


RIGHT = {"query_id": ["q1", "q2"], "doc_ids": [["a", "b"], ["a"]], "ranks": [[1, 2], [1]]}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"query_id": ["q2", "q1"]}, "queries that are not sorted"),
        ({"query_id": ["q1", "q1"]}, "queries that are not sorted"),
        ({"query_id": ["q1", "q 2"]}, "invalid ids"),
        ({"query_id": ["", "q2"]}, "invalid ids"),
        ({"query_id": ["q1", None]}, "a value is missing"),
        ({"doc_ids": [["a", "a"], ["a"]]}, "a doc twice under a query"),
        ({"doc_ids": [["a", " "], ["a"]]}, "invalid ids"),
        ({"doc_ids": [["a", None], ["a"]]}, "a value is missing"),
        ({"doc_ids": [["a"], ["a", "b"]]}, "lists of different lengths"),
        ({"doc_ids": [["a", "b"], []], "ranks": [[1, 2], []], "scores": [[2, 1], []]}, "without a doc"),
        ({"ranks": [[2, 1], [1]]}, "ranks that do not follow the scores"),
        ({"ranks": [[0, 1], [1]]}, "ranks that do not follow the scores"),
        ({"ranks": [[1, 1], [1]]}, "ranks that do not follow the scores"),
        ({"ranks": [[1, None], [1]]}, "a value is missing"),
        ({"ranks": [[1, 2], None]}, "a value is missing"),
        ({"scores": [[1.0, 2.0], [1.0]]}, "ranks that do not follow the scores"),
        ({"scores": [[1.0, float("nan")], [1.0]]}, "ranks that do not follow the scores"),
        ({"scores": [[2.0, 1.0], [float("nan")]]}, "ranks that do not follow the scores"),
        ({"scores": [[float("inf"), 1.0], [1.0]]}, "ranks that do not follow the scores"),
    ],
)
def test_what_no_run_has_is_refused(columns: dict[str, list[object]], said: str) -> None:
    path = rewritten(stored(make_small({"q1": {"a": 2, "b": 1}, "q2": {"a": 1}})), **{**RIGHT, **columns})
    refused(said, read_run, path)
    refused(said, lambda: list(open_native_run(path).blocks()))


def test_runs_read_by_turns_keep_their_own_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_BLOCK_ROWS", 7)
    run = make_run()
    others = {
        "queries": Run(run.assign(query_id=run["query_id"].cat.rename_categories(lambda name: f"p{name}"))),
        "docs": Run(run.assign(doc_id=run["doc_id"].cat.rename_categories(lambda name: f"x{name}"))),
        "same": run,
    }
    files = {name: stored(other, f"{name}.parquet") for name, other in others.items()}
    for blocks in zip(*(open_native_run(files[name]).blocks() for name in others), strict=True):
        for name, block in zip(others, blocks, strict=True):
            rows = others[name][others[name]["query_id"].isin(block.queries)]
            assert list(block.docs[block.doc]) == list(rows["doc_id"])
            assert list(block.queries[block.query]) == list(rows["query_id"])
