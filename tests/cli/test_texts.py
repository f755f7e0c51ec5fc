"""Texts as items: questions and passages, judged by hand, on a server, on our page and by a machine."""

import contextlib
import json
from pathlib import Path

import pytest
from command import Copied, Fire, rows, run
from exports import export
from fake_api import FakeServer
from page_site import office_of
from small_release import STATED, set_in

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.formats.tables.guideline_files import read_guideline

RULES = read_guideline("passage-relevance-v1")
HOSTILE = '<img src=x onerror=alert(1)> {{7*7}} $text "}], \u202ertl 😀'
PASSAGES = {
    "007": ("Iron", "Tiredness is a sign of low iron."),
    "NA": ("", HOSTILE),
    "d3": ("", "https://example.org/clip.mp4#t=1,2"),
    "d4": ("Only a title", ""),
    "d5": ("", "=1+1"),
    "d6": ("Long", "word " * 4000),
}
QUERIES = {"q1": "signs of low iron?", "q2": "how tall is the tower?"}
POSITIVE = {("q1", "007"), ("q2", "d6")}


def text_of(doc: str) -> str:
    return "\n".join(part for part in PASSAGES[doc] if part).strip()


def pool_passages() -> None:
    corpus = [{"_id": doc, "title": title, "text": text} for doc, (title, text) in PASSAGES.items()]
    Path("corpus.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in corpus))
    queries = [{"_id": query, "text": text} for query, text in QUERIES.items()]
    Path("queries.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in queries))
    Path("test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t007\t1\nq2\td3\t1\n")
    lines = [f"{query} Q0 {doc} 0 {-place} a\n" for query in QUERIES for place, doc in enumerate(PASSAGES)]
    Path("a.run").write_text("".join(lines))
    run("init", "work", "--guideline", RULES.name)
    with contextlib.chdir("work"):
        run("add-collection", "../corpus.jsonl", "../queries.jsonl", "../test.tsv")
        run("add-run", "../a.run")
        run("pool")


@pytest.fixture
def root(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of a folder as BEIR has it, and one run."""
    copied(pool_passages, tmp_path)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_by_hand_a_sheet_holds_title_and_text(fire: Fire, root: Path) -> None:
    told = fire("tasks", "--annotator", "A", "--overlap", 0).stderr
    assert "warning" not in told
    data = [task["data"] for task in json.loads((root / "tasks/tasks.json").read_text())]
    assert all(set(content) == {"caption", "text", "pair_id"} for content in data)
    lines = ["pair_id,label"]
    for row in rows(root / "tasks/tasks.A.csv"):
        query, doc = split_pair_id(row["pair_id"].removeprefix("'"))
        assert row["caption"] == QUERIES[query]
        assert row["text"] == ("'" if doc == "d5" else "") + text_of(doc)  # no formula of a spreadsheet
        lines.append(f"{row['pair_id']},{'relevant' if (query, doc) in POSITIVE else 'irrelevant'}")
    (root / "exports/tasks.A.csv").write_text("\n".join(lines) + "\n")
    for command in ("import", "agree", "resolve", "augment", "score"):
        fire(command)
    augmented = [line.split() for line in (root / "augmented/qrels.txt").read_text().splitlines()]
    positives = {(query, doc) for query, _, doc, grade in augmented if grade == "1"}
    assert positives == POSITIVE | {("q2", "d3")}  # the original that was rejected stays under union
    scored = rows(fire("score", "-m", "P@10", "--format", "csv"))
    found = {row["qrels"]: float(row["value"]) for row in scored}
    assert found == pytest.approx({"original": 0.1, "augmented": 0.15, "delta": 0.05})


def test_a_page_of_videos_and_items_without_text_are_refused(fire: Fire, root: Path) -> None:
    told = fire("tasks", "--guideline", "caption-relevance-v1", code=1).stderr
    assert "the items are texts, and caption-relevance-v1 shows a video: choose a guideline" in told
    assert "--guideline passage-relevance-v1" in told
    assert not (root / "tasks/tasks.json").exists()
    (root / "collection/manifest.json").unlink()
    (root / "collection/items.tsv").write_text("doc_id\ttext\n" + "".join(f"{doc}\t\n" for doc in PASSAGES))
    assert "items: 6 pooled ids have neither title nor text" in fire("tasks", code=1).stderr
    (root / "collection/items.tsv").write_text("doc_id\tmedia_url\n" + "007\tx.mp4\n")
    told = fire("tasks", code=1).stderr
    assert "passage-relevance-v1 shows their texts; give a table with doc_id, text" in told


def test_a_server_gets_texts_and_asks_no_address(fire: Fire, root: Path, server: FakeServer) -> None:
    fire("tasks", "--overlap", 0)
    fire("push", "--annotator", "A02")
    sent = [task["data"]["text"] for number in server.projects for task in server.tasks_of(number)]
    assert sorted(sent) == sorted(text_of(doc) for doc in PASSAGES for _ in QUERIES)


def test_our_own_page_shows_queries_of_a_text(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0, "--captions", 10)
    fire("push", "--carrier", "page", "--annotator", "A01")
    with office_of(root, RULES, **{text_of("d5"): root / "fire.toml"}) as (office, name):
        assert office.origins() == ""  # no text is an address
        state = office.state(name)
    assert state["kind"] == "text"
    assert state["page"]["media"] in {text_of(doc) for doc in PASSAGES}
    assert len(state["page"]["captions"]) == len(QUERIES)


def test_a_machine_reads_the_text_inside_its_json(fire: Fire, root: Path) -> None:
    from chat_server import ChatServer

    chat = ChatServer(says=lambda caption, pictures: "yes" if "iron" in caption and not pictures else "no")
    with chat.serve() as local:
        endpoint = f"http://127.0.0.1:{local.server_port}/v1"
        Path("toy.toml").write_text(f'endpoint = "{endpoint}"\nmodel = "toy"\n')
        fire("machine", "run", "toy.toml")
        parts = [body["messages"][1]["content"] for body in chat.bodies]
        sent = {tuple(json.loads(part["text"]).values()) for (part,) in parts}
        assert sent == {(query, text_of(doc)) for query in QUERIES.values() for doc in PASSAGES}


def test_the_gallery_shows_title_and_text_and_misses_no_file(fire: Fire, root: Path) -> None:
    assert "not there" not in fire("gallery").stderr
    shard = (root / "gallery/data/0000.js").read_text()
    assert json.dumps(text_of("007"))[1:-1] in shard


def test_a_release_holds_titles_and_texts_and_takes_no_passage_for_a_file(fire: Fire, root: Path) -> None:
    licences = {"captions": "CC-BY-4.0", "media": "CC-BY-4.0"}
    set_in(root, overlap=0.0, measures=["C@1"], creators=["A group"], **licences, **STATED)
    run("tasks")
    label = {True: "relevant", False: "irrelevant"}
    export(
        Path("tasks/tasks.json"), Path("exports/a.json"), lambda *pair: label[pair in POSITIVE], lead_time=5
    )
    for command in ("import", "resolve", "augment", "score"):
        run(command)
    assert "public addresses" not in fire("release", "--version", "1.0").stderr
    lines = (root / "releases/1.0/corpus.jsonl").read_text().splitlines()
    found = {row["_id"]: (row["title"], row["text"]) for row in map(json.loads, lines)}
    assert found == PASSAGES
    readme = (root / "releases/1.0/README.md").read_text()
    assert "The texts of the queries and the items are included under CC-BY-4.0" in readme
    assert "media" not in readme.partition("## Scores")[0]
