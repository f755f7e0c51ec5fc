"""What a judge says reaches no annotator and no label; what it doubts is suggested, in its order."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from command import begin_workspace, pairs_in, rows
from command import run as fire
from exports import fill_in

from fire_toolkit.formats.tables.table_files import read_pool

LABELS = pd.DataFrame(
    {"query_id": ["q", "q", "q", "r", "r"], "doc_id": list("abcab"), "relevance": [1, 0, 1, 0, 1]}
).assign(label="x")
SCORES = LABELS[["query_id", "doc_id"]].assign(score=[0.05, 0.95, 0.9, 0.1, None])


@pytest.fixture
def judged(here: Path) -> Path:
    (here / "fire.toml").write_text("")
    for folder in ("labels", "judgments", "machine/vlm"):
        (here / folder).mkdir(parents=True)
    LABELS.to_csv("labels/labels.csv", index=False)
    LABELS.drop(columns="relevance").assign(annotator_id="A").to_csv("judgments/judgments.csv", index=False)
    SCORES.dropna().assign(judge_id="vlm").to_csv("machine/vlm/machine.csv", index=False)
    return here


def next_round(*words: str, code: int = 0) -> Result:
    return fire("next-round", "--ask", "doubts", *words, code=code)


def test_next_round_asks_what_the_judge_doubts_as_rechecks(judged: Path) -> None:
    before = Path("labels/labels.csv").read_bytes()
    found = next_round()
    assert "2 labels doubted by judge vlm at 0.9 or more; suggestions, not errors" in found.stderr
    pool = read_pool("plan/round-2")
    assert pool[["query_id", "doc_id"]].values.tolist() == [["q", "a"], ["q", "b"]]
    assert set(pool["design_class"]) == {"recheck"}
    assert Path("labels/labels.csv").read_bytes() == before
    next_round("--judge", "vlm", "--budget", "1", "--out", "one")
    assert read_pool("one")[["query_id", "doc_id"]].values.tolist() == [["q", "a"]]


def test_a_label_of_a_pair_that_nobody_judged_is_not_doubted(judged: Path) -> None:
    """It is another pair's, of a caption with the same text, and that pair is doubted."""
    path = Path("judgments/judgments.csv")
    pd.read_csv(path).iloc[1:].to_csv(path, index=False)
    assert "1 label doubted by judge vlm" in next_round().stderr
    assert read_pool("plan/round-2")["doc_id"].tolist() == ["b"]


def test_a_label_that_was_asked_again_is_not_doubted_again(judged: Path) -> None:
    path = Path("judgments/judgments.csv")
    table = pd.read_csv(path).assign(round=1, kind="task")
    again = table.head(1).assign(annotator_id="B", round=2, kind="recheck")
    pd.concat([table, again]).to_csv(path, index=False)
    found = next_round()
    assert "2 labels doubted by judge vlm at 0.9 or more, 1 of them asked again before" in found.stderr
    assert read_pool("plan/round-3")["doc_id"].tolist() == ["b"]
    pd.concat([table, table.assign(annotator_id="B", round=2, kind="recheck")]).to_csv(path, index=False)
    nothing = next_round()
    assert "2 of them asked again before; suggestions" in nothing.stderr
    assert nothing.stderr.splitlines()[-1].startswith("next: fire-toolkit ")


def test_waiting_pairs_are_counted_and_take_no_part_of_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four labels that the judge doubts one waits: two others are asked, and then the last."""
    monkeypatch.chdir(begin_workspace(tmp_path / "work", 4))
    fire("tasks", "--annotator", "A,B,C", "--overlap", 0)
    for sheet in Path("tasks").glob("tasks.?.csv"):
        fill_in(sheet, Path("exports") / sheet.name, lambda *pair: "irrelevant")
    fire("import")
    fire("resolve")
    Path("scores.csv").write_text("query_id,doc_id,score\nq0,v0,.99\nq1,v1,.98\nq2,v2,.97\nq3,v3,.96\n")
    fire("machine", "import", "scores.csv", "--judge", "vlm")
    doubts = ("next-round", "--ask", "doubts", "--budget")
    nobody = fire(*doubts, 0)
    assert not Path("plan").exists(), nobody.stderr
    fire(*doubts, 1)
    told = fire(*doubts, 2).stderr
    assert "note: 1 pair left out, without an answer yet in a round that has begun" in told
    assert pairs_in(Path("plan/round-3/pool.csv")) == {("q1", "v1"), ("q2", "v2")}
    assert "3 pairs left out" in fire(*doubts, 2).stderr
    assert [row["doc_id"] for row in rows(Path("plan/round-4/pool.csv"))] == ["v3"]
    assert "all of them wait for an answer" in fire(*doubts, 2).stderr


def test_scores_that_are_no_probabilities_doubt_nothing(judged: Path) -> None:
    SCORES.fillna(7.0).assign(judge_id="vlm").to_csv("machine/vlm/machine.csv", index=False)
    found = next_round(code=1)
    assert "scores lie between 0.05 and 7, expected labels, or probabilities from 0 to 1" in found.stderr


def test_doubts_go_alone_and_name_their_judge(judged: Path) -> None:
    for words in (
        ["--ask", "dispute"],
        ["--recheck", "x.csv"],
        ["--random-share", "0.1"],
        ["--ask", "audit"],
    ):
        next_round(*words, code=2)
    assert "gpt: no such judge" in next_round("--judge", "gpt", code=1).stderr
    plain = fire("next-round", "--judge", "vlm", code=2)
    assert "--judge does nothing without --ask doubts" in plain.stderr


SAMPLE = Path(__file__).resolve().parents[2] / "pools" / "sample"
OF_PEOPLE = ("tasks", "judgments", "labels", "augmented", "agreement")


def workspace(folder: Path, *, with_judge: bool) -> dict[str, bytes]:
    """The stages of people's judgments in a workspace, with a judge or without one."""
    shutil.copytree(SAMPLE, folder)
    (folder / "fire.toml").write_text(
        '[collection]\nqueries = "queries.tsv"\nitems = "items.tsv"\nqrels = "qrels.txt"\n'
    )
    (folder / "pool").mkdir()
    for name in ("pool.csv", "pool_sources.csv"):
        (folder / name).rename(folder / "pool" / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        if with_judge:
            pairs = (folder / "pool/pool.csv").read_text().splitlines()[1:]
            rows = [",".join([*row.split(",")[:2], "0.123456", "irrelevant"]) for row in pairs]
            (folder / "said.csv").write_text("\n".join(["query_id,doc_id,score,label", *rows]) + "\n")
            fire("machine", "import", "said.csv", "--judge", "contrarian")
            assert (folder / "machine/contrarian/machine.csv").is_file()
        fire("tasks", "--annotator", "A01,A02")
        judged = ("judgments.csv", "--out", "labels")
        fire("resolve", *judged)
        fire("augment", "--labels", "labels", "--out", "augmented/qrels.txt")
        fire("agree", "judgments.csv", "-m", "alpha")
    files = [path for name in OF_PEOPLE for path in sorted((folder / name).rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
def test_people_see_and_say_the_same_with_a_judge_and_without(tmp_path: Path) -> None:
    with_judge = workspace(tmp_path / "with", with_judge=True)
    assert with_judge == workspace(tmp_path / "without", with_judge=False)
    assert {name.partition("/")[0] for name in with_judge} >= {"tasks", "labels", "augmented"}
    assert not any(b"contrarian" in text or b"0.123456" in text for text in with_judge.values())
    shown = json.loads(with_judge["tasks/tasks.json"])
    assert {key for task in shown for key in task["data"]} == {"pair_id", "caption", "video"}
