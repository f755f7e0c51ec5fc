"""What is an id is the same in every file; ids and masks beside a matrix, in any file that people keep."""

import csv
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import npy, put, refused
from command import run

from examples import cases
from fire_toolkit.errors import StaleError
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.formats.ids import id_text, id_texts
from fire_toolkit.formats.runs.axis_ids import id_file_for, read_ids
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.reader import read_mask

pytestmark = pytest.mark.usefixtures("here")
BIG = 2**63


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("007", "007"),
        ("ü", "ü"),
        (np.str_("NA"), "NA"),
        ("ü".encode(), "ü"),
        (7, "7"),
        (-7, "-7"),
        (BIG, "9223372036854775808"),
        (10**30, "1" + "0" * 30),
        (np.uint64(BIG), "9223372036854775808"),
    ],
)
def test_text_bytes_and_whole_numbers_are_ids(value: object, expected: str) -> None:
    assert expected == id_text(value, "f")
    assert type(id_text(value, "f")) is str


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (7.0, "7.0"),
        (np.float32(0.5), "0.5"),
        (True, "True"),
        (np.bool_(True), "True"),
        (None, "None"),
        (["a"], "a list"),
        (b"\xff", "an id whose bytes are not UTF-8"),
        ("\ud800", r"id '\ud800' contains half a character"),
        pytest.param(1 << 20_000, "a number of thousands of digits", id="huge"),
    ],
)
def test_nothing_else_is_an_id_and_the_place_is_told(value: object, said: str) -> None:
    refused(f"f.json: id 2: {said}", id_texts, ["a", value], "f.json")


def docs_of_run(path: Path) -> list[str]:
    return read_run(path)["doc_id"].astype("str").tolist()


def doc_ids(path: Path) -> list[str]:
    return read_ids(path, "doc_id")


