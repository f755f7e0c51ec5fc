"""Every format's golden file is recognised by content and gives the ranking it holds.

The files are made by make_golden.py: those of torch by torch 2.13.
"""

import shutil
from pathlib import Path

import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import READERS, recognise

GOLDEN = Path(__file__).parent / "golden"
QUERIES, DOCS = ["007", "q:1|x", "frage-ü"], ["NA", "d10", "d9", "null"]
RANKED = {
    "007": ["d9", "NA", "d10", "null"],
    "q:1|x": ["null", "d9", "d10", "NA"],
    "frage-ü": ["d10", "d9", "null", "NA"],
}
SCORES = {"007": [0.5, 0.5, 0.25, -1.0], "q:1|x": [4.0, 3.0, 2.0, 1.0], "frage-ü": [8.0, 0.125, 0.0, -0.5]}
WITHOUT_SCORES = {"cirr.json", "lists.jsonl", "ranks.csv", "places.csv"}
READ_BY = {
    "torch": [
        *("float32.pt", "float16.pt", "bfloat16.pt", "column_major.pt", "view.pt", "int16.pt", "bare.pt"),
    ],
    "npz": ["stored.npz", "packed.npz", "turned.npz", "object_ids.npz", "padded.npz", "masked.npz"],
    "safetensors": ["plain.safetensors"],
    "npy": ["plain.npy", "fortran.npy", "big_endian.npy"],
    "pickle": [f"protocol{n}.pkl" for n in (2, 3, 4, 5)],
    "run": ["own.parquet"],
    "parquet": ["long.parquet"],
    "jsonl": ["pairs.jsonl", "lists.jsonl"],
    "json": ["scores.json", "mteb.json", "cirr.json", "records.json"],
    "table": ["scores.csv", "scores.tsv", "ranks.csv"],
    "places": ["places.csv"],
    "trec": ["plain.run", "packed.run.gz"],
}
FILES = [(name, file) for name, files in READ_BY.items() for file in files]


@pytest.mark.parametrize(("reader", "file"), FILES)
def test_a_golden_file_gives_its_ranking_whatever_its_name(reader: str, file: str, tmp_path: Path) -> None:
    shutil.copy(GOLDEN / file, tmp_path / "predictions.bin")
    assert reader == recognise(tmp_path / "predictions.bin").name
    ingested = ingest(tmp_path / "predictions.bin", Request(query_ids=QUERIES, doc_ids=DOCS))
    run = ingested.run
    for query, docs in RANKED.items():
        rows = run[run["query_id"] == query]
        assert docs == list(rows["doc_id"])
        assert list(rows["rank"]) == [1, 2, 3, 4]
        scale = 8 if file == "int16.pt" else 1
        expected = [-1, -2, -3, -4] if file in WITHOUT_SCORES else [scale * s for s in SCORES[query]]
        assert expected == list(rows["score"])
    assert len(run) == 12
    ties = 0 if file in WITHOUT_SCORES else 1
    assert ties == ingested.report["tied_in_top"]


def test_every_reader_has_a_golden_file() -> None:
    assert set(READERS) == {*READ_BY, "trecvid"}


@pytest.mark.parametrize("file", ["stored.npz", "object_ids.npz", "float32.pt", "protocol4.pkl"])
def test_ids_inside_the_file_are_taken_to_the_letter(file: str) -> None:
    run = ingest(GOLDEN / file, Request()).run
    assert sorted(QUERIES) == list(run["query_id"].cat.categories)
    assert sorted(DOCS) == list(run["doc_id"].cat.categories)


@pytest.mark.parametrize("similarity", ["dot", None])
def test_vectors_give_their_products(similarity: str | None) -> None:
    request = Request(similarity=similarity)
    if similarity is None:  # the text vectors are not of length 1: dot and cosine differ
        with pytest.raises(UsageError, match="give --similarity cosine, dot or l2"):
            ingest(GOLDEN / "vectors.npz", request)
        return
    run = ingest(GOLDEN / "vectors.npz", request).run
    assert RANKED["frage-ü"] == list(run[run["query_id"] == "frage-ü"]["doc_id"])
    assert SCORES["frage-ü"] == list(run[run["query_id"] == "frage-ü"]["score"])


def test_trecvid_orders_by_seqnum_and_names_topics_as_its_qrels_do() -> None:
    result = ingest(GOLDEN / "avs.xml", Request())
    rows = result.run[["run_id", "query_id", "doc_id", "rank"]].astype({"rank": str}).agg(" ".join, axis=1)
    assert list(rows) == ["lab/1 1501 shot1_1 1", "lab/1 1501 shot2_9 2", "lab/1 1502 shot2_9 1"]
    assert any("1 + tNum" in note for note in result.notes)


def test_circo_ids_are_text_of_their_numbers() -> None:
    run = ingest(GOLDEN / "circo.json", Request()).run
    assert list(zip(run["query_id"], run["doc_id"], strict=True)) == [
        ("0", "12"),
        ("0", "7"),
        ("0", "100"),
        ("1", "7"),
    ]


def test_a_square_matrix_of_no_declared_orientation_is_refused() -> None:
    with pytest.raises(UsageError, match="3 × 3 is square"):
        ingest(GOLDEN / "square.npy", Request(query_ids=["a", "b", "c"], doc_ids=["d", "e", "f"]))


@pytest.mark.parametrize("file", ["stored.npz", "plain.run", "cirr.json", "avs.xml"])
def test_what_is_written_reads_back_equal_and_twice_the_same(file: str, tmp_path: Path) -> None:
    run = ingest(GOLDEN / file, Request(run_id="r")).run
    written = run_bytes(run)
    assert written == run_bytes(ingest(GOLDEN / file, Request(run_id="r")).run)
    (tmp_path / "any").write_bytes(written)
    assert read_run(tmp_path / "any").equals(run)
