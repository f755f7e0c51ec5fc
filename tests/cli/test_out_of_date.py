"""Every result knows its age: what is older than its inputs is said, and `refresh` redoes it."""

import contextlib
import json
from pathlib import Path

import pytest
from click.testing import Result
from command import StandIn, begin_small_workspace, manifest_of, run
from exports import export
from small_release import set_in

OUT_OF_DATE = "warning: out of date: "
HOW = "`fire-toolkit refresh` redoes it"


def score() -> None:
    root = begin_small_workspace(Path.cwd())
    with contextlib.chdir(root):
        run("pool")
        run("tasks", "--overlap", "0")
        answer()
        for words in (["import"], ["resolve", "--count-unassigned"], ["augment", "--original-grade", "1"]):
            run(*words)
        set_in(root, measures=["C@1", "P@2"])
        run("score")


@pytest.fixture(autouse=True)
def judged(stand_in: StandIn) -> Path:
    """A workspace with answers in an export, taken all the way to scores."""
    return stand_in(score, "work")


def answer(*, day: int = 1, relevant: tuple[str, str] = ("", "")) -> None:
    """Write an export in which every pair is irrelevant, but for one."""
    said = lambda *pair: "relevant" if pair == relevant else "irrelevant"  # noqa: E731
    export(Path("tasks/tasks.json"), Path("exports/one.json"), said, at=f"2026-01-0{day}T00:00:00Z")


def change_answer() -> None:
    """The pair of query 1 and doc b is relevant a day later."""
    answer(day=2, relevant=("1", "b"))


def warnings(found: Result) -> list[str]:
    return [line for line in found.stderr.splitlines() if line.startswith(OUT_OF_DATE)]


def test_each_command_that_reads_results_older_than_their_inputs_says_so_in_one_line() -> None:
    reads_labels = (["score", "--honest", "-m", "C@1"], ["difference", "-m", "C@1"], ["report", "table1"])
    ssb = Path("runs/ssb.run")
    Path("runs/late.run").write_text(ssb.read_text().replace("ssb", "late"))  # which is no fault
    for command in reads_labels:
        assert warnings(run(*command)) == []
    pooled = ssb.read_text()
    ssb.write_text(pooled.replace("2 Q0 a", "2 Q0 c"))
    told = f"{OUT_OF_DATE}pool (runs/ssb.run has changed); `fire-toolkit status` says what comes first"
    assert warnings(run("score")) == [told]
    ssb.write_text(pooled)
    change_answer()
    changed = f"{OUT_OF_DATE}import (exports/one.json has changed); {HOW}"
    assert warnings(run("agree")) == [changed]
    run("import")
    assert warnings(run("agree")) == []
    for command in (*reads_labels, ["score"], ["orders"], ["own"], ["report", "methods"]):
        told = f"{OUT_OF_DATE}resolve (judgments/judgments.csv has changed); {HOW}"
        assert warnings(run(*command)) == [told], command
    run("resolve", "--count-unassigned")
    assert "out of date: augment (labels/labels.csv has changed)" in warnings(run("score"))[0]
    assert warnings(run("resolve", "--count-unassigned")) == []


def test_the_report_says_in_its_first_line_what_is_out_of_date() -> None:
    run("report", "html")
    assert "out of date" not in Path("report.html").read_text()
    change_answer()
    run("import")
    run("report", "html")
    body = Path("report.html").read_text().partition("<body>")[2]
    assert body.index("out of date: resolve (judgments/judgments.csv has changed)") < body.index("<nav")
    latex = run("score", "-m", "C@1", "--format", "latex").stdout
    assert "out of date: resolve (judgments/judgments.csv has changed)" in latex


def given_again(refreshed: Result) -> list[str]:
    sign = "$ fire-toolkit "
    return [line.removeprefix(sign) for line in refreshed.stderr.splitlines() if line.startswith(sign)]


def test_refresh_redoes_what_is_stale_in_order_as_it_was_given(judged: Path) -> None:
    run("agree")
    change_answer()
    assert run("status").stderr.endswith("next: fire-toolkit refresh\n")
    redone = run("refresh")
    augment = "augment --original-grade 1"
    assert given_again(redone) == ["import", "agree", "resolve --count-unassigned", augment, "score"]
    assert "redone: import, agree, resolve, augment, score" in redone.stderr
    assert "1 0 b 1" in Path("augmented/qrels.txt").read_text()
    assert manifest_of("labels")["parameters"]["count_unassigned"] is True
    kept = {path: path.read_bytes() for path in judged.glob("[!.]*/*") if path.is_file()}
    assert "nothing to redo" in run("refresh").stderr
    assert {path: path.read_bytes() for path in kept} == kept
    assert warnings(run("score", "--honest", "-m", "C@1")) == []


