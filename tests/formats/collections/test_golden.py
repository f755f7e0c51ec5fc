"""Every collection format against files as a person would write its result: golden/collections/<case>."""

import gzip
from functools import cache
from pathlib import Path

import pytest
from brought import put

from examples import some
from fire_toolkit.collections import Collection
from fire_toolkit.formats.collections.registry import READERS, ReadCollection, read_collection
from fire_toolkit.formats.written import delimited_text, trec_qrels_text

SPLITS = {"youcook2": "validation"}
CASES = sorted((Path(__file__).parents[2] / "golden" / "collections").iterdir())


def texts(collection: Collection) -> dict[str, str]:
    found = {
        "queries.tsv": delimited_text(collection.queries, delimiter="\t"),
        "items.tsv": delimited_text(collection.items, delimiter="\t"),
        "qrels.txt": trec_qrels_text(collection.qrels),
        "groups.tsv": delimited_text(collection.groups, delimiter="\t") if len(collection.groups) else "",
        "qrels.target.txt": trec_qrels_text(collection.targets) if len(collection.targets) else "",
    }
    return {name: text for name, text in found.items() if text}


@cache
def read(case: Path) -> ReadCollection:
    """What the input of a case is read as, once for all tests; not to be changed."""
    return read_collection([case / "input"], split=SPLITS.get(case.name))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_benchmark_becomes_the_tables_of_its_golden_case(case: Path) -> None:
    expected = {path.name: path.read_text() for path in (case / "expected").iterdir()}
    notes = expected.pop("notes.txt").splitlines()
    collection, recognised = read(case)
    assert expected == texts(collection)
    found = [note.replace(f"{case}/", "") for note in collection.notes]
    assert notes == [f"{each.path.name}: {each.reader}" for each in recognised] + found


@pytest.mark.parametrize("case", some(CASES, 8), ids=lambda case: case.name)
def test_it_is_read_gzipped_too_and_in_any_order(case: Path, tmp_path: Path) -> None:
    collection, recognised = read(case)
    packed = []
    for found in recognised:
        path = tmp_path / found.path.name  # no suffix is added: content alone tells
        path.write_bytes(gzip.compress(found.path.read_bytes()))
        packed.append(path)
    assert texts(collection) == texts(read_collection(packed[::-1], split=SPLITS.get(case.name))[0])


def test_every_format_has_a_golden_case() -> None:
    used = {found.reader for case in CASES for found in read(case)[1]}
    assert {reader.name for reader in READERS.values()} == used


def test_parquet_files_of_corpus_queries_and_qrels_are_read(tmp_path: Path) -> None:
    put(tmp_path / "corpus" / "c.parquet", {"_id": ["007", "NA"], "title": ["", "T"], "text": ["a", "b"]})
    put(tmp_path / "queries" / "q.parquet", {"_id": ["q"], "text": ["ask"]})
    put(tmp_path / "qrels" / "test.parquet", {"query-id": ["q"], "corpus-id": ["NA"], "score": [1.0]})
    collection, _ = read_collection([tmp_path])
    pictures = [{"bytes": b"\xff\xd8", "path": None}] * 2  # as Hugging Face keeps them
    put(tmp_path / "corpus" / "c.parquet", {"id": ["007", "NA"], "modality": ["x"] * 2, "image": pictures})
    assert read_collection([tmp_path])[0].items["doc_id"].tolist() == ["007", "NA"]
    captions = {"image": pictures, "caption": [["a", "b"], ["c"]], "filename": ["1.jpg", "2.jpg"]}
    found = read_collection([put(tmp_path / "captions.parquet", captions)])[0]
    assert found.qrels["doc_id"].tolist() == ["1.jpg", "1.jpg", "2.jpg"]
    assert collection.items["doc_id"].tolist() == ["007", "NA"]
    assert trec_qrels_text(collection.qrels) == "q 0 NA 1\n"
