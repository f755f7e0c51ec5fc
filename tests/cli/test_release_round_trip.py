"""A release in FIRE's shape comes back as it was when it is read and written again."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import run

from fire_toolkit.workspace.config import config_text

# Two captions have one text; annotators answered in no order; ids are numbers but for the video's.
QUERIES = "query_id\ttext\nret0\ta dog runs\nret1\ta cat sleeps\nret2\ta dog runs\n"


def entry(text: str, video: str, answers: list[tuple[int, str]], label: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "query": text,
        "video_id": video,
        "annotator_ids": [annotator for annotator, _ in answers],
        "annotator_labels": [answer for _, answer in answers],
        "response_ids": [10**15 + annotator for annotator, _ in answers],
        "queue_ids": [3 for _ in answers],
        "models": ["CE", "SSB"],
        "dataset": "msrvtt",
    }
    return found | ({"label": label} if label else {})


RELEASE = {
    "annotations": [
        entry("a dog runs", "v1", [(9, "relevant"), (2, "relevant")], "relevant"),
        entry("a cat sleeps", "v1", [(4, "relevant"), (30, "irrelevant"), (3, "irrelevant")], "irrelevant"),
    ],
    "disagreements": [entry("a dog runs", "v2", [(9, "relevant"), (2, "irrelevant")], None)],
    "source_ds": "2022-04-01",
    "source_data_md5": "5f2d",
    "source_annotator_map_md5": "77aa",
    "created_ds": "2022-05-02",
    "email": "fire@example.org",
    "creator": "somebody",
    "website": "https://example.org",
    "license": "CC BY-NC",
    "datasets": ["msrvtt"],
}


def plain(release: dict[str, Any]) -> dict[str, Any]:
    """Sort the entries, and leave out the caption's id, which they have where one caption has the text."""
    for name in ("annotations", "disagreements"):
        own = [{key: entry[key] for key in entry if key != "query_id"} for entry in release[name]]
        release = release | {name: sorted(own, key=json.dumps)}
    return release


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "q.tsv").write_text(QUERIES)
    (here / "fire.toml").write_text(config_text({"collection": {"queries": "q.tsv"}}))
    (here / "fire.json").write_text(json.dumps(RELEASE))
    return here


def exported(folder: Path, *options: object) -> dict[str, Any]:
    said = run("release", "--format", "fire", *(options or ("--tables", "t")), "--out", "again.json").stderr
    written: dict[str, Any] = json.loads((folder / "again.json").read_text())
    counts = [f"{len(written[name])} {name}" for name in ("annotations", "disagreements")]
    assert f"{' and '.join(counts)} written to again.json" in said
    return written


def test_read_and_written_again_it_is_the_same_release(folder: Path) -> None:
    run("import", "fire.json", "--out", "t")
    written = exported(folder)
    assert [entry.get("query_id") for entry in written["annotations"]] == [None, "ret1"]
    assert plain(written) == plain(RELEASE)
    run("import", "again.json", "--out", "u")
    run("release", "--format", "fire", "--tables", "u", "--out", "third.json")
    assert (folder / "third.json").read_bytes() == (folder / "again.json").read_bytes()


def test_captions_of_one_text_that_were_judged_apart_stay_apart(folder: Path) -> None:
    run("import", "fire.json", "--out", "t")
    (folder / "t" / "manifest.json").unlink()
    for name in ("judgments.csv", "labels.csv", "disputes.csv"):
        lines = (folder / "t" / name).read_text().splitlines(keepends=True)
        (folder / "t" / name).write_text("".join(line for line in lines if not line.startswith("ret2")))
    written = exported(folder)
    assert [entry.get("query_id") for entry in written["annotations"]] == ["ret0", "ret1"]
    run("import", "again.json", "--out", "u")
    for name in ("judgments.csv", "labels.csv", "disputes.csv"):
        assert (folder / "u" / name).read_text() == (folder / "t" / name).read_text()


SOURCES = "query_id,doc_id,run_id,rank\nret1,v1,frozen,2\nret1,v1,clip,1\nret0,v9,clip,1\n"


def test_models_come_from_beside_the_labels_else_from_the_pool(folder: Path) -> None:
    run("import", "fire.json", "--out", "t")
    assert exported(folder)["annotations"][0]["models"] == ["CE", "SSB"]
    (folder / "t" / "provenance.csv").write_text("query_id,doc_id\nret1,v1\n")
    (folder / "t" / "manifest.json").unlink()
    refused = run("release", "--format", "fire", "--tables", "t", "--out", "x.json", code=1).stderr
    assert "t/provenance.csv:1: no column model" in refused


def test_a_workspace_writes_its_own_judgments(folder: Path) -> None:
    for place in ("pool", "judgments", "labels"):
        (folder / place).mkdir()
    (folder / "pool" / "pool_sources.csv").write_text(SOURCES)
    judged = "query_id,doc_id,annotator_id,label\nret1,v1,ann,relevant\n"
    (folder / "judgments" / "judgments.csv").write_text(judged)
    (folder / "labels" / "labels.csv").write_text("query_id,doc_id,label,relevance\nret1,v1,relevant,1\n")
    (folder / "labels" / "disputes.csv").write_text("query_id,doc_id,reason\n")
    bare = run("release", "--format", "fire", "--out", "own.json", code=1).stderr
    assert "write into fire.toml, [release] licence" in bare
    settings = {"collection": {"queries": "q.tsv"}, "release": {"name": "mine", "licence": "CC-BY-4.0"}}
    (folder / "fire.toml").write_text(config_text(settings))
    result = run("release", "--format", "fire", "--out", "own.json")
    assert "which model proposed a pair: pool/pool_sources.csv" in result.stderr
    found = json.loads((folder / "own.json").read_text())
    (written,) = found["annotations"]
    assert (written["query_id"], written["models"]) == ("ret1", ["clip", "frozen"])
    assert (written["dataset"], found["datasets"], found["license"]) == ("mine", ["mine"], "CC-BY-4.0")
