"""Damaged, foreign and hostile collection files: an error of this package, or a table; nothing else."""

import contextlib
import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.errors import FireError, FormatError, JoinError, TableError, UsageError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.tables import check_items, check_qrels, check_queries

GOLDEN = Path(__file__).parents[2] / "golden" / "collections"
INPUTS = sorted(path for path in GOLDEN.glob("*/input/**/*") if path.is_file())
JSON_INPUTS = [path for path in INPUTS if path.suffix == ".json"]
_slow = settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])


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


@settings(_slow, max_examples=examples(200))
@given(st.sampled_from(JSON_INPUTS), st.lists(st.integers(0, 20), min_size=1, max_size=6), json_values)
def test_json_with_values_of_other_types_is_an_error_or_a_table(
    tmp_path: Path, source: Path, place: list[int], new: Any
) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(changed(json.loads(source.read_text()), place, new)))
    read_or_refuse(path)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ('[{"videoID": "v", "enCap": "x"}', FormatError, r"f:1: damaged or truncated JSON"),
        ('[{"videoID": "v", "enCap": ["x", 3]}]', FormatError, r"f: entry 0: 3, expected text"),
        ('[{"videoID": ["v"], "enCap": "x"}]', FormatError, r"f: entry 0: a list, expected an id"),
        ('[{"videoID": "v", "enCap": "x"}, {"enCap": "x"}]', FormatError, r"entry 1: no field 'videoID'"),
        ('[{"videoID": " ab", "enCap": "x"}]', TableError, "holds white space"),
        ('{"v": {"sentences": [], "timestamps": []}, "v": 1}', FormatError, "the key 'v' appears twice"),
        ("[" * 100_000, FormatError, "nested too deeply|cut JSON"),
        ('{"a": 1}\n{"a"', FormatError, "f:2: damaged or truncated JSON"),
        ('{"a": 1}\n[2]', FormatError, r"f:2: '\[2\]', expected a JSON object a line"),
        ('{"annotations": [], "disagreements": []}', FormatError, "fire-toolkit import"),
        (
            '{"other": 1}',
            FormatError,
            "a JSON object with keys other, which is not a known collection format",
        ),
        ("just words here", FormatError, "text that begins 'just words here', which is no"),
        ("", FormatError, "an empty file, which is no"),
        ("q1 0 d1 1\nq1 0 d2\n", FormatError, "f:2: 3 fields, expected 4"),
        ("q1 0 d1 1\n", FormatError, "no queries: found .*f; add the file with the captions"),
        ("image,caption\nx.jpg\n", FormatError, "f:2: 'x.jpg', expected name,caption"),
        ("image,caption\nx.jpg,A\nthen B, C\n", FormatError, "f:3: 'then B, C', expected name,caption"),
        ("a.jpg#0\tone\na.jpg#0\ttwo\n", FormatError, "query 'a.jpg#0' has two texts, 'one' and 'two'"),
        ("query_id,text,doc_id\nq,a,d\nq,b,e\n", FormatError, "query 'q' has two texts, 'a' and 'b'"),
    ],
)
def test_the_error_says_where_and_what(
    content: str, error: type[FireError], message: str, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text(content)
    with pytest.raises(error, match=message):
        read_collection([tmp_path / "f"])


def test_a_query_may_stand_once_for_each_of_its_docs(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("query_id,text,doc_id\nq,a,d\nq,a,e\n")
    collection, _ = read_collection([tmp_path / "f"])
    assert collection.queries["query_id"].tolist() == ["q"]
    assert collection.qrels["doc_id"].tolist() == ["d", "e"]


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FormatError, match="nowhere: no such file"):
        read_collection(["nowhere"])


def test_a_list_that_writes_ids_in_another_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("v1.mp4\nv2.mp4\n")
    (tmp_path / "c.csv").write_text("video_id,caption\nv1,a\n")
    with pytest.raises(FormatError, match=r"none of the 2 ids .* 'v1\.mp4', 'v2\.mp4', the items are 'v1'"):
        read_collection([tmp_path / "c.csv", tmp_path / "list"])


def test_texts_without_qrels_or_a_telling_name_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"_id": "1", "text": "a"}\n')
    with pytest.raises(FormatError, match=r"f\.jsonl: 0 ids are queries and 0 are docs of the qrels"):
        read_collection([tmp_path / "f.jsonl"])


def test_qrels_of_queries_without_a_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("query_id,text\nq1,a\n")
    (tmp_path / "qrels").write_text("q1 0 d 1\nq2 0 d 1\n")
    with pytest.raises(JoinError, match=r"1 of 2 queries have no text \('q2'\)"):
        read_collection([tmp_path / "q.csv", tmp_path / "qrels"])


def test_docs_that_a_corpus_lacks_are_noted(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "a"}\n')
    (tmp_path / "q.csv").write_text("query_id,text\nq1,a\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq1 0 d2 1\n")
    collection, _ = read_collection([tmp_path])
    assert collection.notes == ["1 doc of the qrels not in the corpus ('d2')"]
    assert collection.items["doc_id"].tolist() == ["d1"]


