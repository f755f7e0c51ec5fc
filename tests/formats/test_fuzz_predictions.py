"""Bytes of any kind give a FireError or a right table: no other exception, no hang."""

import json
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
from brought import npy, put
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FireError
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.readers import READERS
from fire_toolkit.matching.ranking import rank_run

QUERIES, DOCS = ["007", "q:1|x", "frage-ü"], ["NA", "d10", "d9", "null"]
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
