"""Every format's golden file is recognised by content and gives its ranking, random ones or none; our own.

The golden files are made by make_golden.py: those of torch by torch 2.13.
"""

import json
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from brought import npy, put, refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from small_world import make_run as make_small

from examples import cases, examples
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.formats.runs import native
from fire_toolkit.formats.runs.axis_ids import IdFile
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.native import open_native_run, run_bytes
from fire_toolkit.formats.runs.read import open_run, read_run
from fire_toolkit.formats.runs.reader import READERS, recognise
from fire_toolkit.matching.ranking import rank_run, top
from fire_toolkit.tables import Run

pytestmark = pytest.mark.usefixtures("here")
GOLDEN = Path(__file__).parent / "golden"
QUERIES, DOCS = ["007", "q:1|x", "frage-ü"], ["NA", "d10", "d9", "null"]
RANKED = {
    "007": ["d9", "NA", "d10", "null"],
    "q:1|x": ["null", "d9", "d10", "NA"],
    "frage-ü": ["d10", "d9", "null", "NA"],
}
SCORES = {"007": [0.5, 0.5, 0.25, -1.0], "q:1|x": [4.0, 3.0, 2.0, 1.0], "frage-ü": [8.0, 0.125, 0.0, -0.5]}
WITHOUT_SCORES = {"cirr.json", "lists.jsonl", "ranks.csv", "places.csv"}
TORCH = ("float32", "float16", "bfloat16", "column_major", "view", "int16", "bare")
READ_BY = {
    "torch": [f"{name}.pt" for name in TORCH],
    "npz": ["stored.npz", "packed.npz", "turned.npz", "object_ids.npz", "padded.npz", "masked.npz"],
    "safetensors": ["plain.safetensors"],
    "npy": ["plain.npy", "fortran.npy", "big_endian.npy"],
    "pickle": [f"protocol{n}.pkl" for n in (2, 3, 4, 5)],
    "run": ["own.parquet"],  # of before row groups
    "parquet": ["long.parquet"],
    "jsonl": ["pairs.jsonl", "lists.jsonl"],
    "json": ["scores.json", "mteb.json", "cirr.json", "records.json"],
    "table": ["scores.csv", "scores.tsv", "ranks.csv"],
    "places": ["places.csv"],
    "trec": ["plain.run", "packed.run.gz"],
}
FILES = [(name, file) for name, files in READ_BY.items() for file in files]


def assert_comes_back(run: Run, again: Run, folder: Path) -> None:
    """What is written of a run reads back equal, and is the same of another reading."""
    assert run_bytes(run) == run_bytes(again)
    assert read_run(put(folder / "any", run_bytes(run))).equals(run)


@pytest.mark.parametrize(("reader", "file"), FILES)
def test_a_golden_file_gives_its_ranking_whatever_its_name(reader: str, file: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(GOLDEN / file, tmp_path / "predictions.bin"))
    assert reader == recognise(path).name
    ids = Request(query_ids=QUERIES, doc_ids=DOCS)
    ingested = ingest(path, ids)
    run = ingested.run
    for query, docs in RANKED.items():
        rows = run[run["query_id"] == query]
        assert docs == list(rows["doc_id"])
        assert list(rows["rank"]) == [1, 2, 3, 4]
        scale = 8 if file == "int16.pt" else 1
        expected = [-1, -2, -3, -4] if file in WITHOUT_SCORES else [scale * s for s in SCORES[query]]
        assert expected == list(rows["score"])
    assert len(run) == 12
    assert ingested.report["tied_in_top"] == (file not in WITHOUT_SCORES)
    assert_comes_back(run, ingest(path, ids).run, tmp_path)


def test_every_reader_has_a_golden_file() -> None:
    assert set(READERS) == {*READ_BY, "trecvid"}


@pytest.mark.parametrize("file", ["stored.npz", "object_ids.npz", "float32.pt", "protocol4.pkl"])
def test_ids_inside_the_file_are_taken_to_the_letter(file: str) -> None:
    run = ingest(GOLDEN / file, Request()).run
    assert sorted(QUERIES) == list(run["query_id"].cat.categories)
    assert sorted(DOCS) == list(run["doc_id"].cat.categories)


def test_vectors_give_their_products() -> None:
    said = "give --similarity cosine, dot or l2"  # vectors of other lengths than 1: dot and cosine differ
    refused(said, ingest, GOLDEN / "vectors.npz", Request(), by=UsageError)
    run = ingest(GOLDEN / "vectors.npz", Request(similarity="dot")).run
    rows = run[run["query_id"] == "frage-ü"]
    assert (RANKED["frage-ü"], SCORES["frage-ü"]) == (list(rows["doc_id"]), list(rows["score"]))


def test_trecvid_orders_by_seqnum_and_names_topics_as_its_qrels_do(tmp_path: Path) -> None:
    result = ingest(GOLDEN / "avs.xml", Request())
    rows = result.run[["run_id", "query_id", "doc_id", "rank"]].astype({"rank": str}).agg(" ".join, axis=1)
    assert list(rows) == ["lab/1 1501 shot1_1 1", "lab/1 1501 shot2_9 2", "lab/1 1502 shot2_9 1"]
    assert any("1 + tNum" in note for note in result.notes)
    assert_comes_back(*(ingest(GOLDEN / "avs.xml", Request(run_id="r")).run for _ in range(2)), tmp_path)