def test_no_part_of_a_corpus_is_passed_over_in_a_folder(tmp_path: Path) -> None:
    for part in range(2):
        (tmp_path / f"corpus-{part}.jsonl.gz").write_bytes(
            gzip.compress(f'{{"_id": "d{part}", "text": "a"}}\n'.encode())
        )
    (tmp_path / "q.tsv").write_text("query-id\ttext\nq1\ta\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "VERSION").write_text("1.0\n")
    assert read_collection([tmp_path])[0].items["doc_id"].tolist() == ["d0", "d1"]
    raw = (tmp_path / "corpus-0.jsonl.gz").read_bytes()
    for damaged, words in ((raw[:-9], r"0\.jsonl\.gz: damaged gzip"), (b"{", r"0\.jsonl\.gz:1: ")):
        (tmp_path / "corpus-0.jsonl.gz").write_bytes(damaged)
        with pytest.raises(FormatError, match=words):
            read_collection([tmp_path])


@pytest.mark.parametrize(
    ("case", "split", "message"),
    [
        ("karpathy-coco", "dev", r"no split 'dev'; found test, train"),
        ("vatex", "dev", r"no file here has several splits; leave out --split"),
    ],
)
def test_a_split_that_is_not_there_is_an_error(case: str, split: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_collection(sorted((GOLDEN / case / "input").iterdir()), split=split)


def test_a_split_is_taken_by_name_or_all_are() -> None:
    folder = GOLDEN / "karpathy-coco" / "input"
    assert read_collection([folder], split="train")[0].queries["query_id"].tolist() == ["9"]
    assert read_collection([folder], split="all")[0].queries["query_id"].tolist() == ["7", "8", "9"]
    beir = GOLDEN / "beir" / "input"
    assert read_collection([beir], split="dev")[0].queries["query_id"].tolist() == ["q2"]
    assert read_collection([beir], split="all")[0].queries["query_id"].tolist() == ["q1", "q2"]


def test_several_splits_without_a_test_split_must_be_chosen(tmp_path: Path) -> None:
    images = [
        {"filename": f"{n}", "split": split, "sentences": [{"raw": "a", "sentid": n}]}
        for n, split in enumerate(["train", "val"])
    ]
    (tmp_path / "f.json").write_text(json.dumps({"images": images}))
    with pytest.raises(UsageError, match="has splits train, val; choose one with --split, or all"):
        read_collection([tmp_path / "f.json"])


def test_ids_with_blanks_are_percent_encoded_in_every_file_of_a_collection(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("file_name,caption_1\nrain 100%.wav,It rains\nsea.wav,Waves 5% up\n")
    collection, _ = read_collection([tmp_path / "c.csv"])
    assert collection.items["doc_id"].tolist() == ["rain%20100%25.wav", "sea.wav"]
    assert collection.items["media_url"].tolist() == ["rain 100%.wav", "sea.wav"]
    assert collection.queries["query_id"].tolist() == ["rain%20100%25.wav#0", "sea.wav#0"]
    assert collection.queries["text"].tolist() == ["It rains", "Waves 5% up"]
    assert collection.qrels["doc_id"].tolist() == ["rain%20100%25.wav", "sea.wav"]
    assert collection.notes == [
        "2 ids with blanks: all ids are percent-encoded, 'rain 100%.wav' is 'rain%20100%25.wav'; so are "
        "those of files that are read beside them"
    ]
    assert read_ids(tmp_path / "c.csv", "doc_id") == ["rain%20100%25.wav", "sea.wav"]
    np.savez(tmp_path / "m.npz", sims=np.eye(2), query_ids=["a", "b"], doc_ids=["rain 100%.wav", "sea.wav"])
    assert {*read_run(tmp_path / "m.npz")["doc_id"].astype("str")} == {"rain%20100%25.wav", "sea.wav"}


def test_qrels_and_own_items_have_the_ids_of_the_collection(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta b\t1\nq2\t5%\t1\n")
    assert read_qrels(tmp_path / "q.tsv")["doc_id"].tolist() == ["a%20b", "5%25"]
    (tmp_path / "c.csv").write_text("query_id,text,doc_id,reference\nq,in red,a,b c\n")
    (tmp_path / "i.csv").write_text("doc_id,media_url,reference\na,m/a b.jpg,page 3\n")
    collection, _ = read_collection([tmp_path / "c.csv", tmp_path / "i.csv"])
    assert collection.queries["reference"].tolist() == ["b%20c"]
    assert collection.items[["media_url", "reference"]].values.tolist() == [["m/a b.jpg", "page 3"]]


def test_ids_without_blanks_stay_to_the_letter(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("file_name,caption_1\na%20b.wav,It rains\n100%.wav,Waves\n")
    collection, _ = read_collection([tmp_path / "c.csv"])
    assert collection.items["doc_id"].tolist() == ["a%20b.wav", "100%.wav"]
    assert read_ids(tmp_path / "c.csv", "doc_id") == ["a%20b.wav", "100%.wav"]


def test_half_a_character_in_an_address_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"images": [{"filename": "a", "filepath": "\\ud800", "sentences": [{"raw": "x", "sentid": 1}]}]}'
    )
    collection, _ = read_collection([tmp_path / "a.json"])
    assert collection.items["media_url"].tolist() == ["\ufffd/a"]


def test_two_files_that_say_the_same_are_named(tmp_path: Path) -> None:
    """As in a folder with the original qrels and corrected ones: which is meant cannot be guessed."""
    (tmp_path / "queries.csv").write_text("query_id,text\nq1,a\nq2,b\n")
    (tmp_path / "qrels.new.txt").write_text("q1 0 d1 1\nq1 0 d2 1\n")
    (tmp_path / "qrels.old.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    told = r"qrels\.new\.txt and .*qrels\.old\.txt: 1 pair in both \(q1 d1\); name one of the two files"
    with pytest.raises(TableError, match=told):
        read_collection([tmp_path])
    (tmp_path / "more.csv").write_text("query_id,text\nq2,b\n")
    with pytest.raises(TableError, match=r"queries\.csv and .*more\.csv: 1 query in both \(q2\)"):
        read_collection([tmp_path / name for name in ("queries.csv", "more.csv", "qrels.old.txt")])