RECORD: dict[str, Any] = {"query_id": "q", "score": 1.0}
# Each kind of file that can hold a value where an id is expected, and its reader.
HOLDERS: dict[str, tuple[Callable[[Any], Any], Callable[[Path], list[str]]]] = {
    "records.json": (lambda value: [RECORD | {"doc_id": value}], docs_of_run),
    "lists.json": (lambda value: {"q": [value]}, docs_of_run),
    "run.parquet": (
        lambda value: pd.DataFrame([{"query_id": "q", "doc_id": value, "score": 1.0}]),
        docs_of_run,
    ),
    "ids.json": (lambda value: [value], doc_ids),
    "ids.pkl": (lambda value: [value], doc_ids),
    "captions.json": (
        lambda value: [{"video": value, "caption": "a dog"}],
        lambda path: read_collection([path])[0].items["doc_id"].tolist(),
    ),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_every_reader_takes_and_refuses_the_same_ids(name: str) -> None:
    content, read = HOLDERS[name]
    for value in (BIG, 7, "007"):
        assert read(put(name, content(value))) == [str(value)]
    for value in (7.0, True, None):
        refused("", read, put(name, content(value)))


IDS = ["007", "NA", "q:1|x", "frage-ü"]
KINDS = {"list": list, "tuple": tuple, "array": np.array, "named": lambda ids: {"query_ids": ids}}
FORMS: dict[str, Any] = {
    "ids.txt": "\n".join(IDS) + "\n",
    "ids.tsv": "\n".join(["split\tquery_id", *(f"test\t{one}" for one in IDS)]),
    "ids.npy": IDS,
    "objects.npy": np.array(IDS, dtype=object),
    "bytes.npy": [one.encode() for one in IDS],
    "ids.npz": {"doc_ids": ["other"] * 2, "query_ids": IDS},
    "only.npz": {"arr_0": IDS},  # of another name: it is the only one
    "ids.json": IDS,
    "named.json": {"doc_ids": [], "query_ids": IDS},
    **{f"{name} {n}.pkl": pickle.dumps(kind(IDS), n) for name, kind in KINDS.items() for n in range(6)},
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_ids_to_the_letter_whatever_its_name(name: str) -> None:
    assert read_ids(put(name, FORMS[name]).rename("any"), "query_id") == IDS


def test_numbers_are_ids_and_lines_that_begin_as_an_old_pickle_might() -> None:
    assert read_ids(put("ids.npy", np.array([7, 12], dtype=np.int32)), "doc_id") == ["7", "12"]
    ids = ["cat", "dog", "pig", "(a", "]"]
    assert read_ids(put("ids", "\n".join(ids)), "query_id") == ids


class Runs:
    def __reduce__(self) -> Any:
        return print, ("ran",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'["a", ', "ids:1: damaged or truncated JSON"),
        ({"names": ["a"]}, "ids: no query_ids; found names; expected a list of ids, or one under query_ids"),
        ([["a"]], "ids: id 1: a list, expected an id: text or a whole number"),
        ([1.5], "ids: id 1: 1.5, expected an id: text or a whole number"),
        ([], "ids: no id, expected a list of query_ids"),
        (pickle.dumps([Runs()]), "ids: refers to 'builtins.print'"),
        (b"\x93NUMPY\x01\x00", "damaged .npy header"),
        (b"PK\x03\x04", "ids: damaged zip"),
        (b"", "ids: empty file"),
        (pickle.dumps("abc"), "ids: a str, expected a list of ids in the order of the matrix"),
        (pickle.dumps({"a"}), "ids: a set, expected a list of ids in the order of the matrix"),
        (pickle.dumps({"a"}, protocol=0), "ids: a set, expected a list of ids"),
        (pickle.dumps({1: "a", (1, 2): "b"}), "ids: no query_ids; found 1, (1, 2); expected a list of ids"),
        (b'["a", ' + b"[" * 100_000, "ids: JSON nested too deeply"),
        ("q 0 d 1\nr 0 e 1\n", "ids: lists no query_ids: it is qrels"),
        ("doc_id,media_url\nv,v.mp4\n", "ids: lists no query_ids: it is table"),
        ("ret0,video7\nret1,video9\n", "ids: no query_ids; found ret0, video7; expected a list of ids"),
        ("a dog\na cat\n", "ids: no query_ids; found a dog"),
        (npy(np.zeros(2)), "id 1: 0.0, expected an id"),
        (npy(np.zeros((2, 2), "i4")), "has shape"),
        # A first line that looks like the header of something else.
        ("id\nq2\nq1\n", "ids:1: 'id' looks like a header, ... write query_id above it"),
        ("video_id\nv2\nv1\n", "ids:1: 'video_id' looks like a header, ... write query_id above it"),
        ("frame\n12\n7\n", "ids:1: 'frame' looks like a header, ... write query_id above it"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_list_of_ids_is_told(content: Any, said: str) -> None:
    refused(said, read_ids, put("ids", content), "query_id")
    if "looks like a header" in said:
        assert read_ids(put("ids", "query_id\n" + content), "query_id") == content.split()


@pytest.mark.parametrize("header", [[], ["doc_id"]])
@pytest.mark.parametrize("quotes_all", [False, True])
def test_a_csv_of_one_column_gives_the_ids_within_its_quotes(header: list[str], quotes_all: bool) -> None:
    ids = ["d,1", "d2", 'q"x', "rain a.wav", "007"]
    quoting = csv.QUOTE_ALL if quotes_all else csv.QUOTE_MINIMAL
    text = pd.Series(ids, name="doc_id").to_csv(index=False, header=bool(header), quoting=quoting)
    assert doc_ids(put("ids.csv", text)) == ["d,1", "d2", 'q"x', "rain%20a.wav", "007"]
    assert doc_ids(put("two.csv", "doc_id;x\n1;2\n")) == ["1"]


def test_arrays_of_two_names_are_not_guessed_between() -> None:
    path = put("ids.npz", {"train": IDS, "test": IDS})
    refused("ids.npz: no query_ids; found train, test", read_ids, path, "query_id")


@pytest.mark.parametrize("first", ["query_id", "sentence_id", "Key", '"qid"', "query_ids"])
def test_a_first_line_that_names_the_ids_is_a_header(first: str) -> None:
    assert read_ids(put("f", f"{first}\nq2\nq1\n"), "query_id") == ["q2", "q1"]


MSRVTT = "key,vid_key,video_id,sentence\nret1,msr9,video9,a dog\nret0,msr7,video7,a cat\n"


@cases("content", "queries", "docs")
def test_a_collections_own_file_gives_the_ids_of_both_sides_in_its_order(
    content: Any, queries: list[str], docs: list[str]
) -> None:
    path = put("f", content)
    assert (queries, docs) == (read_ids(path, "query_id"), read_ids(path, "doc_id"))


def test_a_table_in_an_order_of_our_own_is_no_list_of_ids() -> None:
    run("add-collection", put("f.csv", MSRVTT), "--out", "c")
    items, manifest = Path("c/items.tsv"), Path("c/manifest.json")
    assert read_ids(Path("c/queries.tsv"), "query_id") == ["ret1", "ret0"]
    assert read_ids(items, "doc_id") == ["video9", "video7"]
    manifest.write_text(manifest.read_text().replace("add-collection", "media transcode"))
    refused("items.tsv: written by `fire-toolkit media transcode`", read_ids, items, "doc_id", by=StaleError)
    manifest.unlink()
    assert read_ids(items, "doc_id") == ["video9", "video7"]


@pytest.mark.parametrize("suffix", ["npy", "json", "txt"])
def test_ids_lie_beside_a_matrix_in_any_form(suffix: str) -> None:
    matrix = put("m.npy", np.arange(8, dtype="f4").reshape(4, 2))
    put(f"m.query_ids.{suffix}", FORMS[f"ids.{suffix}"])
    put("doc_ids.txt", "a\nb\n")
    given = [id_file_for(matrix, column, None) for column in ("query_id", "doc_id")]
    assert [str(file.path.name) for file in given if file] == [f"m.query_ids.{suffix}", "doc_ids.txt"]
    run = ingest(matrix, Request(query_ids=given[0], doc_ids=given[1])).run
    assert sorted(IDS) == list(run["query_id"].cat.categories)


MASK = np.array([[1, 1], [1, 0], [0, 1]])
MASKS = {
    "numbers": MASK,
    "booleans": MASK.astype(bool),
    "floats": MASK.astype("f4"),
    "one axis": MASK.ravel(),
}
SIMS = np.ones((6, 2))


@pytest.mark.parametrize("form", MASKS)
def test_a_mask_in_every_form_gives_a_flag_for_each_row(form: str) -> None:
    mask = MASKS[form]
    files = {"m.npy": mask, "m.npz": {"sims": SIMS, "query_masks": mask}, "bare.pkl": mask}
    files |= {"named.pkl": {"sims": SIMS, "query_masks": mask}, "only.pkl": {"which": mask, "n": 3}}
    for name, content in files.items():
        assert read_mask(put(name, content)).tolist() == [True, True, True, False, False, True], name


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.array([0, 2]), "empty, or has values other than 0 and 1, expected a mask"),
        (np.array(["yes"]), "empty, or has values other than 0 and 1, expected a mask"),
        ([], "empty, or has values other than 0 and 1, expected a mask"),
        ({"a": SIMS, "b": MASK}, "a pickle of arrays without a mask, expected one array of 0 and 1"),
        ("text", "a pickle of arrays without a mask, expected one array of 0 and 1"),
        ([[1, 0], [1]], "rows of different lengths, expected an array of 0 and 1"),
    ],
    ids=str,
)
def test_what_is_no_mask_is_told(value: Any, said: str) -> None:
    assert refused(said, read_mask, put("m.pkl", pickle.dumps(value))) == f"m.pkl: {said}"