def test_circo_ids_are_text_of_their_numbers_or_places_in_the_ids_given(tmp_path: Path) -> None:
    run, named = (
        ingest(GOLDEN / "circo.json", ids).run
        for ids in (Request(), Request(query_ids=IdFile(put(tmp_path / "ids.json", QUERIES), "query_id")))
    )
    assert list(run["query_id"]) == ["0", "0", "0", "1"]
    assert list(named["query_id"]) == [*["007"] * 3, "q:1|x"]
    assert list(run["doc_id"]) == list(named["doc_id"]) == ["12", "7", "100", "7"]


def test_a_square_matrix_of_no_declared_orientation_is_refused() -> None:
    ids = Request(query_ids=["a", "b", "c"], doc_ids=["d", "e", "f"])
    refused("3 × 3 is square", ingest, GOLDEN / "square.npy", ids, by=UsageError)


ALLOW = frozenset(["nan", "inf", "flood", "constant", "duplicates"])
STARTS = [b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\x80\x04", b"PAR1", b"\x1f\x8b\x08", b""]
STARTS += [b'{"q":', b"[", b"<videoAdhocSearchResults", b"q Q0 d 1 1 m\n", b"0,2,1\n"]
STARTS += [b"query_id,doc_id,score\n", b"query_id\tdoc_id\trank\n"]
REQUEST = Request(query_ids=QUERIES, doc_ids=DOCS, allow=ALLOW, similarity="dot", depth=2)


def read(content: bytes) -> None:
    """A file is a run in the one order, or is refused; nothing else is left in its folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / "m", content)
        for reading in (lambda: ingest(path, REQUEST).run, lambda: read_run(path)):
            try:
                found = reading()
            except FireError:
                continue
            by_rule = rank_run(found)
            for name in ("query_id", "doc_id"):
                assert by_rule[name].astype(str).tolist() == found[name].astype(str).tolist()
        assert [entry.name for entry in Path(folder).iterdir()] == ["m"]


@settings(max_examples=examples(200))
@given(
    start=st.sampled_from(STARTS),
    rest=st.one_of(st.binary(max_size=200), st.text(max_size=80).map(str.encode)),
)
def test_arbitrary_bytes(start: bytes, rest: bytes) -> None:
    read(start + rest)


@settings(max_examples=examples(100))
@given(
    shape=st.lists(st.integers(0, 4), max_size=5),
    dtype=st.sampled_from(["f2", "<f4", ">f8", "f16", "i1", "u8", "?", "c8", "U3", "S2", "M8[s]", "O"]),
    order=st.sampled_from("CF"),
)
@example(shape=[0, 0], dtype="f2", order="C")
def test_arrays_of_any_shape_and_kind(shape: list[int], dtype: str, order: Literal["C", "F"]) -> None:
    read(npy(np.zeros(shape, dtype=dtype, order=order)))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150))
@given(value=JSON)
def test_arbitrary_json(value: object) -> None:
    read(json.dumps(value).encode())


IDS = st.text(max_size=3)


@settings(max_examples=examples(100))
@given(
    rows=st.lists(st.tuples(IDS, IDS, st.floats().map(str) | st.text(max_size=4)), max_size=5),
    mark=st.sampled_from(",\t"),
)
def test_arbitrary_tables(rows: list[tuple[str, str, str]], mark: str) -> None:
    text = "\n".join(mark.join(row) for row in [("query_id", "doc_id", "score"), *rows])
    read(text.encode("utf-8", errors="surrogatepass"))


@given(start=st.binary(max_size=64))
def test_sniffing_never_fails_on_bytes_that_are_no_zip_or_parquet(start: bytes) -> None:
    if not start.startswith((b"PK", b"PAR1")):
        for reader in READERS.values():
            assert reader.sniff(start, Path("none")) in (True, False)


@pytest.mark.parametrize(
    "repeated", [b"\r", b"\n", b" ", b"\r\n", b"{} ", b"[]\n", b"1,", b"1 ", b"<!DOCTYPE "]
)
def test_sniffing_looks_at_each_byte_a_few_times(repeated: bytes) -> None:
    start, begun = (repeated * (1 << 16))[: 1 << 16], time.process_time()
    for reader in READERS.values():
        reader.sniff(start, Path("none"))
    assert time.process_time() - begun < 5  # a look from each byte to the last takes 20 s


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


@cases("columns", "said")
def test_what_no_run_has_is_refused(columns: dict[str, list[object]], said: str) -> None:
    path = rewritten(stored(make_small({"q1": {"a": 2, "b": 1}, "q2": {"a": 1}})), **{**RIGHT, **columns})
    refused(said, read_run, path)
    refused(said, lambda: list(open_native_run(path).blocks()))


def test_what_reads_ahead_ends_with_a_run_that_is_left_half_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_BLOCK_ROWS", 7)
    before, blocks = threading.active_count(), open_native_run(stored(make_run())).blocks()
    assert len(next(blocks).queries)
    assert threading.active_count() == before + 1
    blocks.close()
    assert threading.active_count() == before


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
