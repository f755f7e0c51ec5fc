"""Inside a workspace the commands take what is not given from fire.toml, and status follows them."""

import os
from pathlib import Path

import numpy as np
import pytest
from command import Fire, rows, states
from exports import export

from examples import some
from fire_toolkit.workspace.manifests import manifest_at


def answer_all(root: Path, *, account: int = 1, label: str = "relevant") -> None:
    export(root / "tasks/tasks.json", root / f"exports/{account}.json", lambda *_: label, account=account)


def test_the_loop_needs_no_arguments(fire: Fire, workspace: Path) -> None:
    waiting = dict.fromkeys(("tasks", "import", "agree", "resolve", "augment"), "waiting")
    begun = {stage: state for stage, (state, _) in states().items()}
    assert begun == {**waiting, "pool": "ready", "score": "ready", "compare": "ready"}
    fire("pool")
    fire("tasks")
    answer_all(workspace)
    answer_all(workspace, account=2, label="irrelevant")
    for command in ("import", "agree", "resolve", "augment", "score", "compare"):
        fire(command)
    assert {state for state, _ in states().values()} == {"done"}
    n_pairs = len(rows(workspace / "pool/pool.csv"))
    words = f"all is done; {n_pairs} pairs still in dispute (`next-round` asks again)\n"
    assert fire("status").stderr == words


def test_a_folder_may_have_a_name_that_is_no_utf_8(
    fire: Fire, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = workspace.with_name(os.fsdecode(b"n\xe4me"))
    try:
        workspace.rename(place)
    except OSError:
        pytest.skip("this file system has no such names")
    monkeypatch.chdir(place)
    fire("pool")
    fire("tasks", "--annotator", "A,B")
    export(place / "tasks/tasks.A.json", place / "exports/tasks.A.json", lambda *_: "relevant")
    for command in ("import", "resolve", "augment", "score", "report html", "gallery"):
        fire(*command.split())
    assert "<title>Corrected labels: n?me</title>" in (place / "report.html").read_text()


@pytest.mark.parametrize("name", some(["own-v1", "graded-relevance-v1"], 1))
def test_what_tasks_were_made_by_is_judged_by_everywhere(fire: Fire, workspace: Path, name: str) -> None:
    """Nobody has to write it into fire.toml, which names another guideline, also for one in the workspace."""
    if name == "own-v1":
        fire("guideline", name, "--like", "graded-relevance-v1")
    fire("pool")
    fire("tasks", "--guideline", name)
    answer_all(workspace, label="exact")
    answer_all(workspace, account=2, label="close")
    (workspace / "elsewhere").mkdir()
    os.chdir("elsewhere")
    for command in ("import", "agree", "resolve", "augment"):
        fire(command)
    os.chdir(workspace)
    assert {row["guideline"] for row in rows(workspace / "judgments/judgments.csv")} == {name}
    assert "ordinal" in fire("agree").stdout
    assert "grade 3, the highest of the guideline" in fire("augment").stderr
    assert name in fire("report", "methods").stdout
    other = ("--guideline", "caption-relevance-v1")
    refused = fire("import", *other, "--columns", "query=q,doc=d", "exports/1.json", code=1)
    assert f"the workspace judges by {name}; leave it out" in refused.stderr


def test_what_was_not_made_is_said_and_a_run_goes_by_what_it_is_called(fire: Fire, workspace: Path) -> None:
    for command, file in (("agree", "judgments/judgments.csv"), ("augment", "labels/labels.csv")):
        line = fire(command, code=1).stderr
        assert line == f"error: {file}: not made yet; `fire-toolkit status` says what to run next\n"
    by_file = fire("compare", "runs/ssb.run", "runs/clip.run", "--format", "json").stdout
    assert fire("compare", "ssb", "clip", "--format", "json").stdout == by_file
    line = fire("compare", "ssb", "blip", code=1).stderr
    assert line == "error: blip: no such file, and the workspace's runs are clip, ssb\n"
    assert "other.run: no such file" in fire("compare", "ssb", "other=other.run", code=1).stderr


def test_the_order_of_docs_is_found_beside_a_run_however_it_is_named(fire: Fire, workspace: Path) -> None:
    for other in (workspace / "runs").iterdir():
        other.unlink()
    np.save(workspace / "runs/m.npy", np.array([[1.0, 1.0]]))
    for name, text in {"runs/m.query_ids": "q", "runs/m.doc_ids": "a\nb", "q": "q 0 a 1"}.items():
        (workspace / f"{name}.txt").write_text(text + "\n")
    for run in (["m"], ["runs/m.npy"], []):
        found = fire("score", *run, "--ties", "index", "--qrels", "q.txt", "-m", "C@1", "--format", "csv")
        assert found.stdout.splitlines()[1] == "m,original,all,C@1,1.0"  # by id, descending, b would be first


def test_the_next_command_is_that_of_the_way_the_workspace_goes(
    fire: Fire, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand while no server is known, on the server once one is; answers in exports/ say by hand."""
    fire("pool")
    assert ".: is a folder, expected the name of a file" in fire("tasks", "--out", ".", code=1).stderr
    unknown = ["or on a server: fire-toolkit labelstudio start, then fire-toolkit push"]
    assert fire("tasks").stderr.splitlines()[-2:] == [*unknown, "next: fire-toolkit import"]
    assert fire("status").stderr.splitlines()[-1] == "next: fire-toolkit import"
    assert unknown[0] in fire("status").stderr
    monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", "http://labels.test")
    assert fire("tasks").stderr.splitlines()[-1] == "next: fire-toolkit push"
    assert fire("status").stderr.splitlines()[-1] == "next: fire-toolkit push"
    monkeypatch.delenv("FIRE_LABEL_STUDIO_URL")
    (workspace / ".fire/private").mkdir(parents=True, exist_ok=True)
    (workspace / ".fire/private" / "connection.json").write_text("{}")
    assert fire("status").stderr.splitlines()[-1] == "next: fire-toolkit push"
    answer_all(workspace)
    assert fire("status").stderr.splitlines()[-1] == "next: fire-toolkit import"


def test_options_win_over_settings_and_changed_output_is_refused(fire: Fire, workspace: Path) -> None:
    (workspace / "fire.toml").write_text("[pool]\ndepth = 1\n")
    for words, depth in (([], 1), (["--depth", 2], 2)):
        fire("pool", *words)
        assert manifest_at(workspace / "pool/manifest.json").parameters["depth"] == depth
    pool = workspace / "pool/pool.csv"
    pool.write_text(pool.read_text().replace("007", "008"))
    assert "changed since `fire-toolkit pool` wrote it" in fire("tasks", code=1).stderr
    assert states()["pool"][0] == "stale"


def test_commands_work_from_below_and_name_inputs_from_the_root(
    fire: Fire, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fire("pool")
    before = (workspace / "pool/manifest.json").read_bytes()
    monkeypatch.chdir(workspace / "runs")
    fire("pool")
    assert before == (workspace / "pool/manifest.json").read_bytes()
    assert "collection/qrels.txt" in manifest_at(workspace / "pool/manifest.json").inputs
