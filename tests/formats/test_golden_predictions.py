"""Every format's golden file is recognised by content and gives the ranking it holds; random ones, or no run.

The golden files are made by make_golden.py: those of torch by torch 2.13.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from brought import npy, put, refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import READERS, recognise
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Run

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
    said = (
        "give --similarity cosine, dot or l2"  # the text vectors are not of length 1: dot and cosine differ
    )
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


def test_circo_ids_are_text_of_their_numbers_or_places_in_the_ids_given() -> None:
    run, named = (
        ingest(GOLDEN / "circo.json", ids).run
        for ids in (Request(), Request(query_ids=QUERIES, doc_ids=[str(n) for n in range(101)]))
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
