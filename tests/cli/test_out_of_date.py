"""Every result knows its age: what is older than its inputs is said, and how to redo it."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import Copied, begin_small_workspace, run
from small_release import set_in

from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.workspace.manifests import read_manifest

Fire = Callable[..., Result]
OUT_OF_DATE = "warning: out of date: "
HOW = "`fire-toolkit status` says how to redo it"


def score() -> None:
    root = begin_small_workspace(Path.cwd())
    with contextlib.chdir(root):
        run("pool")
        run("tasks", "--overlap", "0")
        answer(root, {})
        for words in (["import"], ["resolve", "--count-unassigned"], ["augment", "--original-grade", "1"]):
            run(*words)
        set_in(root, measures=["C@1", "P@2"])
        run("score")


@pytest.fixture
def judged(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with answers in an export, taken all the way to scores."""
    monkeypatch.chdir(copied(score, tmp_path) / "work")
    return tmp_path / "work"


def answer(root: Path, edited: dict[tuple[str, str], str], at: str = "2026-01-01T00:00:00Z") -> None:
    """Write an export in which every pair is irrelevant, but for those edited."""
    tasks = json.loads((root / "tasks/tasks.json").read_text())
    for n, task in enumerate(tasks, 1):
        label = edited.get(split_pair_id(task["data"]["pair_id"]), "irrelevant")
        result = [{"from_name": "relevance", "type": "choices", "value": {"choices": [label]}}]
        annotation = {"id": n, "completed_by": 1, "result": result, "created_at": at, "updated_at": at}
        task |= {"id": n, "annotations": [annotation]}
    (root / "exports/one.json").write_text(json.dumps(tasks))


def warnings(found: Result) -> list[str]:
    return [line for line in found.stderr.splitlines() if line.startswith(OUT_OF_DATE)]


def test_each_command_that_reads_results_older_than_their_inputs_says_so_in_one_line(
    fire: Fire, judged: Path
) -> None:
    reads_labels = (["score", "--honest", "-m", "C@1"], ["difference", "-m", "C@1"], ["report", "table1"])
    for command in reads_labels:
        assert warnings(fire(*command)) == []
    answer(judged, {("1", "b"): "relevant"}, at="2026-01-02T00:00:00Z")
    changed = f"{OUT_OF_DATE}import (exports/one.json has changed); {HOW}"
    assert warnings(fire("agree")) == [changed]
    fire("import")
    assert warnings(fire("agree")) == []
    for command in (*reads_labels, ["score"], ["orders"], ["own"]):
        told = f"{OUT_OF_DATE}resolve (judgments/judgments.csv has changed); {HOW}"
        assert warnings(fire(*command)) == [told], command
    fire("resolve", "--count-unassigned")
    assert "out of date: augment (labels/labels.csv has changed)" in warnings(fire("score"))[0]
    assert warnings(fire("resolve", "--count-unassigned")) == []


def test_the_report_says_in_its_first_line_what_is_out_of_date(fire: Fire, judged: Path) -> None:
    fire("report", "html")
    assert "out of date" not in (judged / "report.html").read_text()
    answer(judged, {("1", "b"): "relevant"}, at="2026-01-02T00:00:00Z")
    fire("import")
    fire("report", "html")
    body = (judged / "report.html").read_text().partition("<body>")[2]
    assert body.index("out of date: resolve (judgments/judgments.csv has changed)") < body.index("<nav")
    latex = fire("score", "-m", "C@1", "--format", "latex").stdout
    assert "out of date: resolve (judgments/judgments.csv has changed)" in latex


def next_words(fire: Fire) -> list[str]:
    """The command that `status` names."""
    (line,) = (line for line in fire("status").stderr.splitlines() if line.startswith("next: "))
    return line.removeprefix("next: fire-toolkit ").split()


def test_status_names_what_is_to_be_redone_in_order_as_it_was_given(fire: Fire, judged: Path) -> None:
    answer(judged, {("1", "b"): "relevant"}, at="2026-01-02T00:00:00Z")
    given = []
    for _ in range(5):
        given.append(" ".join(words := next_words(fire)))
        fire(*words)
    redone = ["resolve --count-unassigned", "augment --original-grade 1", "score"]
    assert given == ["import", "agree", *redone]
    assert "1 0 b 1" in (judged / "augmented/qrels.txt").read_text()
    assert read_manifest(judged / "labels/manifest.json").parameters["count_unassigned"] is True
    assert "stale" not in fire("status").stdout
    assert warnings(fire("score", "--honest", "-m", "C@1")) == []


def test_status_says_where_a_command_was_given_that_names_files(
    fire: Fire, judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fire("agree")
    monkeypatch.chdir(judged / "runs")
    fire("score", "clip.run", "--qrels", "../collection/qrels.txt", "--out", "../scores/scores.csv")
    monkeypatch.chdir(judged)
    text = (judged / "runs/clip.run").read_text()
    (judged / "runs/clip.run").write_text(text.replace("0.9", "0.95"))
    fire("pool")
    fire("augment", "--original-grade", "1")
    told = fire("status").stderr
    words = "score clip.run --qrels ../collection/qrels.txt --out ../scores/scores.csv"
    assert f"next: fire-toolkit {words}   # in runs" in told


def test_status_does_not_guess_the_options_of_a_manifest_without_its_command(
    fire: Fire, judged: Path
) -> None:
    at = judged / "labels/manifest.json"
    found = json.loads(at.read_text())
    del found["command"]
    at.write_text(json.dumps(found))
    answer(judged, {("1", "b"): "relevant"}, at="2026-01-02T00:00:00Z")
    fire("import")
    fire("agree")
    assert next_words(fire) == ["resolve"]
