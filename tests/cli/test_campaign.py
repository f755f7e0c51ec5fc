"""push, pull, progress and next-round as a person uses them, against a server in this process."""

import contextlib
import copy
import errno
import json
import os
import re
import shutil
from pathlib import Path

import command
import pytest
from click.testing import CliRunner, Result
from command import StandIn, alter, as_json, begin_workspace, by_pair, given, rows, states
from fake_api import TOKEN, FakeServer
from network import connect
from records import read_ledger

from examples import cases
from fire_toolkit.campaign.records import Rounds
from fire_toolkit.cli import main
from fire_toolkit.cli.pull import pull_once
from fire_toolkit.guidelines.label_config import config_sha256

BOTH = ("--annotator", "A02,A03")
JUDGED = FakeServer()  # as it is after the two have judged all


def begin() -> None:
    with contextlib.chdir(begin_workspace(Path("work"), 8, n_known=12)):
        Path("controls.txt").write_text("q8 0 v8 1\nq9 0 v9 0\n")
        run("tasks", "pool/pool.csv", "--overlap", "0.5")


@pytest.fixture
def workspace(stand_in: StandIn) -> Path:
    return stand_in(begin, "work")


def judge() -> None:
    """A02 and A03 judge all, and differ on the four pairs that both have."""
    begin()
    with contextlib.chdir("work"), pytest.MonkeyPatch.context() as patch:
        connect(patch, JUDGED)
        push_all()
        answer_all(JUDGED, {2: "relevant", 3: "irrelevant"})
        run("pull")


@pytest.fixture
def judged(server: FakeServer, stand_in: StandIn) -> Path:
    """The same workspace with a first round that was judged and pulled."""
    root = stand_in(judge, "work")
    for name in ("projects", "tasks", "annotations", "_ticks"):
        setattr(server, name, copy.deepcopy(getattr(JUDGED, name)))
    return root


def run(*arguments: object, code: int = 0) -> Result:
    result = command.run(*arguments, code=code)
    assert TOKEN not in result.output
    return result


def push_all(*more: str) -> Result:
    return run("push", *BOTH, *more)


def answer_all(server: FakeServer, labels: dict[int, str], *, seconds: float = 6.0) -> None:
    """Let each annotator answer her whole project with one label."""
    for user, label in labels.items():
        answered = {found["task"] for found in server.annotations.values()}
        for number, project in list(server.projects.items()):
            if project["description"].endswith(f"queue A0{user}"):
                for task in server.tasks_of(number):
                    if task["id"] not in answered:
                        server.answer(task["id"], user, label, lead_time=seconds)


def judgments(root: Path) -> list[dict[str, str]]:
    return rows(root / "judgments/judgments.csv")


@pytest.mark.parametrize("steps", [("import", "pull"), ("pull", "import")])
def test_an_answer_that_an_export_and_a_pull_brought_is_gone_with_the_server_s(
    server: FakeServer, workspace: Path, steps: tuple[str, str]
) -> None:
    push_all()
    project = server.project_of("A02")
    tasks = server.tasks_of(project)[:2]
    answers = [server.answer(task["id"], 2, "relevant") for task in tasks]
    export = [task | {"annotations": [server.annotations[n]]} for task, n in zip(tasks, answers, strict=True)]
    Path("exports/tasks.A02.json").write_text(json.dumps(export))
    for step in steps:
        run(step)
    assert as_json("pull") == as_json("pull") | {"new": 0, "restored": 0, "judgments": 2}
    server.delete_annotation(answers[0])
    assert (as_json("pull")["deleted"], len(judgments(workspace))) == (1, 1)
    server.delete_project(project)
    assert "with 1 answer;" in run("pull").stderr
    run("pull", "--full", "--accept-loss")
    assert judgments(workspace) == []


@pytest.mark.parametrize("is_pulled_first", [True, False])
def test_status_names_push_until_deleted_tasks_are_there_again(
    server: FakeServer, workspace: Path, *, is_pulled_first: bool
) -> None:
    push_all()
    answer_all(server, {2: "relevant"})
    if is_pulled_first:
        run("pull")
    assert command.named(run("status")) == "pull"
    for task in server.tasks_of(server.project_of("A03"))[:2]:
        server.delete_task(task["id"])
    assert "has 2 tasks fewer than before" in run("pull").stderr
    for _ in range(2):
        told = run("pull")
        assert command.named(told) == command.named(run("status")) == "push"
        assert "A03 has tasks to answer, some of them deleted on the server" in told.stderr
    pushed = push_all()
    assert "2 tasks added" in pushed.stderr
    assert command.named(pushed) == command.named(run("pull")) == command.named(run("status")) == "pull"


