"""Damaged, foreign and hostile collection files: an error of this package, or a table; nothing else."""

import contextlib
import copy
import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from brought import put, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import cases, examples
from fire_toolkit.errors import FireError, FormatError, JoinError, TableError, UsageError
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.tables import check_items, check_qrels, check_queries

pytestmark = pytest.mark.usefixtures("here")
GOLDEN = Path(__file__).parents[2] / "golden" / "collections"
INPUTS = sorted(path for path in GOLDEN.glob("*/input/**/*") if path.is_file())
JSON_INPUTS = [path for path in INPUTS if path.suffix == ".json"]


def read_or_refuse(path: Path) -> None:
    """Read a file; whatever is read must pass the checks of its tables."""
    with contextlib.suppress(FormatError, TableError, JoinError, UsageError):
        collection, _ = read_collection([path])
        check_queries(collection.queries)
        check_items(collection.items)
        check_qrels(collection.qrels)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800\t\0"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def changed(value: Any, path: list[int], new: Any) -> Any:
    """Return JSON with the value that `path` leads to replaced (or left out, where it ends in a key)."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    made = copy.copy(value)
    keys = sorted(made) if isinstance(made, dict) else range(len(made))
    key = list(keys)[path[0] % len(keys)]
    if len(path) == 1 and path[0] % 3 == 0:
        del made[key]
    else:
        made[key] = changed(made[key], path[1:], new)
    return made


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(JSON_INPUTS), st.lists(st.integers(0, 20), min_size=1, max_size=6), json_values)
def test_json_with_values_of_other_types_is_an_error_or_a_table(
    tmp_path: Path, source: Path, place: list[int], new: Any
) -> None:
    read_or_refuse(put(tmp_path / "f.json", changed(json.loads(source.read_text()), place, new)))


@cases("content", "error", "message")
def test_the_error_says_where_and_what(content: Any, error: type[FireError], message: str) -> None:
    path = put("f", "[" * 100_000 if content == "DEEP" else content)
    refused(message, read_collection, [path], by=error)


@cases("error", "said", "files")
def test_files_that_do_not_go_together_are_told(
    error: type[FireError], said: str, files: dict[str, Any]
) -> None:
    folder = Path("files")
    for name, content in files.items():
        put(folder / name, content)
    refused(said, read_collection, [folder], by=error)
    if "t.token" in files:  # as they were named
        assert len(read_collection(sorted(folder.iterdir())).collection.queries) == 2


def test_texts_of_docs_beside_queries_and_qrels_may_be_items_or_captions() -> None:
    queries, pairs = put("q.csv", "query_id,text,media_url\nq1,,a.jpg\n"), put("p.txt", "q1 0 d1 1\n")
    said = "i.csv: its texts may be items that ... p.txt pairs with ... q.csv, or captions; "
    for header in ("doc_id,text", "text,video_id"):
        row = "d1,a dog" if header == "doc_id,text" else "a dog,d1"
        refused(said, read_collection, [queries, put("i.csv", f"{header}\n{row}\n"), pairs])
    for column, counts in (("media_url", (1, 1, 1)), ("query_id", (2, 1, 2))):
        texts = put("i.csv", f"doc_id,text,{column}\nd1,a dog,{'c1' if column == 'query_id' else ''}\n")
        made = read_collection([queries, texts, pairs]).collection
        assert tuple(made.counts[name] for name in ("queries", "items", "qrels")) == counts


def test_a_file_that_is_not_there_is_an_error() -> None:
    refused("nowhere: no such file", read_collection, ["nowhere"])


def test_no_part_of_a_corpus_is_passed_over_in_a_folder() -> None:
    parts = [
        put(f"corpus-{part}.jsonl.gz", gzip.compress(f'{{"_id": "d{part}", "text": "a"}}\n'.encode()))
        for part in range(2)
    ]
    for name, text in {
        "q.tsv": "query-id\ttext\nq1\ta\n",
        "qrels": "q1 0 d1 1\n",
        "VERSION": "1.0\n",
    }.items():
        put(name, text)
    assert read_collection([Path()])[0].items["doc_id"].tolist() == ["d0", "d1"]
    for damaged, words in (
        (parts[0].read_bytes()[:-9], "0.jsonl.gz: damaged gzip"),
        (b"{", "0.jsonl.gz:1: "),
    ):
        put(parts[0], damaged)
        refused(words, read_collection, [Path()])


def test_of_clips_and_archives_in_a_folder_no_more_is_read_than_their_beginning() -> None:
    put("d/c.csv", "video_id,caption\nv1,a dog\n")
    for name in ("v1.mp4", "features.tar.gz"):
        content = b"\0\0\0 ftypisom" + bytes(1 << 24)
        put(f"d/{name}", gzip.compress(content, 0) if name.endswith("gz") else content)
    tracemalloc.start()
    assert read_collection([Path("d")]).collection.counts["queries"] == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 23


def test_a_split_is_taken_by_name_or_all_are() -> None:
    for case, split, queries in (
        ("karpathy-coco", "train", ["9"]),
        ("karpathy-coco", "all", ["7", "8", "9"]),
        ("beir", "dev", ["q2"]),
        ("beir", "all", ["q1", "q2"]),
    ):
        found = read_collection([GOLDEN / case / "input"], split=split)[0]
        assert found.queries["query_id"].tolist() == queries
    for case, said in (
        ("karpathy-coco", "no split 'dev'; found test, train"),
        ("vatex", "files of val; choose one with --split, or all"),
        ("flickr-csv", "no file here has several splits; leave out --split"),
    ):
        refused(said, read_collection, [GOLDEN / case / "input"], split="dev", by=UsageError)
    assert len(read_collection([GOLDEN / "vatex" / "input"], split="val")[0].queries) == 3  # val.json
