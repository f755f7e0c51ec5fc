"""What is an id, and what is none, is the same in every file that can hold one."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.ids import id_text, id_texts
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.runs.read import read_run

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
        ("\ud800", "contains half a character"),
        pytest.param(1 << 20_000, "a number of thousands of digits", id="huge"),
    ],
)
def test_nothing_else_is_an_id_and_the_place_is_told(value: object, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        id_texts(["a", value], "f.json")
    assert str(caught.value).startswith("f.json: id 2: ")
    assert said in str(caught.value)


def ids_in_every_file(folder: Path, value: Any) -> dict[str, Any]:
    """One reading for each kind of file that can hold `value` where an id is expected."""
    files = {
        "records.json": [{"query_id": "q", "doc_id": value, "score": 1}],
        "lists.json": {"q": [value]},
        "ids": [value],
        "captions": [{"video": value, "caption": "a dog"}],
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "pickle").write_bytes(pickle.dumps([value]))
    pd.DataFrame({"query_id": ["q"], "doc_id": [value], "score": [1.0]}).to_parquet(folder / "parquet")

    def run(name: str) -> list[str]:
        return list(read_run(folder / name)["doc_id"].astype("str"))

    return {
        "records.json": lambda: run("records.json"),
        "lists.json": lambda: run("lists.json"),
        "parquet": lambda: run("parquet"),
        "ids": lambda: read_ids(folder / "ids", "doc_id"),
        "pickle": lambda: read_ids(folder / "pickle", "doc_id"),
        "captions": lambda: list(read_collection([folder / "captions"])[0].items["doc_id"]),
    }


@pytest.mark.parametrize("value", [BIG, 7, "007"])
def test_every_reader_takes_the_same_ids(value: object, tmp_path: Path) -> None:
    found = {name: reading() for name, reading in ids_in_every_file(tmp_path, value).items()}
    assert {name: [str(value)] for name in found} == found


@pytest.mark.parametrize("value", [7.0, True, None])
def test_every_reader_refuses_the_same(value: object, tmp_path: Path) -> None:
    for reading in ids_in_every_file(tmp_path, value).values():
        with pytest.raises(FormatError):
            reading()
