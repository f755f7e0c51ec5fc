"""Bytes of any kind give a FireError or a right table: no other exception, no hang."""

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FireError
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import READERS
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Run

QUERIES, DOCS = ["007", "q:1|x", "frage-ü"], ["NA", "d10", "d9", "null"]
ALLOW = frozenset(["nan", "inf", "flood", "constant", "duplicates"])
STARTS = [
    b"PK\x03\x04",
    b"\x93NUMPY\x01\x00",
    b"\x80\x04",
    b"PAR1",
    b'{"q":',
    b"[",
    b"<videoAdhocSearchResults",
]
STARTS += [
    b"query_id,doc_id,score\n",
    b"query_id\tdoc_id\trank\n",
    b"q Q0 d 1 1 m\n",
    b"0,2,1\n",
    b"\x1f\x8b\x08",
    b"",
]


def attempt(reading: Callable[[], Run]) -> Run | str:
    try:
        return reading()
    except FireError as error:
        return str(error)


def read(content: bytes) -> None:
    request = Request(query_ids=QUERIES, doc_ids=DOCS, allow=ALLOW, similarity="dot", depth=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        path.write_bytes(content)
        for result in (attempt(lambda: ingest(path, request).run), attempt(lambda: read_run(path))):
            if isinstance(result, str):
                assert "\n" not in result
                continue
            by_rule = rank_run(result)
            for name in ("query_id", "doc_id"):
                assert by_rule[name].astype(str).tolist() == result[name].astype(str).tolist()
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
    stream = io.BytesIO()
    np.save(stream, np.zeros(shape, dtype=dtype, order=order))
    read(stream.getvalue())


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


@settings(max_examples=examples(100))
@given(
    rows=st.lists(
        st.tuples(
            st.text(max_size=3), st.text(max_size=3), st.one_of(st.floats().map(str), st.text(max_size=4))
        ),
        max_size=5,
    ),
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
