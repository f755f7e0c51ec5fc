"""Whether captions are usable: a campaign of its own, its tables, and what qrels and scores make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import krippendorff
import numpy as np
import pytest
from command import Fire, rows

from fire_toolkit.campaign.records import read_campaign
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.pages.desk import Setting
from fire_toolkit.pages.links import make_links, session_of
from fire_toolkit.pages.office import Office

if TYPE_CHECKING:
    from fake_api import FakeServer

RULES = read_guideline("query-validity-v1")
HOSTILE = "<img src=x onerror=alert(1)> {{7*7}} $caption ‮rtl 😀"
TEXTS = {f"q{n}": f"a dog {n}" for n in range(9)} | {"q9": HOSTILE, "q10": "word " * 2000}
UNUSABLE = {"q1", "q9"}
SPLIT = "q4"  # the two annotators differ on it


@pytest.fixture
def root(fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of eleven captions whose pairs have labels: run a finds the first four originals."""
    root = tmp_path / "main"
    fire("init", root)
    monkeypatch.chdir(root)
    texts = "".join(f"{query}\t{text}\n" for query, text in TEXTS.items())
    (root / "collection/queries.tsv").write_text("query_id\ttext\n" + texts + "q99\tnot of the benchmark\n")
    (root / "collection/qrels.txt").write_text("".join(f"{query} 0 d 1\n" for query in TEXTS))
    found = [(query, "d" if query in ("q0", "q1", "q2", "q3") else "e") for query in TEXTS]
    (root / "runs/a.run").write_text("".join(f"{query} Q0 {doc} 1 1 a\n" for query, doc in found))
    (root / "labels").mkdir()
    labels = "query_id,doc_id,label,relevance\nq5,e,relevant,1\nq9,e,relevant,1\n"
    (root / "labels/labels.csv").write_text(labels)
    return root


