"""`check_release` finds what a loader, a reviewer or an annotator would stumble over."""

import json
from pathlib import Path

import pytest

from examples import some
from fire_toolkit.release.check import check_release, qrels_in
from fire_toolkit.release.published import CROISSANT

Files = dict[str, bytes]
HEADER = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
SHA = "f9f85c1ceac1ae03247a62e10bca8e1ae1d3dd8a3a54d51ea12a1c2ab6eae6b4"


def croissant(**changed: object) -> bytes:
    found: dict[str, object] = {
        "@context": CROISSANT["context"],
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        **dict.fromkeys(("name", "description", "license", "url", "creator", "datePublished"), "x"),
        **dict.fromkeys(CROISSANT["looked_for"], "x"),
        "rai:hasSyntheticData": False,
        **changed,
    }
    return json.dumps({name: value for name, value in found.items() if value is not None}).encode()


def good() -> Files:
    """A release of somebody who does not use this toolkit, in which nothing is wrong."""
    return {
        "README.md": HEADER.encode(),
        "LICENSE": b"MIT",
        "CITATION.cff": b"cff-version: 1.2.0\nmessage: m\ntitle: t\nauthors: [A]\ndate-released: 2026-01-02",
        "DATASHEET.md": b"# Datasheet\nAsk us: team@example.org\n",
        "croissant.json": croissant(),
        "qrels.txt": b"007 0 a 1\nNA 0 b 0\n",
        "qrels/test.tsv": b"query-id\tcorpus-id\tscore\n007\ta\t1\nNA\tb\t0\n",
        "corpus.jsonl": b'{"_id": "a"}\n{"_id": "b"}\n',
        "queries.jsonl": b'{"_id": "007", "text": "mail me@example.org"}\n{"_id": "NA"}\n',
        "judgments.csv": b"query_id,doc_id,annotator_id,label,created_at\n007,a,x,relevant,2026-01-02\n",
    }


def changed(files: dict[str, bytes | None]) -> list[str]:
    """Return what is found where these files are put into a sound release; None: left out."""
    put = good() | files
    return [str(each) for each in check_release({name: raw for name, raw in put.items() if raw is not None})]


def header(old: str, new: str) -> bytes:
    return HEADER.replace(old, new).encode()


def listing(name: str) -> bytes:
    return croissant(distribution=[{"contentUrl": name, "sha256": SHA}])


BY_FILE: dict[str, list[tuple[bytes | None, str]]] = {
    "LICENSE": [(None, "LICENSE: missing")],
    "README.md": [
        (b"# Labels\n", "README.md:1: no YAML header between lines of ---"),
        (header("license: mit\n", ""), "README.md:1: the header names no license"),
        (header("queries\n", "query\n"), "README.md:1: no config queries"),
        (header("qrels/*", "qrel/*"), "README.md:1: config default: no file qrel/*.tsv"),
    ],
    "croissant.json": [
        *((croissant(**{name: None}), f"croissant.json: no {name}") for name in CROISSANT["looked_for"]),
        (croissant(**{"rai:hasSyntheticData": "no"}), "is neither true nor false"),
        (croissant(**{"rai:useCases": "x"}), "it is called rai:dataUseCases"),
        (croissant(**{"@context": {"@vocab": "x"}}), "@context lacks "),
        (listing("qrels.tsv"), "croissant.json: contentUrl qrels.tsv: no such file"),
        (listing("https://h.org/d/qrels.txt"), "its sha256 is not that of the file"),
        (b"{", "croissant.json: not a JSON object"),
    ],
    "CITATION.cff": [(b"cff-version: 1.2.0\n", "CITATION.cff: no authors")],
    "qrels/test.tsv": [
        (b"query-id\tcorpus-id\tscore\n7\ta\t1\nNA\tb\t0\n", "qrels/test.tsv: not the same pairs as"),
        (b"query\tdoc\tscore\n", "qrels/test.tsv: cannot be read as qrels of the form that its name says"),
    ],
    "corpus.jsonl": [(b'{"_id": "a"}\n', "corpus.jsonl: lacks 1 ids of qrels.txt, such as b")],
    "judgments.csv": [
        (b"created_at\n2026-01-02T10:11:12Z\n", "judgments.csv: 1 row with a time of day"),
        (b"annotator_id\nann@example.org\n", "judgments.csv:2: an e-mail address"),
    ],
    "notes.md": [(b"see /home/ann/run\n", "notes.md:1: an absolute path")],
    "DATASHEET.md": [(b"Who paid?\nTODO\n", "DATASHEET.md:2: TODO: left open")],
    "manifest.json": [
        (json.dumps({"outputs": {"qrels.txt": SHA, "x": SHA}}).encode(), "qrels.txt: changed since")
    ],
}
CASES = [(name, *case) for name, cases in BY_FILE.items() for case in cases]


@pytest.mark.parametrize(("name", "raw", "words"), CASES, ids=[words for *_, words in CASES])
def test_what_is_wrong_is_found(name: str, raw: bytes | None, words: str) -> None:
    found = changed({name: raw})
    assert any(words in line for line in found), found


def test_nothing_is_found_in_a_sound_release_and_what_must_be_mended_comes_first() -> None:
    assert check_release(good()) == []
    files = good() | {"corpus.jsonl": b'{"_id": "a"}\n'}
    del files["LICENSE"], files["CITATION.cff"], files["DATASHEET.md"]
    found = [(each.level, str(each)) for each in check_release(files)]
    must = ["LICENSE: missing", "corpus.jsonl: lacks 1 ids of qrels.txt, such as b"]
    should = ["CITATION.cff: missing", "a datasheet: missing"]
    assert found == [*(("must", each) for each in must), *(("should", each) for each in should)]


def test_a_package_with_positives_as_json_and_its_licence_in_dist_info_is_read() -> None:
    files = {
        "labels/data/captions.json": b'{"38": [179765, 182417], "7": ["a"]}',
        "labels/data/graded.json": b'{"38": {"179765": 2}}',
        "labels/data/config.json": b'{"name": "labels", "sizes": {"a": "b"}}',
        "labels-1.0.dist-info/LICENSE": b"MIT",
        "labels-1.0.dist-info/METADATA": b"Name: labels",
    }
    should = ["CITATION.cff", "a datasheet", "croissant.json"]
    assert [(each.level, each.file) for each in check_release(files)] == [("should", name) for name in should]
    assert qrels_in(files) == {
        "labels/data/captions.json": {("38", "179765"): 1, ("38", "182417"): 1, ("7", "a"): 1},
        "labels/data/graded.json": {("38", "179765"): 2},
    }
    del files["labels/data/captions.json"], files["labels/data/graded.json"]
    del files["labels-1.0.dist-info/LICENSE"]
    assert [str(each) for each in check_release(files) if each.level == "must"] == [
        "LICENSE: missing",
        "qrels: missing",
    ]


RAW = [b"", b"\xff\xfe", b"[]", b"null", b"{}", b"[" * 1_100, b"---\n- a: [\n---\n"]


@pytest.mark.parametrize("raw", some(RAW, 3))
def test_no_content_of_any_file_ends_in_a_traceback(raw: bytes) -> None:
    more = ("manifest.json", "qrels.json", "data/qrels.parquet", "data/ranks.parquet", "leaderboard.csv")
    also = dict.fromkeys(more, raw) | {"qrels.original.txt": b"007 0 a 1\n"}
    for name in good() | dict.fromkeys((*more, "runs/a.run", "qrels.original.txt"), b""):
        check_release(good() | {name: raw})
        if name not in more:
            check_release(good() | also | {name: raw})
