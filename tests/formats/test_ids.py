"""Ids beside a matrix, in any of the files that people keep them in, to the letter."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run

from fire_toolkit.errors import FormatError, StaleError
from fire_toolkit.formats.runs.axis_ids import id_file_for, read_ids
from fire_toolkit.formats.runs.ingest import Request, ingest

IDS = ["007", "NA", "q:1|x", "frage-ü"]


def write(path: Path, name: str) -> Path:
    """The ids in a file of one of the forms."""
    at = path / name
    if name.endswith(".npy"):
        np.save(at, np.array(IDS, dtype=object if name == "objects.npy" else None))
    elif name.endswith(".npz"):
        np.savez(at, doc_ids=["other"] * 2, query_ids=IDS)
    elif name.endswith(".pkl"):
        at.write_bytes(pickle.dumps({"query_ids": IDS} if name == "named.pkl" else IDS))
    elif name.endswith(".json"):
        at.write_text(json.dumps({"doc_ids": [], "query_ids": IDS} if name == "named.json" else IDS))
    elif name.endswith(".tsv"):
        at.write_text("\n".join(["split\tquery_id", *(f"test\t{one}" for one in IDS)]))
    else:
        at.write_text("\n".join(IDS) + "\n")
    return at


FORMS = [
    "ids.txt",
    "ids.tsv",
    "ids.npy",
    "objects.npy",
    "ids.npz",
    "ids.pkl",
    "named.pkl",
    "ids.json",
    "named.json",
]


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_ids_to_the_letter_whatever_its_name(name: str, tmp_path: Path) -> None:
    assert read_ids(write(tmp_path, name).rename(tmp_path / "any"), "query_id") == IDS


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([7, 12], dtype=np.int32), ["7", "12"]),
        (np.array([b"007", "ü".encode()]), ["007", "ü"]),
    ],
)
def test_arrays_of_whole_numbers_and_of_bytes_are_ids(
    values: Any, expected: list[str], tmp_path: Path
) -> None:
    np.save(tmp_path / "ids.npy", values)
    assert expected == read_ids(tmp_path / "ids.npy", "doc_id")


def test_an_array_file_of_another_name_is_taken_where_it_is_the_only_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "ids.npz", IDS)
    assert read_ids(tmp_path / "ids.npz", "doc_id") == IDS


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda ids: {"query_ids": ids}])
def test_pickles_of_every_protocol_are_read_and_not_taken_for_lines_of_ids(
    protocol: int, kind: Any, tmp_path: Path
) -> None:
    (tmp_path / "ids").write_bytes(pickle.dumps(kind(IDS), protocol=protocol))
    assert read_ids(tmp_path / "ids", "query_id") == IDS


def test_ids_that_begin_as_an_old_pickle_might_are_lines(tmp_path: Path) -> None:
    ids = ["cat", "dog", "pig", "(a", "]"]
    (tmp_path / "ids").write_text("\n".join(ids))
    assert read_ids(tmp_path / "ids", "query_id") == ids


class Runs:
    def __reduce__(self) -> Any:
        return print, ("ran",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'["a", ', "ids:1: damaged or truncated JSON"),
        (
            b'{"names": ["a"]}',
            "ids: no query_ids; found names; expected a list of ids, or one under query_ids",
        ),
        (b'[["a"]]', "ids: id 1: a list, expected an id: text or a whole number"),
        (b"[1.5]", "ids: id 1: 1.5, expected an id: text or a whole number"),
        (b"[]", "ids: no id, expected a list of query_ids"),
        (pickle.dumps([Runs()]), "ids: refers to 'builtins.print'"),
        (b"\x93NUMPY\x01\x00", "damaged .npy header"),
        (b"PK\x03\x04", "ids: damaged zip"),
        (b"", "ids: empty file"),
        (pickle.dumps("abc"), "ids: a str, expected a list of ids in the order of the matrix"),
        (pickle.dumps({"a"}), "ids: a set, expected a list of ids in the order of the matrix"),
        (pickle.dumps({"a"}, protocol=0), "ids: a set, expected a list of ids"),
        (b'["a", ' + b"[" * 100_000, "ids: JSON nested too deeply"),
    ],
)
def test_what_is_no_list_of_ids_is_told(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "ids").write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_ids(tmp_path / "ids", "query_id")
    assert said in str(caught.value)


MSRVTT = "key,vid_key,video_id,sentence\nret1,msr9,video9,a dog\nret0,msr7,video7,a cat\n"
COCO = {
    "images": [{"id": 9, "file_name": "9.jpg"}, {"id": 7, "file_name": "7.jpg"}],
    "annotations": [
        {"id": 3, "image_id": 7, "caption": "a"},
        {"id": 2, "image_id": 9, "caption": "b"},
        {"id": 1, "image_id": 7, "caption": "c"},
    ],
}


@pytest.mark.parametrize(
    ("content", "queries", "docs"),
    [
        (MSRVTT, ["ret1", "ret0"], ["video9", "video7"]),
        (json.dumps(COCO), ["3", "2", "1"], ["9", "7"]),
        ('[{"video": "v9", "caption": ["a", "b"]}]', ["v9#0", "v9#1"], ["v9"]),
        ('{"query_id": "q2", "text": "a", "doc_id": "d9"}\n{"query_id": "q1", "text": "b", "doc_id": "d7"}\n',
         ["q2", "q1"], ["d9", "d7"]),
        ("sen_id\tvideo\tframes\ns2\tv9\t3\ns1\tv7\t4\n", ["s2", "s1"], ["v9", "v7"]),
        ("d9.jpg#0\ta dog\nd9.jpg#1\ta cat\n", ["d9.jpg#0", "d9.jpg#1"], ["d9.jpg"]),
    ],
)  # fmt: skip
def test_a_collections_own_file_gives_the_ids_of_both_sides_in_its_order(
    content: str, queries: list[str], docs: list[str], tmp_path: Path
) -> None:
    (tmp_path / "f").write_text(content)
    assert (queries, docs) == (read_ids(tmp_path / "f", "query_id"), read_ids(tmp_path / "f", "doc_id"))


@pytest.mark.parametrize("first", ["query_id", "sentence_id", "Key", '"qid"', "query_ids"])
def test_a_first_line_that_names_the_ids_is_a_header(first: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{first}\nq2\nq1\n")
    assert read_ids(tmp_path / "f", "query_id") == ["q2", "q1"]


@pytest.mark.parametrize("content", ["id\nq2\nq1\n", "video_id\nv2\nv1\n", "frame\n12\n7\n"])
def test_a_first_line_that_looks_like_another_header_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(content)
    with pytest.raises(FormatError, match=r"f:1: '\w+' looks like a header, .* write query_id above it"):
        read_ids(tmp_path / "f", "query_id")
    (tmp_path / "f").write_text("query_id\n" + content)
    assert read_ids(tmp_path / "f", "query_id") == content.split()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("q 0 d 1\nr 0 e 1\n", "f: lists no query_ids: it is qrels"),
        ("doc_id,media_url\nv,v.mp4\n", "f: lists no query_ids: it is table"),
        ("ret0,video7\nret1,video9\n", "f: no query_ids; found ret0, video7; expected a list of ids"),
        ("a dog\na cat\n", "f: no query_ids; found a dog"),
    ],
)
def test_a_file_without_such_ids_is_told(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(content)
    with pytest.raises(FormatError) as caught:
        read_ids(tmp_path / "f", "query_id")
    assert said in str(caught.value)


def test_a_table_in_an_order_of_our_own_is_no_list_of_ids(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(MSRVTT)
    run("add-collection", f"{tmp_path}/f.csv", "--out", f"{tmp_path}/c")
    assert read_ids(tmp_path / "c" / "queries.tsv", "query_id") == ["ret1", "ret0"]
    assert read_ids(tmp_path / "c" / "items.tsv", "doc_id") == ["video9", "video7"]
    manifest = tmp_path / "c" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("add-collection", "media transcode"))
    with pytest.raises(StaleError, match=r"items\.tsv: written by `fire-toolkit media transcode`"):
        read_ids(tmp_path / "c" / "items.tsv", "doc_id")
    manifest.unlink()
    assert read_ids(tmp_path / "c" / "items.tsv", "doc_id") == ["video9", "video7"]


def test_arrays_of_two_names_are_not_guessed_between(tmp_path: Path) -> None:
    np.savez(tmp_path / "ids.npz", train=IDS, test=IDS)
    with pytest.raises(FormatError, match=r"ids\.npz: no query_ids; found train, test"):
        read_ids(tmp_path / "ids.npz", "query_id")


def test_arrays_of_numbers_and_of_two_axes_are_no_ids(tmp_path: Path) -> None:
    for values, said in ((np.zeros(2), "id 1: 0.0, expected an id"), (np.zeros((2, 2), "i4"), "has shape")):
        np.save(tmp_path / "ids.npy", values)
        with pytest.raises(FormatError, match=said):
            read_ids(tmp_path / "ids.npy", "query_id")


@pytest.mark.parametrize("suffix", ["npy", "json", "txt"])
def test_ids_lie_beside_a_matrix_in_any_form(suffix: str, tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.arange(8, dtype="f4").reshape(4, 2))
    write(tmp_path, f"ids.{suffix}").rename(tmp_path / f"m.query_ids.{suffix}")
    (tmp_path / "doc_ids.txt").write_text("a\nb\n")
    given = [id_file_for(tmp_path / "m.npy", column, None) for column in ("query_id", "doc_id")]
    assert [str(file.path.name) for file in given if file] == [f"m.query_ids.{suffix}", "doc_ids.txt"]
    run = ingest(tmp_path / "m.npy", Request(query_ids=given[0], doc_ids=given[1])).run
    assert sorted(IDS) == list(run["query_id"].cat.categories)