def test_refresh_gives_a_command_where_it_was_given(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(judged / "runs")
    run("compare", "clip.run", "ssb.run", "--out", "../comparison/comparison.csv")
    monkeypatch.chdir(judged / "exports")
    ssb = judged / "runs/ssb.run"
    ssb.write_text(ssb.read_text().replace("ssb\n2 Q0 a", "ssb\n2 Q0 c"))
    found = run("refresh")
    assert given_again(found)[-1] == "compare clip.run ssb.run --out ../comparison/comparison.csv"
    assert "still stale: pool (runs/ssb.run has changed)" in found.stderr
    assert Path.cwd() == judged / "exports"


def test_refresh_overwrites_nothing_that_was_changed_by_hand() -> None:
    run("agree")
    labels = Path("labels/labels.csv")
    right = labels.read_bytes()
    labels.write_text(labels.read_text().replace("irrelevant", "relevant"))
    edited = labels.read_bytes()
    for command in ("refresh", "augment"):
        told = run(command, code=1).stderr
        assert "labels.csv: changed since `fire-toolkit resolve` wrote it" in told
        assert "run that again" in told
    assert labels.read_bytes() == edited
    assert "next: fire-toolkit resolve --count-unassigned" in run("status").stderr
    run("resolve", "--count-unassigned")
    assert labels.read_bytes() == right


def test_refresh_guesses_no_options_and_ends_where_a_command_fails() -> None:
    run("agree")
    at = Path("labels/manifest.json")
    found = json.loads(at.read_text())
    del found["command"]
    at.write_text(json.dumps(found))
    change_answer()
    assert run("refresh", code=1).stderr.splitlines()[-1] == (
        "error: labels/manifest.json: does not tell the command that was given; run `fire-toolkit resolve`"
    )
    assert "next: fire-toolkit resolve\n" in run("status").stderr
    Path("exports/one.json").write_text("[{]")
    judgments = Path("judgments/judgments.csv").read_bytes()
    assert "exports/one.json" in run("refresh", code=1).stderr.splitlines()[-1]
    assert Path("judgments/judgments.csv").read_bytes() == judgments


def test_a_file_that_is_kept_as_changed_is_the_users_own_and_what_follows_goes_on_from_it() -> None:
    run("agree")
    labels = Path("labels/labels.csv")
    labels.write_text(labels.read_text().replace("irrelevant,0", "relevant,1", 1))
    assert "delete its manifest to keep the file" in run("augment", code=1).stderr
    Path("labels/manifest.json").unlink()
    found = run("status")
    assert "labels/labels.csv is your own file, which `resolve` leaves as it is" in found.stdout
    assert found.stderr.splitlines()[-1] == "next: fire-toolkit refresh"
    assert "redone: augment, score" in run("refresh").stderr


def test_status_tells_of_judgments_that_are_gone_where_tasks_wait_beside_another_tools() -> None:
    Path("other.csv").write_text("query_id,doc_id,annotator_id,label\n1,a,X,relevant\n")
    run("import", "other.csv")
    Path("judgments/judgments.csv").unlink()
    found = run("status")
    assert "judgments/judgments.csv is gone" in found.stdout
    assert found.stderr.splitlines()[-1] == "next: fire-toolkit refresh"


def test_status_names_a_file_of_the_collection_that_is_gone_and_what_brings_it_back(judged: Path) -> None:
    run("add-collection", *["collection/queries.tsv", "collection/qrels.txt"], "--out", "brought")
    Path("collection").rename("own")
    Path("brought").rename("collection")
    Path("collection/queries.tsv").unlink()
    assert run("status").stderr.splitlines()[-2:] == [
        "gone: collection/queries.tsv; bring in the benchmark's files, or name yours in fire.toml",
        "next: fire-toolkit add-collection FILE...",
    ]
    set_in(judged, queries="own/queries.tsv")
    assert "gone" not in run("status").stderr
    set_in(judged, queries="own/queries.txt")  # which fire.toml alone names
    assert "gone: own/queries.txt; bring in" in run("status").stderr
    set_in(judged, queries="collection/queries.tsv")
    run("add-collection", "own/queries.tsv", "own/qrels.txt")
    assert "gone" not in run("status").stderr


def test_a_result_of_a_file_that_was_named_is_not_older_than_the_workspace_s() -> None:
    for name, own in (("labels", "labels/labels.csv"), ("qrels", "collection/qrels.txt")):
        Path(f"copy-{name}").write_bytes(Path(own).read_bytes())
        run("augment", "--original-grade", "1", f"--{name}", f"copy-{name}")
        run("refresh")
        assert run("refresh").stderr.startswith("nothing to redo")
        (told,) = [line for line in run("status").stdout.splitlines() if "augment" in line]
        assert "done" in told
        assert f"{own} was not read, as another was named" in told
        Path(f"copy-{name}").unlink()
        assert f"copy-{name} is gone" in run("status").stdout


def test_status_reads_a_collection_that_lies_elsewhere() -> None:
    qrels = Path("collection/qrels.txt").rename("../qrels.txt").resolve()
    set_in(Path(), qrels=str(qrels))
    assert f"{qrels} is new" in run("status").stdout
    qrels.unlink()
    assert "collection/qrels.txt is gone" in run("status").stdout


def test_status_names_tasks_that_are_damaged_beside_answers_of_another_tool() -> None:
    Path("other.csv").write_text("query_id,doc_id,annotator_id,label\n1,a,X,relevant\n")
    run("import", "other.csv")
    Path("tasks/tasks.json").write_text("[{}]")
    assert "tasks/tasks.json was changed by hand" in run("status").stdout


def test_influence_says_where_labels_share_the_judgments_that_it_counts_alone(judged: Path) -> None:
    for words, is_said in ((("resolve",), False), (("resolve", "--share-judgments", "same-text"), True)):
        run(*words)
        assert ("by `resolve --share-judgments`" in run("influence").stderr) == is_said