@pytest.mark.parametrize(("answered", "loss"), [(False, ()), (True, ()), (True, ("--full", "--accept-loss"))])
def test_status_names_the_push_that_makes_a_deleted_project_again(
    server: FakeServer, workspace: Path, *, answered: bool, loss: tuple[str, ...]
) -> None:
    """It named `pull` for ever, which brings nothing."""
    push_all()
    project = server.project_of("A03")
    if answered:
        server.answer(server.tasks_of(project)[0]["id"], 3)
    run("pull")
    server.delete_project(project)
    for words in (("pull", *loss), ("status",)):
        assert command.named(run(*words)) == ("push" if loss else "push --replace")
    push_all(*[] if loss else ["--replace"])
    for words in (("pull",), ("status",)):
        assert command.named(run(*words)) == "pull"
    if answered and not loss:
        assert command.named(run("pull", "--full", "--accept-loss")) == "push"
        assert command.named(push_all()) == "pull"


def test_the_whole_way(server: FakeServer, workspace: Path) -> None:
    counts = dict.fromkeys(("there", "updated", "held", "duplicates", "foreign"), 0)
    address = "http://label-studio.test/projects/{}/data?labeling=1"
    pages = {"1/A02": address.format(1), "1/A03": address.format(2)}
    pushed = as_json("push", *BOTH, "--controls", "controls.txt")
    assert pushed == {"projects": 2, "added": 16, **counts, "pages": pages}
    assert as_json("push")["added"] == 0

    answer_all(server, {2: "relevant", 3: "irrelevant"})
    pulled = as_json("pull")
    assert (pulled["new"], pulled["judgments"], pulled["dropped"]) == (16, 12, {"control": 4})
    first = judgments(workspace)
    assert {row["annotator_id"] for row in first} == {"A02", "A03"}
    assert {(row["kind"], row["round"]) for row in first} == {("task", "1"), ("overlap", "1")}

    queues = {queue["annotator_id"]: queue for queue in as_json("progress")}
    assert (queues["A02"]["n_done"], queues["A02"]["n_left"], queues["all"]["n_done"]) == (8, 0, 16)
    assert (queues["A02"]["n_right"], queues["A02"]["n_controls"]) == (1, 2)
    assert queues["A02"]["seconds"] == 6.0

    run("resolve")
    planned = as_json("next-round", "--annotator", "A04")
    assert (planned["round"], planned["pairs"], planned["waiting"]) == (2, 4, 0)
    assert planned["annotators"] == {"A04": 4}
    assert as_json("push")["added"] == 4
    again = as_json("next-round", "--annotator", "A04")
    assert (again["pairs"], again["waiting"]) == (0, 4)

    answer_all(server, {4: "relevant"})
    run("pull")
    later = [(row["kind"], row["annotator_id"]) for row in judgments(workspace) if row["round"] == "2"]
    assert later == [("adjudication", "A04")] * 4
    run("resolve")
    assert rows(workspace / "labels/disputes.csv") == []


