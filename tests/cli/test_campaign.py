"""push, pull, progress and next-round as a person uses them, against a server in this process."""

import contextlib
import copy
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import Copied, alter, begin_workspace, given, rows, states

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from fake_api import TOKEN, FakeServer

from fire_toolkit.campaign.records import read_campaign
from fire_toolkit.campaign.store import read_ledger
from fire_toolkit.cli import main
from fire_toolkit.cli.fetching import pull_once
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.guidelines.label_config import config_sha256


def begin() -> None:
    with contextlib.chdir(begin_workspace(Path("work"), 8, n_known=12)):
        Path("controls.txt").write_text("q8 0 v8 1\nq9 0 v9 0\n")
        run("tasks", "pool/pool.csv", "--overlap", "0.5")


@pytest.fixture
def workspace(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied(begin, tmp_path) / "work"
    monkeypatch.chdir(root)
    return root


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    assert TOKEN not in result.output
    return result


def push_all(*more: str) -> Result:
    return run("push", "--annotator", "A02", "--annotator", "A03", *more)


def answer_all(server: FakeServer, labels: dict[int, str], *, seconds: float = 6.0) -> None:
    """Let each annotator answer her whole project with one label."""
    for user, label in labels.items():
        answered = {found["task"] for found in server.annotations.values()}
        for number, project in list(server.projects.items()):
            if not project["description"].endswith(f"queue A0{user}"):
                continue
            for task in server.tasks_of(number):
                if task["id"] not in answered:
                    server.answer(task["id"], user, label, lead_time=seconds)


def test_the_whole_way(server: FakeServer, workspace: Path) -> None:
    pushed = push_all("--controls", "controls.txt", "--format", "json")
    assert json.loads(pushed.stdout) == {
        "projects": 2,
        "added": 16,
        "there": 0,
        "updated": 0,
        "held": 0,
        "duplicates": 0,
        "foreign": 0,
        "pages": {
            "1/A02": "http://label-studio.test/projects/1/data?labeling=1",
            "1/A03": "http://label-studio.test/projects/2/data?labeling=1",
        },
    }
    assert json.loads(run("push", "--format", "json").stdout)["added"] == 0

    answer_all(server, {2: "relevant", 3: "irrelevant"})
    pulled = json.loads(run("pull", "--format", "json").stdout)
    assert (pulled["new"], pulled["judgments"], pulled["dropped"]) == (16, 12, {"control": 4})
    judgments = read_delimited(workspace / "judgments" / "judgments.csv")
    assert set(judgments["annotator_id"]) == {"A02", "A03"}
    assert set(judgments["kind"]) == {"task", "overlap"}
    assert set(judgments["round"]) == {"1"}

    queues = {
        queue["annotator_id"]: queue for queue in json.loads(run("progress", "--format", "json").stdout)
    }
    assert (queues["A02"]["n_done"], queues["A02"]["n_left"], queues["all"]["n_done"]) == (8, 0, 16)
    assert (queues["A02"]["n_right"], queues["A02"]["n_controls"]) == (1, 2)
    assert queues["A02"]["seconds"] == 6.0

    run("resolve")
    planned = json.loads(run("next-round", "--annotator", "A04", "--format", "json").stdout)
    assert (planned["round"], planned["pairs"], planned["waiting"]) == (2, 4, 0)
    assert planned["annotators"] == {"A04": 4}
    assert json.loads(run("push", "--format", "json").stdout)["added"] == 4
    again = json.loads(run("next-round", "--annotator", "A04", "--format", "json").stdout)
    assert (again["pairs"], again["waiting"]) == (0, 4)

    answer_all(server, {4: "relevant"})
    run("pull")
    judgments = read_delimited(workspace / "judgments" / "judgments.csv")
    later = judgments[judgments["round"] == "2"]
    assert (set(later["kind"]), set(later["annotator_id"]), len(later)) == ({"adjudication"}, {"A04"}, 4)
    run("resolve")
    assert len(read_delimited(workspace / "labels" / "disputes.csv")) == 0


def test_the_pairs_of_a_later_model_are_a_further_round(server: FakeServer, workspace: Path) -> None:
    """Rounds: 1 the first pool, 2 its disputes asked again, 3 the pairs of a model that came later."""
    (workspace / "runs/first.run").write_text("".join(f"q{n} Q0 v{n} 1 1 first\n" for n in range(8)))
    (workspace / "collection/qrels.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(12)))
    push_all("--controls", "controls.txt")
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    run("pull")
    run("resolve")
    run("next-round", "--annotator", "A04")
    run("push")

    late = [f"q{n} Q0 v{n} 1 1 late\n" for n in range(4, 12)]
    (workspace / "runs/late.run").write_text("".join(late))
    (workspace / "pool/pool.csv").unlink()  # made by hand, so that `pool` does not overwrite it
    assert "8 judged before, 4 new, to be asked in round 3" in run("pool").stderr
    made = run("tasks", "--overlap", "0.5").stderr
    assert "4 tasks in tasks/round-3/tasks.json; 2 of them again" in made
    assert "next: fire-toolkit push" in made
    assert states()["push"] == ("stale", "tasks/round-3/tasks.json is new")
    before = [given(workspace, number) for number in (1, 2)]
    pushed = json.loads(push_all("--format", "json").stdout)
    assert (pushed["added"], pushed["there"]) == (6, 20)
    assert [given(workspace, number) for number in (1, 2)] == before
    assert json.loads(run("push", "--format", "json").stdout)["added"] == 0
    assert states()["push"][0] == "done"

    answer_all(server, {2: "relevant", 3: "irrelevant", 4: "relevant"})
    run("pull")
    new = [row for row in rows(workspace / "judgments/judgments.csv") if row["round"] == "3"]
    assert {row["query_id"] for row in new} == {"q8", "q9", "q10", "q11"}
    assert [row["kind"] for row in new].count("overlap") == 2
    told = run("agree", "--format", "json")
    assert "4 answers of later rounds or unasked for left out" in told.stderr  # those of round 2
    percent = next(row for row in json.loads(told.stdout) if row["statistic"] == "percent_agreement")
    assert int(percent["n_pairable"]) == 4 + 2
    run("resolve")
    planned = json.loads(run("next-round", "--annotator", "A04", "--format", "json").stdout)
    assert (planned["round"], planned["pairs"], planned["waiting"]) == (4, 2, 0)


def test_pairs_given_out_before_are_no_new_round(server: FakeServer, workspace: Path) -> None:
    push_all()
    tasks = [task | {"meta": {"round": 2}} for task in json.loads(Path("tasks/tasks.json").read_text())]
    Path("again.json").write_text(json.dumps(tasks))
    refused = run("push", "again.json", "--annotator", "A04", code=1).output
    assert "again.json: 8 pairs given out in an earlier round" in refused
    assert not given(workspace, 2)
    Path("again.json").write_text(json.dumps([tasks[0], tasks[1] | {"meta": {"round": 3}}]))
    assert "tasks of rounds 2, 3; expected" in run("push", "again.json", "--annotator", "A04", code=1).output


def test_a_file_for_each_person_holds_the_queue_that_push_would_give(
    server: FakeServer, workspace: Path
) -> None:
    run("tasks", "--overlap", "0.5", "--annotator", "A02,A03=2")
    run("push", "--annotator", "A02", "--annotator", "A03=2")
    for name in ("A02", "A03"):
        by_hand = [
            task["data"]["pair_id"] for task in json.loads(Path(f"tasks/tasks.{name}.json").read_text())
        ]
        queue = [row for row in given(Path()) if row["annotator_id"] == name]
        assert by_hand == [row["pair_id"] for row in sorted(queue, key=lambda row: int(row["position"]))]


def test_unverified_positives_are_asked_again_when_wanted(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant", 3: "relevant"})
    run("pull")
    run("resolve")
    assert json.loads(run("next-round", "--annotator", "A04", "--format", "json").stdout)["pairs"] == 0
    asked = run(
        "next-round", "--annotator", "A04", "--ask", "unverified_positive", "--dry-run", "--format", "json"
    )
    assert json.loads(asked.stdout)["pairs"] == 4
    assert not given(workspace, 2)


def test_those_who_have_seen_a_pair_cannot_decide_it(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    run("pull")
    run("resolve")
    refused = run("next-round", "--annotator", "A02", "--annotator", "A03", code=1)
    assert "4 of 4 pairs have been seen by every annotator" in refused.output


def test_active_annotators_of_the_register_are_the_default(server: FakeServer, workspace: Path) -> None:
    refused = run("push", code=2)
    assert "no annotators: create accounts with `fire-toolkit annotators add A01 A02`" in refused.output
    run("annotators", "add")  # three accounts of somebody else's campaign
    refused = run("push", code=2)
    assert (
        "made by this workspace can be asked; name others with --annotator (A02, A03, A04)" in refused.output
    )
    register = workspace / ".fire/private" / "annotators.csv"
    register.write_text(register.read_text().replace("active,\n", "active,made-here\n", 2))
    assert json.loads(run("push", "--format", "json").stdout)["projects"] == 2


@pytest.mark.parametrize("what", ["unmarked", "deleted"])
def test_a_project_that_is_gone_before_its_first_pull_is_missed_by_all(
    server: FakeServer, workspace: Path, what: str
) -> None:
    push_all()
    run("pull")
    project = server.projects[1]
    if what == "unmarked":
        project["description"] = ""
        server.answer(server.tasks_of(1)[0]["id"], 2)
    else:
        for task in server.tasks_of(1):
            server.delete_task(task["id"])
        del server.projects[1]
    words = {"unmarked": "project 1 (1/A02) has lost its mark", "deleted": "project 1 (1/A02) was deleted"}[
        what
    ]
    assert words in run("pull", "--full").stderr
    assert words in run("status").stderr
    doctor = run("doctor", code=3).stdout
    assert words in doctor
    assert what == "unmarked" or "fire-toolkit push --replace" in doctor
    n_projects = len(server.projects)
    assert f"error: {words}" in run("push", code=1).stderr
    assert len(server.projects) == n_projects
    assert json.loads(run("push", "--replace", "--format", "json").stdout)["added"] == 6
    assert (words in run("pull").stderr) == (what == "unmarked")
    if what == "unmarked":
        project["description"] = doctor.partition("set its description under Settings to: ")[2].split("\n")[0]
        assert json.loads(run("pull", "--format", "json").stdout)["new"] == 1
        assert "queue 1/A02 has 2 projects" in run("status").stderr


def test_a_dry_run_says_who_would_judge_how_much_and_sends_nothing(
    server: FakeServer, workspace: Path
) -> None:
    dry = push_all("--dry-run")
    assert "12 tasks; no judgment was timed yet, so hours are not known" in dry.stderr
    assert "nothing was sent" in dry.stderr
    assert server.requests == []
    assert not given(workspace)
    rows = json.loads(push_all("--dry-run", "--format", "json").stdout)
    assert [(row["annotator"], row["all"], row["hours"]) for row in rows] == [
        ("A02", 6, None),
        ("A03", 6, None),
    ]


def test_hours_are_those_that_were_measured(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant"}, seconds=9.0)
    run("pull")
    assert "12 tasks, 0.0 hours at 9.0 s a judgment" in run("push", "--dry-run").stderr


def test_other_tasks_or_annotators_do_not_mix_with_a_round_that_has_begun(
    server: FakeServer, workspace: Path
) -> None:
    push_all()
    refused = run("push", "--annotator", "A02", "--annotator", "A04", code=1)
    assert "round 1 was assigned differently (assignments would change)" in refused.output


def test_a_campaign_keeps_the_page_that_it_began_with(server: FakeServer, workspace: Path) -> None:
    push_all()
    begun = read_campaign(workspace)
    assert begun is not None
    earlier = re.sub(r"<Style>.*</Style>", "", begun.label_config, flags=re.DOTALL)
    earlier = re.sub(
        r"<HyperText.*</HyperText>", '<Video name="video" value="$video"/>', earlier, flags=re.DOTALL
    )
    change = "update campaign set label_config = ?, config_sha256 = ?"
    alter(workspace, change, earlier, config_sha256(earlier))
    for project in server.projects.values():
        project["label_config"] = earlier
    del server.projects[max(server.projects)]
    assert "6 tasks added" in run("push", "--check-media", "0", "--replace").stderr
    assert {project["label_config"] for project in server.projects.values()} == {earlier}
    other = earlier.replace('value="ambiguous"', 'value="unclear"')
    alter(workspace, change, other, config_sha256(other))
    assert "began with another labeling page" in run("push", code=1).output


def test_a_plan_says_what_the_next_round_asks(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    run("pull")
    run("resolve")
    words = ("next-round", "--random-share", "1", "--budget", "6", "--annotator", "A04", "--format", "json")
    asked = json.loads(run(*words).stdout)
    assert (asked["round"], asked["pairs"], asked["annotators"]) == (2, 5, {"A04": 5})
    assert (asked["kept"], asked["unused"]) == (1, 0)  # one dispute to come
    planned = read_delimited(workspace / "plan" / "round-2" / "pool.csv")
    assert (len(planned), set(planned["round"])) == (5, {"2"})
    assert len(given(workspace, 2)) == 5


def test_a_policy_is_kept_from_the_start(server: FakeServer, workspace: Path) -> None:
    told = push_all("--policy", "verify-positives")
    assert "policy verify-positives: " in told.stderr
    design = read_delimited(workspace / "campaign" / "design.csv")
    assert set(design["design_class"]) == {"verify", "doubled"}
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    run("pull")
    run("resolve")
    labels = read_delimited(workspace / "labels" / "labels.csv")
    waiting = labels[(labels["design_class"] == "verify") & (labels["design_votes"] == "1")]
    asked = json.loads(run("next-round", "--annotator", "A04", "--format", "json").stdout)
    by_stratum = {row["stratum"]: row["n_asked"] for row in asked["plan"]}
    assert by_stratum["by_design"] == len(waiting) + len(read_delimited(workspace / "labels/disputes.csv"))
    assert len(waiting) > 0


def test_training_is_done_first(server: FakeServer, workspace: Path) -> None:
    Path("t").mkdir()
    Path("t/pool.csv").write_text("query_id,doc_id\nq10,v10\nq11,v11\n")
    run("tasks", "t", "--overlap", "0", "--out", "training.json")
    first = push_all("--training", "training.json")
    assert "6 tasks held back until the training is done" in first.stderr
    assert len(server.tasks) == 4
    answer_all(server, {2: "relevant"})
    run("pull")
    assert json.loads(run("push", "--format", "json").stdout)["added"] == 6
    queues = {
        queue["annotator_id"]: queue for queue in json.loads(run("progress", "--format", "json").stdout)
    }
    assert (queues["A02"]["n_training_left"], queues["A03"]["n_training_left"]) == (0, 2)


def test_a_push_cut_short_between_its_records_keeps_one_key(server: FakeServer, workspace: Path) -> None:
    push_all()
    alter(workspace, "delete from campaign")  # as if killed before it was written
    alter(workspace, "delete from places")
    server.projects.clear()
    server.tasks.clear()
    run("push")
    assert json.loads(run("push", "--format", "json").stdout)["there"] == 12
    assert len(server.projects) == 2


def test_exports_go_the_same_way(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    tasks = [server._shown(task, {"fields": "all"}) for task in server.tasks.values()]
    Path("export.json").write_text(json.dumps(tasks))
    run("annotators", "add")
    pulled = json.loads(run("import", "export.json", "--format", "json").stdout)
    assert (pulled["new"], pulled["judgments"]) == (12, 12)
    assert json.loads(run("pull", "--format", "json").stdout)["new"] == 0
    assert set(read_delimited(workspace / "judgments" / "judgments.csv")["kind"]) == {"task", "overlap"}


def test_a_deleted_task_is_noticed(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant"})
    run("pull")
    server.delete_task(1)
    pulled = json.loads(run("pull", "--format", "json").stdout)
    assert (pulled["deleted"], pulled["dropped"]) == (1, {"deleted": 1})


def test_a_deleted_project_is_named_and_its_answers_count_until_the_loss_is_accepted(
    server: FakeServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_all()
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    run("pull")
    number = server.project_of("A03")
    del server.projects[number]
    gone = f"project {number} (1/A03) was deleted, with 6 answers; these answers still count"
    pulled = run("pull", "--full", "--format", "json")
    assert json.loads(pulled.stdout)["judgments"] == 12
    assert f"note: {gone}" in pulled.stderr
    assert f"warning: at the last pull {gone}" in run("status").stderr
    assert "--accept-loss goes with --full" in run("pull", "--accept-loss", code=2).output
    pulled = run("pull", "--full", "--accept-loss", "--format", "json")
    assert json.loads(pulled.stdout)["judgments"] == 6
    assert len(read_ledger(workspace / "campaign.sqlite")) == 18
    assert "was deleted" not in pulled.stderr + run("status").stderr


def test_a_full_pull_is_asked_for_at_the_end_of_a_round(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant"})
    run("pull")  # the first one reads all
    due = "answers came in since the last `pull --full`"
    assert due not in run("resolve").stderr
    answer_all(server, {3: "irrelevant"})
    run("pull")
    assert f"note: {due}" in run("resolve").stderr
    assert due in run("status").stderr
    run("pull", "--full")
    assert due not in run("resolve").stderr + run("status").stderr


def test_a_full_pull_is_not_due_while_people_judge(server: FakeServer, workspace: Path) -> None:
    push_all()
    run("pull")
    answer_all(server, {2: "relevant"})
    run("pull")
    assert "pull --full" not in run("status").stderr


def test_the_next_pull_asks_for_changes_only(server: FakeServer, workspace: Path) -> None:
    push_all()
    answer_all(server, {2: "relevant"})
    run("pull")
    server.requests.clear()
    run("pull")
    queries = [r.url.params.get("query", "") for r in server.requests if r.url.path == "/api/tasks/"]
    assert sum("filter:tasks:updated_at" in query for query in queries) == 2


def test_a_server_that_refuses_ends_with_code_3(
    server: FakeServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_all()
    monkeypatch.setenv("FIRE_LABEL_STUDIO_TOKEN", "f" * 40)
    assert "401: the server does not accept the token" in run("pull", code=3).output
    assert "401: the server does not accept the token" in run("push", code=3).output


def test_what_has_not_begun_is_said(server: FakeServer, workspace: Path) -> None:
    assert "nothing was pushed from this workspace" in run("pull", code=1).output
    assert "nothing was pushed from this workspace" in run("progress", code=1).output
    assert "none has begun here" in run("next-round", "--annotator", "A01", code=2).output


def test_outside_a_workspace_it_is_a_usage_error(here: Path) -> None:
    for command in ("push", "pull", "progress", "next-round"):
        assert "fire-toolkit init" in run(command, code=2).output


def test_tasks_that_would_tell_are_refused(server: FakeServer, workspace: Path) -> None:
    tasks = json.loads(Path("tasks/tasks.json").read_text())
    tasks[0]["data"]["score"] = 0.7
    Path("told.json").write_text(json.dumps(tasks))
    refused = run("push", "told.json", "--annotator", "A02", code=1)
    assert "told.json: task 1: score would be visible to annotators" in refused.output
    Path("bare.json").write_text('[{"data": {"caption": "x", "video": "y"}}]')
    assert "task 1: no data.pair_id" in run("push", "bare.json", "--annotator", "A02", code=1).output


def test_words_for_what_was_found_on_the_server(server: FakeServer, workspace: Path) -> None:
    push_all()
    project = next(iter(server.projects))
    there, *foreign = server.tasks_of(project)[0]["data"], {"caption": "by hand"}, {"pair_id": 7}
    server._import(project, [{"data": data} for data in (there, *foreign)])
    server.projects[project]["enable_empty_annotation"] = True
    words = run("push").stderr
    assert "1 pair there more than once" in words
    assert "2 tasks not of this queue" in words
    assert "enable_empty_annotation had been changed by hand and were restored" in words
    assert server.projects[project]["enable_empty_annotation"] is False


def test_status_knows_what_was_pushed_and_pulled(server: FakeServer, workspace: Path) -> None:
    (workspace / "pool" / "pool.csv").rename(workspace / "pairs.csv")
    run("tasks", "pairs.csv", "--overlap", "0.5")
    assert states()["push"] == ("ready", "not done yet")
    assert states()["pull"] == ("waiting", "needs campaign.sqlite")
    push_all()
    assert states()["push"] == ("done", "tasks 12, projects 2, held 0")
    assert "import" not in states()
    assert states()["pull"] == ("ready", "not done yet")
    answer_all(server, {2: "relevant"})
    run("pull")
    run("push")
    assert [states()[name][0] for name in ("push", "pull")] == ["done", "done"]

    answer_all(server, {3: "irrelevant"})
    pull_once(workspace)  # answers that judgments.csv does not have
    state, reason = states()["pull"]
    assert state == "stale"
    assert reason == "campaign.sqlite has changed"
    run("pull")
    assert states()["pull"][0] == "done"

    run("resolve")
    run("next-round", "--annotator", "A04")
    assert states()["push"] == ("stale", "round 2 is new")
    run("push")
    assert states()["push"][0] == "done"

    before = (workspace / "tasks/tasks.json").read_bytes()
    for more in (("--overlap", "0.5", "--seed", "5"), ("--overlap", "0")):
        told = run("tasks", "pairs.csv", *more, code=1).stderr
        assert "already exists, would change, and people may have its tasks" in told
    assert (workspace / "tasks/tasks.json").read_bytes() == before
    assert states()["push"][0] == "done"


class SmallDisk:
    """A disk that is full at the n-th write that must last; n = 0: it has room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full_at = 0
        self.n_writes = 0
        fsync = os.fsync

        def flush(handle: int) -> None:
            self.n_writes += 1
            if self.n_writes == self.full_at:
                raise OSError(errno.ENOSPC, "No space left on device")
            fsync(handle)

        monkeypatch.setattr(os, "fsync", flush)

    def fill_at(self, place: int) -> None:
        self.full_at, self.n_writes = place, 0


def after_a_full_disk_at_each_write(
    *arguments: str, server: FakeServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Yield a workspace in which a command met a full disk at its 1st, 2nd, ... write, and then ran again."""
    disk = SmallDisk(monkeypatch)
    before = copy.deepcopy((server.projects, server.tasks, server.annotations))
    run(*arguments)
    for place in range(1, disk.n_writes + 1):
        server.projects, server.tasks, server.annotations = copy.deepcopy(before)
        folder = shutil.copytree(
            workspace.with_name(f"{workspace.name}-before"), workspace.with_name(f"{workspace.name}-{place}")
        )
        monkeypatch.chdir(folder)
        disk.fill_at(place)
        result = CliRunner().invoke(main, list(arguments))
        if result.exit_code == 0:  # a record that may be missing was not written
            assert place == disk.n_writes
            run(*arguments)
            yield folder
            continue
        assert result.exit_code == 1, result.output
        (line,) = [line for line in result.output.splitlines() if line.startswith("error:")]
        assert "No space left on device" in line
        disk.fill_at(0)
        run(*arguments)
        yield folder


@pytest.mark.slow
def test_a_full_disk_at_any_write_of_a_push_doubles_and_misses_nothing(
    server: FakeServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(workspace, workspace.with_name(f"{workspace.name}-before"))
    push = ("push", "--annotator", "A02", "--annotator", "A03")
    n_tried = 0
    for folder in after_a_full_disk_at_each_write(
        *push, server=server, workspace=workspace, monkeypatch=monkeypatch
    ):
        n_tried += 1
        for name in ("A02", "A03"):
            own = [row["pair_id"] for row in given(folder) if row["annotator_id"] == name]
            assert server.keys_of(server.project_of(name)) == dict.fromkeys(own, 1)
    assert n_tried > 3


@pytest.mark.slow
def test_a_full_disk_at_any_write_of_a_pull_doubles_and_misses_nothing(
    server: FakeServer, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_all()
    answer_all(server, {2: "relevant"})
    run("pull")
    answer_all(server, {3: "irrelevant"})
    server.edit(1, 2, "irrelevant")
    server.delete_annotation(2)
    shutil.copytree(workspace, workspace.with_name(f"{workspace.name}-before"))
    n_tried = 0
    for folder in after_a_full_disk_at_each_write(
        "pull", server=server, workspace=workspace, monkeypatch=monkeypatch
    ):
        n_tried += 1
        states = read_ledger(folder / "campaign.sqlite")["state"]
        assert states.value_counts().to_dict() == {"answered": 12, "edited": 1, "deleted": 1}
        assert len(read_delimited(folder / "judgments" / "judgments.csv")) == 11
    assert n_tried > 5


def test_a_real_disk_without_room_stops_a_pull_and_room_lets_it_go_on(
    server: FakeServer, workspace: Path
) -> None:
    push_all()
    answer_all(server, {2: "relevant"})
    run("pull")
    answer_all(server, {3: "relevant"})
    disk = workspace / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk")
    try:
        shutil.move(workspace / "campaign.sqlite", disk)
        (workspace / "campaign.sqlite").symlink_to(disk / "campaign.sqlite")
        filler = disk / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as stream:
            while stream.write(b"x" * 1024):
                pass
        result = run("pull", code=1)
        assert "No space left on device" in result.output
        filler.unlink()
        assert json.loads(run("pull", "--format", "json").stdout)["new"] == 6
        assert len(read_ledger(disk / "campaign.sqlite")) == 12
    finally:
        subprocess.run(["umount", str(disk)], check=True)
