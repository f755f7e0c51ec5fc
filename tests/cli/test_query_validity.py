"""Whether captions are usable: a campaign of its own, its tables, and what qrels and scores make of it."""

import contextlib
import json
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from brought import put
from command import StandIn, as_json, rows, run, states, write_run
from page_site import office_of
from reports import tables_of

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.formats.tables.guideline_files import read_guideline

RULES = read_guideline("query-validity-v1")
HOSTILE = "<img src=x onerror=alert(1)> {{7*7}} $caption ‮rtl 😀"
TEXTS = {f"q{n}": f"a dog {n}" for n in range(9)} | {"q9": HOSTILE, "q10": "word " * 2000}
UNUSABLE = {"q1", "q9"}
JUDGMENTS = "query_id,doc_id,annotator_id,label\nq5,e,A,relevant\nq9,e,A,relevant\n"
SPLIT = "q4"  # the two annotators differ on it


def begin() -> None:
    run("init", "main")
    root = Path("main")
    texts = "".join(f"{query}\t{text}\n" for query, text in TEXTS.items())
    (root / "collection/queries.tsv").write_text("query_id\ttext\n" + texts + "q99\tnot of the benchmark\n")
    (root / "collection/qrels.txt").write_text("".join(f"{query} 0 d 1\n" for query in TEXTS))
    write_run(
        root / "runs/a.run", {query: "d" if query in ("q0", "q1", "q2", "q3") else "e" for query in TEXTS}
    )
    labels = "query_id,doc_id,label,relevance\nq5,e,relevant,1\nq9,e,relevant,1\n"
    put(root / "labels/labels.csv", labels)


def judge() -> None:
    """Two people judge the captions alone, in a workspace within the other."""
    begin()
    with contextlib.chdir("main"):
        run("init", "validity", "--guideline", RULES.name)
    with contextlib.chdir("main/validity"):
        run("tasks", "--annotator", "A,B", "--overlap", 1)
        for person in "AB":
            lines = ["pair_id,label,flags"]
            for row in rows(Path(f"tasks/tasks.{person}.csv")):
                query, doc = split_pair_id(row["pair_id"])
                assert (row["caption"].strip(), doc) == (TEXTS[query].strip(), "*")
                is_bad = query in UNUSABLE or (query == SPLIT and person == "B")
                lines.append(f"{row['pair_id']},{'unusable,unclear' if is_bad else 'usable,'}")
            Path(f"exports/tasks.{person}.csv").write_text("\n".join(lines) + "\n")
        run("import")
        run("resolve")


@pytest.fixture
def root(stand_in: StandIn) -> Path:
    """A workspace of eleven captions whose pairs have labels: run a finds the first four originals."""
    return stand_in(begin, "main")