@pytest.fixture
def captions(fire: Fire, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace in it, in which its captions are judged alone."""
    fire("init", "validity", "--guideline", RULES.name)
    monkeypatch.chdir(root / "validity")
    return root / "validity"


def judge_by_hand(fire: Fire, captions: Path) -> None:
    fire("tasks", "--annotator", "A,B", "--overlap", 1)
    for person in "AB":
        lines = ["pair_id,label,flags"]
        for row in rows((captions / f"tasks/tasks.{person}.csv").read_text()):
            query, doc = split_pair_id(row["pair_id"])
            assert (row["caption"].strip(), doc) == (TEXTS[query].strip(), "*")
            is_bad = query in UNUSABLE or (query == SPLIT and person == "B")
            lines.append(f"{row['pair_id']},{'unusable,unclear' if is_bad else 'usable,'}")
        (captions / f"exports/tasks.{person}.csv").write_text("\n".join(lines) + "\n")
    fire("import")


def test_a_task_shows_the_caption_alone_as_text(fire: Fire, captions: Path) -> None:
    fire("tasks")
    tasks = json.loads((captions / "tasks/tasks.json").read_text())
    assert sorted(task["data"]["caption"] for task in tasks) == sorted(TEXTS.values())
    assert {key for task in tasks for key in task["data"]} == {"caption", "pair_id"}
    states = [row["stage"] for row in json.loads(fire("status", "--format", "json").stdout)]
    assert states == ["tasks", "import", "agree", "resolve"]


def test_in_the_workspace_of_the_pairs_no_task_of_captions_is_made(fire: Fire, root: Path) -> None:
    told = fire("tasks", "--guideline", RULES.name, code=1).stderr
    assert "fire-toolkit init validity --guideline query-validity-v1" in told
    assert not (root / "tasks").exists()


@pytest.mark.slow
def test_votes_become_tables_of_queries(fire: Fire, captions: Path) -> None:
    judge_by_hand(fire, captions)
    row = rows(fire("agree", "--format", "csv").stdout)[0]
    counts = np.array([[0, 2]] * 8 + [[2, 0]] * 2 + [[1, 1]])
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert float(row["value"]) == pytest.approx(alpha)
    assert "2 of 10 captions with a label are unusable" in fire("resolve").stderr
    labels = rows((captions / "labels/query_labels.csv").read_text())
    assert {row["query_id"] for row in labels} == set(TEXTS) - {SPLIT}
    bad = [row for row in labels if row["is_usable"] == "False"]
    assert [(row["query_id"], row["label"], row["n_votes"], row["flags"]) for row in bad] == [
        ("q1", "unusable", "2", "unclear"),
        ("q9", "unusable", "2", "unclear"),
    ]
    validity = rows((captions / "labels/query_validity.csv").read_text())
    assert len(validity) == 22
    assert {(row["guideline"], row["guideline_sha256"]) for row in validity} == {(RULES.name, RULES.sha256)}
    assert {row["label"] for row in validity if row["query_id"] == SPLIT} == {"usable", "unusable"}


def c1(fire: Fire, *options: str) -> dict[tuple[str, str], float]:
    rows = json.loads(fire("score", "-m", "C@1", "--format", "json", *options).stdout)
    return {(row["query_id"], row["qrels"]): row["value"] for row in rows if row["qrels"] != "delta"}


@pytest.mark.slow
def test_unusable_queries_are_flagged_kept_or_dropped(
    fire: Fire, captions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_by_hand(fire, captions)
    fire("resolve")
    monkeypatch.chdir(captions.parent)
    words = "2 of 11 queries are unusable (1 not known, taken as usable)"
    everything = {("all", "original"): 4 / 11, ("all", "augmented"): 6 / 11}  # q5 and q9 have new positives
    usable = {("usable", "original"): 3 / 9, ("usable", "augmented"): 4 / 9}
    assert words in fire("augment").stderr  # flag
    assert c1(fire) == pytest.approx(everything | usable)
    shown = fire("score", "-m", "C@1")
    assert "usable queries alone:" in shown.stdout
    assert words in shown.stderr
    shown = fire("score", "-m", "C@1", "--honest", "--out", "honest.csv")
    assert "usable queries alone:" in shown.stdout
    honest = rows((captions.parent / "honest.csv").read_text())
    assert {(row["queries"], float(row["original"]), float(row["augmented"])) for row in honest} == {
        ("all", 4 / 11, 6 / 11), ("usable", 3 / 9, 4 / 9)
    }  # fmt: skip
    listed = rows((captions.parent / "augmented/unusable.csv").read_text())
    assert [row["query_id"] for row in listed] == ["q1", "q9"]
    assert "found 2 of 11 captions unusable as queries, which stay" in fire("report", "methods").stdout
    fire("report", "html", "--out", "report.html")
    report = (captions.parent / "report.html").read_text()
    assert words in report
    assert "Usable queries alone" in report
    fire("augment", "--unusable", "keep")
    assert c1(fire) == pytest.approx(everything)
    assert words in fire("score", "-m", "C@1").stderr
    fire("augment", "--unusable", "drop")
    assert c1(fire) == pytest.approx({("all", qrels): value for (_, qrels), value in usable.items()})
    assert words in fire("score", "-m", "C@1", "--honest").stderr
    assert "q9" not in (captions.parent / "augmented/qrels.txt").read_text()


@pytest.mark.slow
def test_differences_are_given_with_and_without_unusable_queries(
    fire: Fire, captions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_by_hand(fire, captions)
    fire("resolve")
    monkeypatch.chdir(captions.parent)
    fire("augment")
    a = Path("runs/a.run").read_text()
    Path("runs/b.run").write_text("".join(f"{query} Q0 d 1 1 b\n" for query in TEXTS))
    assert a.count(" d ") == 4
    rows = json.loads(fire("difference", "-m", "C@1", "--format", "json").stdout)
    found = {(row["queries"], row["qrels"]): row["difference"] for row in rows}
    # b finds every original; a 4 of 11, of the 9 usable 3; augmented a finds 6 of 11 and 4 of 9
    assert found == pytest.approx({
        ("all", "original"): 4 / 11 - 1, ("all", "augmented"): 6 / 11 - 1, ("all", "delta"): 2 / 11,
        ("usable", "original"): 3 / 9 - 1, ("usable", "augmented"): 4 / 9 - 1, ("usable", "delta"): 1 / 9,
    })  # fmt: skip
    shown = fire("difference", "-m", "C@1").stdout
    assert shown.count("usable queries alone:") == 1
    assert shown.count("a & b") == 6
    fire("augment", "--unusable", "keep")
    rows = json.loads(fire("difference", "-m", "C@1", "--format", "json").stdout)
    assert "queries" not in rows[0]


@pytest.mark.slow
def test_answers_on_captions_and_on_pairs_never_mix(
    fire: Fire, captions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_by_hand(fire, captions)
    fire("resolve")
    told = fire("augment", "--labels", "labels/labels.csv", code=1).stderr
    assert "labels: doc '*' marks captions that were judged alone" in told
    task = {"data": {"query_id": "q1", "doc_id": "e"}, "annotations": []}
    task["annotations"] = [
        {"id": 1, "completed_by": 2, "result": [{"from_name": "relevance", "value": {"choices": ["usable"]}}]}
    ]
    (captions / "pairs.json").write_text(json.dumps([task]))
    told = fire("import", "pairs.json", "--guideline", RULES.name, "--out", "j.csv", code=1).stderr
    assert "1 answers are on pairs, and guideline query-validity-v1 asks about captions alone" in told
    task["data"]["doc_id"] = "*"
    (captions / "alone.json").write_text(json.dumps([task]))
    monkeypatch.chdir(captions.parent)
    told = fire("import", "validity/alone.json", "--out", "j.csv", code=1).stderr
    assert "1 answers are on captions alone, and guideline caption-relevance-v1 asks about pairs" in told


@pytest.mark.slow
def test_a_server_gets_captions_without_media(fire: Fire, captions: Path, server: FakeServer) -> None:
    fire("tasks", "--overlap", 0)
    fire("push", "--annotator", "A02", "--annotator", "A03")
    sent = [task["data"] for number in server.projects for task in server.tasks_of(number)]
    assert sorted(content["caption"] for content in sent) == sorted(TEXTS.values())
    assert all(set(content) == {"caption", "pair_id"} for content in sent)


@pytest.mark.slow
def test_our_own_page_shows_one_caption_and_nothing_else(fire: Fire, captions: Path) -> None:
    fire("tasks", "--overlap", 0)
    fire("push", "--carrier", "page", "--annotator", "A01")
    campaign = read_campaign(captions)
    assert campaign is not None
    store = Store(captions / "campaign.sqlite")
    office = Office(captions, campaign, RULES, store, Setting("agreed", {}))
    name = office.annotator(session_of(make_links(captions, ["A01"])["A01"]))
    office.act("consent", name, {"who": name, "key": "k"})
    seen = []
    for n in range(len(TEXTS)):
        state = office.state(name)
        (caption,) = state["page"]["captions"]  # ten a page are of one item, and here is none
        assert (state["kind"], state["page"]["media"]) == ("none", "")
        seen.append(caption["text"])
        answer = {"label": "usable", "flags": [], "seconds": 1, "comment": ""}
        office.act("answer", name, answer | {"who": name, "task": caption["task"], "key": f"k{n}"})
    assert office.missing() == []
    assert sorted(seen) == sorted(TEXTS.values())
    store.close()
    fire("pull")
    assert len(rows((captions / "judgments/judgments.csv").read_text())) == len(TEXTS)