def test_the_pairs_of_a_later_model_are_a_further_round(server: FakeServer, workspace: Path) -> None:
    """Rounds: 1 the first pool, 2 its disputes asked again, 3 the pairs of a model that came later."""
    (workspace / "runs/first.run").write_text("".join(f"q{n} Q0 v{n} 1 1 first\n" for n in range(8)))
    (workspace / "collection/qrels.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(12)))
    push_all("--controls", "controls.txt")
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    for words in (["pull"], ["resolve"], ["next-round", "--annotator", "A04"], ["push"]):
        run(*words)

    (workspace / "runs/late.run").write_text("".join(f"q{n} Q0 v{n} 1 1 late\n" for n in range(4, 12)))
    (workspace / "pool/pool.csv").unlink()  # made by hand, so that `pool` does not overwrite it
    assert "8 judged before, 4 new, to be asked in round 3" in run("pool").stderr
    made = run("tasks", "--overlap", 1).stderr
    assert "4 tasks in tasks/round-3/tasks.json; 4 of them again" in made
    assert "next: fire-toolkit push" in made
    assert states()["push"] == ("stale", "tasks/round-3/tasks.json is new")
    before = [given(workspace, number) for number in (1, 2)]
    pushed = as_json("push", "--annotator", "A02,A03,A04", "--controls", "controls.txt")
    later = given(workspace, 3)
    assert (pushed["added"], pushed["there"]) == (len(later), 20)
    assert [given(workspace, number) for number in (1, 2)] == before
    handed = [
        (row["annotator_id"], row["pair_id"]) for number in (1, 2, 3) for row in given(workspace, number)
    ]
    assert len(handed) == len(set(handed))  # what two had as controls is asked of the third alone
    assert as_json("push")["added"] == 0
    assert states()["push"][0] == "done"

    answer_all(server, {2: "relevant", 3: "irrelevant", 4: "relevant"})
    run("pull")
    new = [row for row in judgments(workspace) if row["round"] == "3"]
    assert {row["query_id"] for row in new} == {"q8", "q9", "q10", "q11"}
    assert [row["kind"] for row in new].count("overlap") == 2
    told = run("agree", "--format", "json")
    assert "4 answers of later rounds or unasked for left out" in told.stderr  # those of round 2
    percent = next(row for row in json.loads(told.stdout) if row["statistic"] == "percent_agreement")
    assert int(percent["n_pairable"]) == 4 + 2
    run("resolve")
    planned = as_json("next-round", "--annotator", "A04")
    hers = {row["query_id"] for row in new if row["annotator_id"] == "A04"}
    assert (planned["round"], planned["pairs"], planned["waiting"]) == (4, len({"q10", "q11"} - hers), 0)
    assert planned["pairs"] > 0


def test_a_corrected_caption_reaches_the_unanswered_tasks_of_every_round(
    server: FakeServer, workspace: Path
) -> None:
    push_all("--controls", "controls.txt")
    later = "".join(f"q{n},v{n},1\n" for n in range(8)) + "".join(f"q{n},v{n + 1},2\n" for n in range(3))
    later += "q8,v8,2\n"  # which both had as a control
    Path("pool/pool.csv").write_text("query_id,doc_id,round\n" + later)
    run("tasks", "--overlap", 0)
    run("push", *BOTH)
    queries = Path("collection/queries.tsv")
    queries.write_text(queries.read_text().replace("a dog runs", "a cat runs"))
    run("tasks", "--overlap", 0)
    run("push")
    shown = {task["data"]["caption"] for task in server.tasks.values()}
    assert {caption[2:5] for caption in shown - {"a dog runs 9"}} == {"cat"}  # a control is in no file
    twin = server._create({**server.projects[1], "created_at": ""}).json()["id"]  # a copy with old captions
    server._import(twin, [{"data": {**task["data"], "caption": "a dog"}} for task in server.tasks_of(1)])
    server.answer(server.tasks_of(twin)[0]["id"], 2)
    for full in ((), ("--full",)):
        told = run("pull", *full).stderr
        assert "0 new" in told
        assert f"project {twin} (1/A02): 1 answer not read, as the tasks there show another caption" in told
    export = [
        task | {"annotations": server._shown(task, {"fields": "all"})["annotations"]}
        for task in server.tasks_of(twin)
    ]
    Path("exports/tasks.A02.json").write_text(json.dumps(export))
    told = run("import", "exports/tasks.A02.json").stderr
    assert "0 new" in told
    assert "tasks.A02.json: 1 answer left out, as the tasks showed another caption" in told
    assert "1 of them were answered already" in run("push", code=1).stderr
    server.delete_annotation(max(server.annotations))
    run("push")
    assert {task["data"]["caption"] for task in server.tasks_of(twin)} <= shown
    server.delete_project(twin)
    server.answer(server.tasks_of(1)[0]["id"], 2)
    run("pull")
    server.delete_project(1)  # whose answer counts
    queries.write_text(queries.read_text().replace("a cat runs", "a fox runs"))
    run("tasks", "--overlap", 0)
    assert "1 of them were answered already" in run("push", "--replace", code=1).stderr


def test_tasks_that_are_no_round_are_refused(server: FakeServer, workspace: Path) -> None:
    tasks = json.loads(Path("tasks/tasks.json").read_text())
    pair = [{"meta": {"round": 2}}, {"meta": {"round": 3}}]
    refused = [
        ([tasks[0] | {"data": tasks[0]["data"] | {"score": 0.7}}], "1: score would be visible to annotators"),
        ([{"data": {"caption": "x", "video": "y"}}], "1: no data.pair_id"),
        ([task | more for task, more in zip(tasks, pair, strict=False)], "tasks of rounds 2, 3; expected"),
        ([task | pair[0] for task in tasks], "8 pairs given out in an earlier round"),
    ]
    for content, told in refused:
        if "earlier" in told:
            push_all()
        Path("some.json").write_text(json.dumps(content))
        output = run("push", "some.json", "--annotator", "A04", code=1).output
        assert "some.json: " in output
        assert told in output
    assert not given(workspace, 2)


def test_a_file_for_each_person_holds_the_queue_that_push_gives(server: FakeServer, workspace: Path) -> None:
    run("tasks", "--overlap", "0.5", "--annotator", "A02,A03=2")
    run("push", "--annotator", "A02", "--annotator", "A03=2")
    for name in ("A02", "A03"):
        tasks = json.loads(Path(f"tasks/tasks.{name}.json").read_text())
        queue = [row for row in given(Path()) if row["annotator_id"] == name]
        in_order = [row["pair_id"] for row in sorted(queue, key=lambda row: int(row["position"]))]
        assert [task["data"]["pair_id"] for task in tasks] == in_order


def test_the_next_round_asks_what_is_wanted_of_those_who_have_not_seen_it(judged: Path) -> None:
    run("resolve")
    refused = run("next-round", *BOTH, code=1)
    assert "4 of 4 pairs have been seen by every annotator" in refused.output
    dry = ("next-round", "--annotator", "A04", "--dry-run")
    assert as_json(*dry)["pairs"] == 4  # the disputes
    assert as_json(*dry, "--ask", "unverified_positive")["pairs"] == 2  # those that A02 alone has seen
    assert not given(judged, 2)
    asked = as_json("next-round", "--random-share", "1", "--budget", "6", "--annotator", "A04")
    assert (asked["round"], asked["pairs"], asked["annotators"]) == (2, 5, {"A04": 5})
    assert (asked["kept"], asked["unused"]) == (1, 0)  # one dispute to come
    planned = rows(judged / "plan/round-2/pool.csv")
    assert [row["round"] for row in planned] == ["2"] * 5
    assert len(given(judged, 2)) == 5


@cases("what", "words", few=1)
def test_a_project_gone_early_is_missed(server: FakeServer, workspace: Path, what: str, words: str) -> None:
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
    assert words in run("pull", "--full").stderr
    assert words in run("status").stderr
    doctor = run("doctor", code=3).stdout
    assert words in doctor
    assert what == "unmarked" or "fire-toolkit push --replace" in doctor
    n_projects = len(server.projects)
    assert f"error: {words}" in run("push", code=1).stderr
    assert len(server.projects) == n_projects
    assert as_json("push", "--replace")["added"] == 6
    assert (words in run("pull").stderr) == (what == "unmarked")
    if what == "unmarked":
        project["description"] = doctor.partition("set its description under Settings to: ")[2].split("\n")[0]
        assert as_json("pull")["new"] == 1
        assert "queue 1/A02 has 2 projects" in run("status").stderr


def test_a_dry_run_sends_nothing_and_registered_people_are_asked(server: FakeServer, workspace: Path) -> None:
    dry = push_all("--dry-run")
    assert "12 tasks; no judgment was timed yet, so hours are not known" in dry.stderr
    assert "nothing was sent" in dry.stderr
    assert server.requests == []
    assert not given(workspace)
    queues = as_json("push", *BOTH, "--dry-run")
    told = [(row["annotator"], row["all"], row["hours"]) for row in queues]
    assert told == [("A02", 6, None), ("A03", 6, None)]
    for words in (["pull"], ["progress"], ["annotators", "reassign", "A02", "--to", "A03"]):
        assert "nothing was pushed from this workspace" in run(*words, code=1).output
    assert "none has begun here" in run("next-round", "--annotator", "A01", code=2).output
    refused = run("push", code=2).output
    assert "no annotators of this workspace can be asked: `fire-toolkit annotators add A01 A02`" in refused
    run("annotators", "add")  # three accounts of somebody else's campaign
    refused = run("push", code=2).output
    assert "of this workspace can be asked: name others with --annotator (A02, A03, A04)" in refused
    register = workspace / ".fire/private" / "annotators.csv"
    register.write_text(register.read_text().replace("active,\n", "active,made-here\n", 2))
    assert as_json("push")["projects"] == 2


def test_hours_are_measured_and_a_pull_of_changes_finds_a_deletion(server: FakeServer, judged: Path) -> None:
    assert "12 tasks, 0.0 hours at 6.0 s a judgment" in run("push", "--dry-run").stderr
    run("pull")
    queries = [r.url.params.get("query", "") for r in server.requests if r.url.path == "/api/tasks/"]
    assert sum("filter:tasks:updated_at" in query for query in queries) == 2
    server.delete_task(1)
    pulled = as_json("pull")
    assert (pulled["deleted"], pulled["dropped"]) == (1, {"deleted": 1})


def test_a_campaign_keeps_the_page_that_it_began_with(server: FakeServer, workspace: Path) -> None:
    push_all()
    begun = Rounds(workspace).campaign
    assert begun is not None
    video = '<Video name="video" value="$video"/>'
    earlier = re.sub(r"<Style>.*</Style>", "", begun.label_config, flags=re.DOTALL)
    earlier = re.sub(r"<HyperText.*</HyperText>", video, earlier, flags=re.DOTALL)
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


def test_a_policy_is_kept_from_the_start(server: FakeServer, workspace: Path) -> None:
    assert "policy verify-positives: " in push_all("--policy", "verify-positives").stderr
    design = by_pair(workspace / "campaign/design.csv", "design_class")
    assert {*design.values()} == {"verify", "doubled"}
    answer_all(server, {2: "relevant", 3: "irrelevant"})
    run("pull")
    run("resolve")
    labels = [(row["design_class"], row["design_votes"]) for row in rows(workspace / "labels/labels.csv")]
    asked = as_json("next-round", "--annotator", "A04")
    by_stratum = {row["stratum"]: row["n_asked"] for row in asked["plan"]}
    n_disputes = len(rows(workspace / "labels/disputes.csv"))
    assert by_stratum["by_design"] == labels.count(("verify", "1")) + n_disputes > n_disputes


def test_training_is_done_first(server: FakeServer, workspace: Path) -> None:
    Path("t").mkdir()
    Path("t/pool.csv").write_text("query_id,doc_id\nq10,v10\nq11,v11\n")
    run("tasks", "t", "--overlap", "0", "--out", "training.json")
    first = push_all("--training", "training.json")
    assert "6 tasks held back until the training is done" in first.stderr
    assert len(server.tasks) == 4
    answer_all(server, {2: "relevant"})
    assert as_json("pull")["dropped"] == {"training": 2}
    assert as_json("push")["added"] == 6
    left = {queue["annotator_id"]: queue["n_training_left"] for queue in as_json("progress")}
    assert (left["A02"], left["A03"]) == (0, 2)


def test_a_push_cut_short_between_its_records_keeps_one_key(server: FakeServer, workspace: Path) -> None:
    push_all()
    alter(workspace, "delete from campaign")  # as if killed before it was written
    alter(workspace, "delete from places")
    server.projects.clear()
    server.tasks.clear()
    run("push")
    assert as_json("push")["there"] == 12
    assert len(server.projects) == 2


def test_exports_go_the_same_way(server: FakeServer, judged: Path) -> None:
    alter(judged, "answers")
    tasks = [server._shown(task, {"fields": "all"}) for task in server.tasks.values()]
    Path("export.json").write_text(json.dumps(tasks))
    run("annotators", "add")
    pulled = as_json("import", "export.json")
    assert (pulled["new"], pulled["judgments"]) == (12, 12)
    assert as_json("pull", "--full")["new"] == 0
    assert {row["kind"] for row in judgments(judged)} == {"task", "overlap"}


def test_answers_of_a_deleted_project_count_until_it_is_accepted(server: FakeServer, judged: Path) -> None:
    number = server.project_of("A03")
    del server.projects[number]
    gone = f"project {number} (1/A03) was deleted, with 6 answers; these answers still count"
    pulled = run("pull", "--full", "--format", "json")
    assert json.loads(pulled.stdout)["judgments"] == 12
    assert f"note: {gone}" in pulled.stderr
    assert f"warning: at the last pull {gone}" in run("status").stderr
    assert "--accept-loss does nothing without --full" in run("pull", "--accept-loss", code=2).output
    pulled = run("pull", "--full", "--accept-loss", "--format", "json")
    assert json.loads(pulled.stdout)["judgments"] == 6
    assert len(read_ledger(judged / "campaign.sqlite")) == 18
    assert "was deleted" not in pulled.stderr + run("status").stderr


def test_a_full_pull_is_asked_for_at_the_end_of_a_round_alone(server: FakeServer, workspace: Path) -> None:
    push_all()
    run("pull")  # the first one reads all
    due = "answers came in since the last `pull --full`"
    answer_all(server, {2: "relevant"})
    run("pull")
    assert "pull --full" not in run("status").stderr
    answer_all(server, {3: "irrelevant"})
    run("pull")
    assert f"note: {due}" in run("resolve").stderr
    assert due in run("status").stderr
    run("pull", "--full")
    assert due not in run("resolve").stderr + run("status").stderr


@pytest.mark.usefixtures("judged")
def test_another_assignment_of_a_round_is_refused() -> None:
    refused = run("push", "--annotator", "A02", "--annotator", "A04", code=1)
    assert "round 1 was assigned differently (assignments would change)" in refused.output


def test_words_for_what_was_found_on_the_server(server: FakeServer, judged: Path) -> None:
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
    assert states()["pull"] == ("stale", "campaign.sqlite has changed")
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
        assert "already exists, would change, and its round has begun; write elsewhere" in told
    assert (workspace / "tasks/tasks.json").read_bytes() == before
    assert states()["push"][0] == "done"


@pytest.mark.slow
@pytest.mark.parametrize("words", [("push", *BOTH), ("pull",)], ids=["push", "pull"])
def test_a_full_disk_at_any_write_doubles_and_misses_nothing(
    server: FakeServer, workspace: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """The disk is full at the 1st, 2nd, ... write that must last; the same command is given again."""
    if words == ("pull",):
        push_all()
        answer_all(server, {2: "relevant"})
        run("pull")
        answer_all(server, {3: "irrelevant"})
        server.edit(1, 2, "irrelevant")
        server.delete_annotation(2)
    beside = shutil.copytree(workspace, workspace.with_name("before"))
    before = copy.deepcopy((server.projects, server.tasks, server.annotations))
    full_at, n_writes, fsync = 0, 0, os.fsync

    def flush(handle: int) -> None:
        nonlocal n_writes
        n_writes += 1
        if n_writes == full_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", flush)
    run(*words)
    places = range(1, n_writes + 1)
    for full_at in places:
        server.projects, server.tasks, server.annotations = copy.deepcopy(before)
        folder = shutil.copytree(beside, workspace.with_name(f"full-{full_at}"))
        monkeypatch.chdir(folder)
        n_writes = 0
        result = CliRunner().invoke(main, list(words))
        if result.exit_code == 0:  # a record that may be missing was not written
            assert full_at == places[-1]
        else:
            assert result.exit_code == 1, result.output
            (line,) = [line for line in result.output.splitlines() if line.startswith("error:")]
            assert "No space left on device" in line
        run(*words)  # further writes find room
        if words == ("pull",):
            found = read_ledger(folder / "campaign.sqlite")["state"]
            assert found.value_counts().to_dict() == {"answered": 12, "edited": 1, "deleted": 1}
            assert len(judgments(folder)) == 11
        for name in ("A02", "A03"):
            own = [row["pair_id"] for row in given(folder) if row["annotator_id"] == name]
            assert server.keys_of(server.project_of(name)) == dict.fromkeys(own, 1)
    assert len(places) > 3