@pytest.fixture
def captions(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace in it, in which its captions are judged alone; the current folder."""
    run("init", "validity", "--guideline", RULES.name)
    monkeypatch.chdir(root / "validity")
    return root / "validity"


@pytest.fixture
def judged(stand_in: StandIn) -> Path:
    """The workspace whose captions were judged in the one in it; the current folder."""
    return stand_in(judge, "main")


@pytest.mark.parametrize("reference", ["", "d"])
def test_that_nobody_sees_the_reference_of_a_composed_query_is_said(captions: Path, reference: str) -> None:
    queries = "".join(f"{query}\tthe same in red\t{reference}\n" for query in TEXTS)
    (captions.parent / "collection/queries.tsv").write_text("query_id\ttext\treference\n" + queries)
    told = "people judge the text alone, without the reference that it changes"
    assert (told in run("tasks").stderr) == bool(reference)


def test_a_task_shows_the_caption_alone_as_text(captions: Path) -> None:
    run("tasks")
    tasks = json.loads((captions / "tasks/tasks.json").read_text())
    assert sorted(task["data"]["caption"] for task in tasks) == sorted(TEXTS.values())
    assert {key for task in tasks for key in task["data"]} == {"caption", "pair_id"}
    assert [*states()] == ["tasks", "import", "agree", "resolve"]


def test_in_the_workspace_of_the_pairs_no_task_of_captions_is_made(root: Path) -> None:
    told = run("tasks", "--guideline", RULES.name, code=1).stderr
    assert "fire-toolkit init validity --guideline query-validity-v1" in told
    assert not (root / "tasks").exists()


@pytest.mark.slow
def test_votes_become_tables_of_queries(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(judged / "validity")
    counts = np.array([[0, 2]] * 8 + [[2, 0]] * 2 + [[1, 1]])
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert float(rows(run("agree", "--format", "csv"))[0]["value"]) == pytest.approx(alpha)
    assert "2 of 10 captions with a label are unusable" in run("resolve").stderr
    labels = rows(Path("labels/query_labels.csv"))
    assert {row["query_id"] for row in labels} == set(TEXTS) - {SPLIT}
    bad = [row for row in labels if row["is_usable"] == "False"]
    assert [row["query_id"] for row in bad] == ["q1", "q9"]
    assert {(row["label"], row["n_votes"], row["flags"]) for row in bad} == {("unusable", "2", "unclear")}
    validity = rows(Path("labels/query_validity.csv"))
    assert len(validity) == 22
    assert {(row["guideline"], row["guideline_sha256"]) for row in validity} == {(RULES.name, RULES.sha256)}
    assert {row["label"] for row in validity if row["query_id"] == SPLIT} == {"usable", "unusable"}


def c1() -> dict[tuple[str, str], float]:
    found = as_json("score", "-m", "C@1")
    return {(row["query_id"], row["qrels"]): row["value"] for row in found if row["qrels"] != "delta"}


@pytest.mark.slow
def test_unusable_queries_are_flagged_kept_or_dropped(judged: Path) -> None:
    words = "2 of 11 queries are unusable (1 not known, taken as usable)"
    everything = {("all", "original"): 4 / 11, ("all", "augmented"): 6 / 11}  # q5 and q9 have new positives
    usable = {("usable", "original"): 3 / 9, ("usable", "augmented"): 4 / 9}
    assert words in run("augment").stderr  # flag
    assert c1() == pytest.approx(everything | usable)
    for more in ((), ("--honest", "--out", "honest.csv")):
        shown = run("score", "-m", "C@1", *more)
        assert "usable queries alone, as labelled:" in shown.stdout
        assert words in shown.stderr
    honest = {row["queries"]: (row["original"], row["augmented"]) for row in rows(Path("honest.csv"))}
    assert tuple(map(float, honest["all"])) == (4 / 11, 6 / 11)
    assert tuple(map(float, honest["usable"])) == (3 / 9, 4 / 9)
    assert [row["query_id"] for row in rows(Path("augmented/unusable.csv"))] == ["q1", "q9"]
    assert "found 2 of 11 captions unusable as queries, which stay" in run("report", "methods").stdout
    run("report", "html", "--out", "report.html")
    report = Path("report.html").read_text()
    assert words in report
    (alone,) = (cells for name, cells in tables_of(report).items() if name.startswith("Usable queries alone"))
    assert alone[0][:2] == ["a", "44.4 (33.3 + 11.1)"]
    run("augment", "--unusable", "keep")
    assert c1() == pytest.approx(everything)
    assert words in run("score", "-m", "C@1").stderr
    run("augment", "--unusable", "drop")
    assert c1() == pytest.approx({("all", qrels): value for (_, qrels), value in usable.items()})
    assert words in run("score", "-m", "C@1", "--honest").stderr
    assert "q9" not in Path("augmented/qrels.txt").read_text()
    put("judgments/judgments.csv", JUDGMENTS)
    (of_all,) = rows(run("report", "table2", "--format", "csv"))
    assert (of_all["pairs"], of_all["relevant"], of_all["disagreement"]) == ("2", "2", "0")  # as in `agree`
    config = Path("fire.toml")
    config.write_text(config.read_text().replace('unusable = "flag"', 'unusable = "Drop"'))
    assert "unusable 'Drop' is unknown; expected flag, keep or drop" in run("augment", code=1).stderr


@pytest.mark.slow
def test_differences_are_given_with_and_without_unusable_queries(judged: Path) -> None:
    run("augment")
    write_run(Path("runs/b.run"), dict.fromkeys(TEXTS, "d"))
    table = as_json("difference", "-m", "C@1")
    found = {(row["queries"], row["qrels"]): row["difference"] for row in table}
    # b finds every original; a 4 of 11, of the 9 usable 3; augmented a finds 6 of 11 and 4 of 9
    assert found == pytest.approx({
        ("all", "original"): 4 / 11 - 1, ("all", "augmented"): 6 / 11 - 1, ("all", "delta"): 2 / 11,
        ("usable", "original"): 3 / 9 - 1, ("usable", "augmented"): 4 / 9 - 1, ("usable", "delta"): 1 / 9,
    })  # fmt: skip
    shown = run("difference", "-m", "C@1").stdout
    assert shown.count("usable queries alone, as labelled:") == 1
    assert shown.count("a & b") == 6
    run("augment", "--unusable", "keep")
    assert "queries" not in as_json("difference", "-m", "C@1")[0]


@pytest.mark.slow
def test_answers_on_captions_and_on_pairs_never_mix(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = [{"from_name": "relevance", "value": {"choices": ["usable"]}}]
    for name, doc in (("pairs", "e"), ("alone", "*")):
        task = {"data": {"query_id": "q1", "doc_id": doc}}
        task["annotations"] = [{"id": 1, "completed_by": 2, "result": said}]  # type: ignore[assignment]
        (judged / f"validity/{name}.json").write_text(json.dumps([task]))
    told = run("import", "validity/alone.json", "--out", "j.csv", code=1).stderr
    assert "1 answers are on captions alone, and guideline caption-relevance-v1 asks about pairs" in told
    monkeypatch.chdir(judged / "validity")
    told = run("import", "pairs.json", "--guideline", RULES.name, "--out", "j.csv", code=1).stderr
    assert "1 answers are on pairs, and guideline query-validity-v1 asks about captions alone" in told
    told = run("augment", "--labels", "labels/labels.csv", code=1).stderr
    assert "labels: doc '*' marks captions that were judged alone" in told


@pytest.mark.slow
def test_our_own_page_shows_one_caption_and_nothing_else(captions: Path) -> None:
    run("tasks", "--overlap", 0)
    run("push", "--carrier", "page", "--annotator", "A01")
    seen = []
    with office_of(captions, RULES) as (office, name):
        for n in range(len(TEXTS)):
            state = office.state(name)
            (caption,) = state["page"]["captions"]  # ten a page are of one item, and here is none
            assert (state["kind"], state["page"]["media"]) == ("none", "")
            seen.append(caption["text"])
            answer = {"label": "usable", "flags": [], "seconds": 1, "comment": ""}
            office.act("answer", name, answer | {"who": name, "task": caption["task"], "key": f"k{n}"})
    assert sorted(seen) == sorted(TEXTS.values())
    run("pull")
    assert len(rows(Path("judgments/judgments.csv"))) == len(TEXTS)
