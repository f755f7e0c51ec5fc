"""A file of no known format is refused with what it seems to be, and what was expected."""

import gzip
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import fire_toolkit
from examples import cases
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import recognise

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"<!DOCTYPE html>\n<html><body>404: Not Found</body></html>"
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(32)
UTF16 = "query_id,doc_id,score\n".encode("utf-16")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (POINTER, "a pointer of Git LFS, not the file itself; fetch it with git lfs pull"),
        (PAGE, "a web page, not the file itself; download it again"),
        (UTF16, "text in UTF-16; save it as UTF-8"),
        (
            HDF5,
            "an HDF5 file, which is not read; save what it holds as .npy: "
            "numpy.save('sims.npy', h5py.File('sims.h5')['sims'])",
        ),
    ],
)
def test_what_is_not_the_file_is_told_by_both_commands(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    for reading in (lambda: recognise(tmp_path / "f"), lambda: read_collection([tmp_path / "f"])):
        with pytest.raises(FormatError) as caught:
            reading()
        assert str(caught.value) == f"{tmp_path / 'f'}: {said}"


@cases("line", "said")
def test_a_first_line_tells_what_was_expected(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(line)
    with pytest.raises(FormatError) as caught:
        recognise(tmp_path / "f")
    assert said in str(caught.value)


def line_to_type(reading: Callable[[Path], object], path: Path) -> str:
    """Return the line that a refusal tells to type."""
    with pytest.raises(FormatError) as caught:
        reading(path)
    return str(caught.value).partition("; if the best guess is right, type ")[2]


@cases("text", "header")
def test_a_table_without_a_header_is_refused_with_the_line_that_makes_it_one(
    text: str, header: str, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    path.write_text(text)
    for reading in (recognise, read_run):
        line = line_to_type(reading, path)
        assert line == f"sed -i '1i {header}' {path}"
    subprocess.run(shlex.split(line), check=True)
    run = read_run(path)
    assert run["rank"].tolist() == [1, 2]
    assert run["query_id"].iloc[0] == text[: len(run["query_id"].iloc[0])]


@cases("header", "query", "doc")
def test_a_table_with_the_usual_names_of_a_collection_is_a_run(
    header: str, query: str, doc: str, tmp_path: Path
) -> None:
    mark = ";" if ";" in header else ","
    names, path = header.split(mark), tmp_path / "f"
    row = [{query: "q1", doc: "d1"}.get(name, "1") for name in names]
    path.write_text(f"{header}\n{mark.join(row)}\n")
    found = ingest(path, Request())
    for run in (read_run(path), found.run):
        assert run[["query_id", "doc_id"]].to_numpy().tolist() == [["q1", "d1"]]
    is_ours = (query, doc) == ("query_id", "doc_id")
    assert (f"columns {query} as query_id, {doc} as doc_id" in found.notes) != is_ours


@cases("header", "said")
def test_a_table_with_two_columns_that_could_be_one_role_is_refused(
    header: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    path.write_text(f"{header}\n")
    for reading in (read_run, lambda each: ingest(each, Request())):
        with pytest.raises(FormatError) as caught:
            reading(path)
        assert said in str(caught.value).replace("'", "")


@pytest.mark.parametrize("header", ["sentence_id,clip,rel", "qid,docno,grade", "query_id,doc_id,relevance"])
def test_qrels_have_the_usual_names_too(header: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{header}\ns1,d1,2\n")
    found = read_qrels(tmp_path / "f")
    assert found[["query_id", "doc_id", "relevance"]].to_numpy().tolist() == [["s1", "d1", 2]]


def test_qrels_with_two_columns_that_could_be_the_doc_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("qid,clip,video,rel\ns1,c1,v1,1\n")
    with pytest.raises(FormatError, match="columns clip and video may each be the doc_id; found qid, clip"):
        read_qrels(tmp_path / "f")


@cases("text", "header")
def test_captions_without_a_header_are_refused_with_the_line_that_makes_them_a_table(
    text: str, header: str, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    path.write_text(text)
    line = line_to_type(lambda each: read_collection([each]), path)
    assert line == f"sed -i '1i {header}' {path}"
    subprocess.run(shlex.split(line), check=True)
    found = read_collection([path]).collection
    assert found.queries["text"].tolist() == ["a dog runs", "a man"]
    assert found.items["doc_id"].tolist() == ["v1", "v2"]


def test_lines_of_numbers_and_texts_are_the_corpus_where_the_qrels_use_them_as_docs(tmp_path: Path) -> None:
    """MS MARCO's collection.tsv and queries.tsv: neither has a header, and numbers of both are alike."""
    texts = {"collection": "1\tone\n2\ttwo\n11\televen\n", "queries": "11\twhat\n12\twho\n"}
    for name, text in {**texts, "qrels": "11\t0\t1\t1\n12\t0\t2\t1\n"}.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    files = [tmp_path / f"{name}.tsv" for name in ("collection", "queries", "qrels")]
    made = read_collection(files).collection
    assert made.queries.to_numpy().tolist() == [["11", "what"], ["12", "who"]]
    assert made.items[["doc_id", "text"]].to_numpy().tolist() == [
        ["1", "one"],
        ["2", "two"],
        ["11", "eleven"],
    ]
    assert read_collection(files[1:2]).collection.queries["query_id"].tolist() == ["11", "12"]


@pytest.mark.parametrize(
    "text",
    [
        '{"test": [{"clip": "c1", "sentence_id": "s1", "score": 1}, '
        '{"clip": "c2", "sentence_id": "s2", "score": 2}]}',
        '{"s1": [{"clip": "c1", "key": 7, "score": 0.5}], "s2": [{"clip": "c2", "key": 7, "score": 0.5}]}',
        '[{"sentence_id": "s1", "name": "m", "docs": ["c1"]}, '
        '{"sentence_id": "s2", "name": "m", "docs": ["c2"]}]',
    ],
    ids=["records under a name", "hits of a search", "lists beside a model's name"],
)
def test_json_has_the_usual_names_too(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    pairs = read_run(tmp_path / "f.json")[["query_id", "doc_id"]]
    assert pairs.to_numpy().tolist() == [["s1", "c1"], ["s2", "c2"]]


def test_a_frame_whose_docs_have_usual_names_is_a_matrix() -> None:
    sims = pd.DataFrame([[0.5, 0.25]], columns=["key", "sentid"], index=["q"])
    run = fire_toolkit.run(sims, "m", query_ids=["q"], doc_ids=["key", "sentid"])
    assert run["doc_id"].tolist() == ["key", "sentid"]


def test_a_packed_file_is_never_told_to_be_changed_by_sed(tmp_path: Path) -> None:
    texts = ("188714\t1000052\t1\n", "sentence_id,clip,video,score\n", "question,thing,score\n")
    for place, text in enumerate((*texts, "v1,a dog runs\nv2,a man\n")):
        path = tmp_path / f"{place}.gz"
        path.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(FormatError, match="unpack it with gunzip first") as caught:
            read_run(path) if text in texts else read_collection([path])
        assert "sed" not in str(caught.value)
