"""Campaigns on the real server: push, answer as several people, pull, kills, what goes and changes hands."""

import json
import shutil
import sqlite3
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from command import given
from live_server import LiveServer
from records import read_ledger

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.cli import main
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.labelstudio.local_server import LOCK, server_process
from fire_toolkit.media.server import MediaServer
from fire_toolkit.workspace.locks import is_locked

RUN = uuid.uuid4().hex[:4]  # names of their own, so that the tests can run again on the same server
ANN, BOB, CY, KAY = (f"{name}-{RUN}" for name in ("ANN", "BOB", "CY", "KAY"))


class Site:
    """A workspace of its own that talks to the live server."""

    def __init__(self, server: LiveServer, root: Path, media_url: str) -> None:
        self.server = server
        self.root = root
        self.media_url = media_url

    def run(self, *arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == code, result.output
        return result

    def counts(self, *arguments: str) -> dict[str, Any]:
        return dict(json.loads(self.run(*arguments, "--format", "json").stdout))

    def table(self, name: str) -> Any:
        return read_delimited(self.root / name)

    def write(self, name: str, header: str, *rows: tuple[object, ...]) -> None:
        """Write a table of the workspace; its columns are divided as its name says."""
        path, delimiter = self.root / name, "," if name.endswith(".csv") else "\t"
        path.parent.mkdir(exist_ok=True)
        lines = [delimiter.join(map(str, row)) for row in (header.split(), *rows)]
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")

    def make_tasks(self, n_pairs: int, *, overlap: float) -> None:
        numbers = range(n_pairs)
        self.write("pool/pool.csv", "query_id doc_id", *((f"q{n}", f"v{n}") for n in numbers))
        self.write(
            "collection/queries.tsv", "query_id text", *((f"q{n}", f"a dog runs, “{n}”") for n in numbers)
        )
        self.write("collection/items.tsv", "doc_id media_url", *((f"v{n}", self.media_url) for n in numbers))
        self.run("tasks", "--overlap", str(overlap))

    def projects(self) -> dict[str, int]:
        """Return the project of each queue of this campaign."""
        key = Rounds(self.root).campaign.key  # type: ignore[union-attr]
        with self.server.as_admin() as http:
            found = http.get("/api/projects/", params={"page_size": 200}).json()["results"]
        ours = [project for project in found if f"campaign {key} " in (project["description"] or "")]
        return {"/".join(p["description"].split()[4::2]): p["id"] for p in ours}

    def keys(self, project: int) -> Counter[str]:
        with self.server.as_admin() as http:
            tasks = _tasks(http, project)
        return Counter(task["data"]["pair_id"] for task in tasks)

    def assigned(self, number: int = 1) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for row in given(self.root, number):
            found.setdefault(row["annotator_id"], []).append(row["pair_id"])
        return found


@pytest.fixture
def site(live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip.webm").write_bytes(b"any clip")
    media = MediaServer(tmp_path, {"clip.webm": "clip.webm"}, origins=[live_server.connection.url], port=0)
    found = Site(live_server, tmp_path, f"{media.base_url}/clip.webm")
    found.run("init", ".")
    shutil.rmtree(tmp_path / ".fire/private")
    (tmp_path / ".fire/private").symlink_to(live_server.folder)
    with media:
        yield found
    with live_server.as_admin() as http:
        for number in found.projects().values() if (tmp_path / "campaign.sqlite").is_file() else ():
            http.delete(f"/api/projects/{number}/")


def _tasks(http: httpx.Client, project: int) -> list[dict[str, Any]]:
    params: dict[str, Any] = {"project": project, "page_size": 10_000}
    return list(http.get("/api/tasks/", params=params).raise_for_status().json()["tasks"])


def answer(http: httpx.Client, task: int, project: int, label: str | None, **fields: Any) -> dict[str, Any]:
    results = [] if label is None else [choice("relevance", label)]
    content = {
        "result": results + fields.pop("more", []),
        "was_cancelled": label is None,
        "lead_time": 4.0,
        "unique_id": str(uuid.uuid4()),
        **fields,
    }
    posted = http.post(f"/api/tasks/{task}/annotations/", params={"project": project}, json=content)
    return dict(posted.raise_for_status().json())


def answer_until_stored(http: httpx.Client, task: int, project: int) -> None:
    """Submit again what fails, as a person does; its unique id keeps an answer from being doubled (409)."""
    key = str(uuid.uuid4())
    for _ in range(20):
        try:
            answer(http, task, project, "relevant", unique_id=key)
        except httpx.HTTPStatusError as error:
            if error.response.status_code == 409:
                return
            time.sleep(0.2)
        else:
            return
    pytest.fail("the answer was never stored")


def choice(control: str, label: str) -> dict[str, Any]:
    value = {"choices": [label]}
    return {"from_name": control, "to_name": "video", "type": "choices", "value": value}


def comment(text: str) -> dict[str, Any]:
    return {"from_name": "comment", "to_name": "video", "type": "textarea", "value": {"text": [text]}}


def test_what_people_answer_change_and_delete_is_pulled(site: Site) -> None:
    server = site.server
    people = {name: server.annotator(name) for name in (ANN, BOB, CY)}
    http = {name: server.as_annotator(name) for name in people}
    site.make_tasks(10, overlap=0.5)
    names = ("--annotator", ANN, "--annotator", BOB)
    assert site.counts("push", *names)["added"] == 15
    again = site.counts("push")
    assert (again["added"], again["there"], again["duplicates"]) == (0, 15, 0)

    projects = site.projects()
    with server.as_admin() as admin:
        for queue, number in projects.items():
            shown = admin.get(f"/api/projects/{number}/").json()
            assert shown["show_collab_predictions"] is False
            assert shown["enable_empty_annotation"] is False
            keys = [task["data"]["pair_id"] for task in sorted(_tasks(admin, number), key=lambda t: t["id"])]
            assert keys == site.assigned()[queue.split("/")[1]]
    queues = {name: sorted(t["id"] for t in _tasks(http[name], projects[f"1/{name}"])) for name in (ANN, BOB)}

    # ANN: all relevant; one twice, one skipped, one with words. BOB: all irrelevant.
    mine, theirs = projects[f"1/{ANN}"], projects[f"1/{BOB}"]
    first = answer(http[ANN], queues[ANN][0], mine, "irrelevant")
    answer(http[ANN], queues[ANN][0], mine, "relevant")
    answer(http[ANN], queues[ANN][1], mine, None)
    answer(http[ANN], queues[ANN][2], mine, "ambiguous", more=[comment("two readings")])
    for task in queues[ANN][3:]:
        answer(http[ANN], task, mine, "relevant", more=[choice("flags", "sensitive")])
    for task in queues[BOB]:
        answer(http[BOB], task, theirs, "irrelevant")
    over = answer(http[CY], queues[BOB][0], theirs, "relevant")  # over the overlap: nobody asked

    pulled = site.counts("pull")
    assert pulled["new"] == len(queues[ANN]) + len(queues[BOB]) + 2
    assert pulled["dropped"] == {"skipped": 1, "superseded": 1}
    assert site.counts("pull")["new"] == 0
    judgments = site.table("judgments/judgments.csv")
    assert judgments["kind"].value_counts()["unassigned"] == 1
    assert set(judgments["annotator_id"]) == {ANN, BOB, CY}
    assert "two readings" in set(judgments["comment"])

    # Edit by another, delete an answer, delete an account.
    with server.as_admin() as admin:
        changed = {"result": [choice("relevance", "irrelevant")]}
        admin.patch(f"/api/annotations/{first['id']}/", json=changed).raise_for_status()
        admin.delete(f"/api/annotations/{over['id']}/").raise_for_status()
    pulled = site.counts("pull")
    assert (pulled["edited"], pulled["deleted"]) == (1, 1)
    with server.as_admin() as admin:
        admin.delete(f"/api/users/{people[BOB].user_id}/").raise_for_status()
    full = site.counts("pull", "--full")
    assert (full["new"], full["deleted"]) == (0, 0)
    judgments = site.table("judgments/judgments.csv")
    assert (judgments["annotator_id"] == BOB).sum() == len(queues[BOB])

    # A deleted task is noticed by a full pull.
    with server.as_admin() as admin:
        admin.delete(f"/api/tasks/{queues[ANN][3]}/").raise_for_status()
    assert site.counts("pull", "--full")["deleted"] == 1
    assert site.table("judgments/dropped.csv")["reason"].value_counts()["deleted"] == 2


def test_twelve_people_answer_while_a_push_runs(site: Site) -> None:
    names = [f"P{number:02d}-{RUN}" for number in range(1, 13)]
    people = {name: site.server.as_annotator(name) for name in names}
    site.make_tasks(600, overlap=0.0)
    given = [word for name in names for word in ("--annotator", name)]
    site.run("push", *given)
    projects = site.projects()
    tasks = {name: _tasks(people[name], projects[f"1/{name}"]) for name in names}

    def judge(name: str) -> None:
        for task in tasks[name][:10]:
            answer_until_stored(people[name], task["id"], projects[f"1/{name}"])

    threads = [threading.Thread(target=judge, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    with site.server.as_admin() as http:  # meanwhile a part of a queue is lost and pushed again
        for task in tasks[names[0]][45:]:
            http.delete(f"/api/tasks/{task['id']}/").raise_for_status()
    pushed = site.counts("push")
    for thread in threads:
        thread.join()
    assert pushed["added"] == len(tasks[names[0]][45:])
    assert site.counts("pull")["new"] == 12 * 10
    for name in names:
        assert site.keys(projects[f"1/{name}"]) == Counter(site.assigned()[name])


def test_a_server_killed_in_the_middle_of_a_push_and_a_pull_loses_nothing(site: Site) -> None:
    server = site.server
    site.make_tasks(1_500, overlap=0.0)  # two imports, of which the second is cut off
    pushed: list[Result] = []

    def push() -> None:
        arguments = ["push", "--annotator", KAY]
        pushed.append(CliRunner().invoke(main, arguments))

    worker = threading.Thread(target=push)
    worker.start()
    project = _wait_for_project(site, f"1/{KAY}", worker)
    _wait_for_tasks(site, project, 1_000, worker)
    before = server.connection
    _kill(server)
    assert server.start() == before
    worker.join()
    site.run("push")
    assert site.keys(project) == Counter(site.assigned()[KAY])

    http = server.as_annotator(KAY)
    for task in _tasks(http, project)[:30]:
        answer(http, task["id"], project, "relevant")
    _kill(server)
    site.run("pull", code=3)
    server.start()
    assert site.counts("pull")["new"] == 30
    assert len(read_ledger(site.root / "campaign.sqlite")["annotation"].unique()) == 30


def _wait_for_project(site: Site, queue: str, worker: threading.Thread) -> int:
    while not (Rounds(site.root).campaign and queue in site.projects()):
        assert worker.is_alive(), "the push ended without a project"
        time.sleep(0.1)
    return site.projects()[queue]


def _wait_for_tasks(site: Site, project: int, n: int, worker: threading.Thread) -> None:
    with site.server.as_admin() as http:
        while http.get(f"/api/projects/{project}/").json()["task_number"] < n:
            assert worker.is_alive(), f"the push ended before {n} tasks were there"
            time.sleep(0.05)


def _kill(server: LiveServer) -> None:
    process = server_process(server.folder)
    assert process is not None
    process.kill()
    while is_locked(server.folder / LOCK):
        time.sleep(0.1)


def test_what_the_server_does_not_date_and_a_project_that_is_gone(site: Site) -> None:
    server = site.server
    http = server.as_annotator(KAY)
    site.make_tasks(6, overlap=0.0)
    site.run("push", "--annotator", KAY)
    project = site.projects()[f"1/{KAY}"]
    tasks = sorted(task["id"] for task in _tasks(http, project))
    answer(http, tasks[0], project, "relevant")
    assert site.counts("pull")["new"] == 1
    first = answer(http, tasks[1], project, "relevant")
    answer(http, tasks[2], project, None)
    _set_back(server, tasks[1:3])
    assert site.counts("pull")["new"] == 2  # the server counts more than the ledger has
    with server.as_admin() as admin:
        changed = {"result": [choice("relevance", "irrelevant")]}
        admin.patch(f"/api/annotations/{first['id']}/", json=changed).raise_for_status()
    _set_back(server, tasks[1:2])
    assert site.counts("pull")["edited"] == 0
    assert site.counts("pull", "--full")["edited"] == 1
    answer(http, tasks[3], project, "relevant")
    _set_back(server, tasks[3:4])
    with server.as_admin() as admin:  # the number of answers stays as it was, that of tasks does not
        admin.delete(f"/api/tasks/{tasks[0]}/").raise_for_status()
    counts = site.counts("pull")
    assert (counts["new"], counts["deleted"]) == (1, 1)

    with server.as_admin() as admin:
        mark = admin.get(f"/api/projects/{project}/").json()["description"]
        admin.patch(f"/api/projects/{project}/", json={"description": "mine"}).raise_for_status()
        assert f"project {project} (1/{KAY}) has lost its mark" in site.run("pull").stderr
        assert mark in site.run("doctor", code=3).stdout
        admin.patch(f"/api/projects/{project}/", json={"description": mark}).raise_for_status()
        assert "mark" not in site.run("pull").stderr
        admin.delete(f"/api/projects/{project}/").raise_for_status()
    gone = site.run("pull", "--full", "--format", "json")
    assert f"project {project} (1/{KAY}) was deleted, with 3 answers" in gone.stderr
    assert json.loads(gone.stdout)["judgments"] == 2
    assert site.counts("pull", "--full", "--accept-loss")["judgments"] == 0
    assert len(read_ledger(site.root / "campaign.sqlite")["annotation"].unique()) == 4


def test_tasks_that_change_hands_are_offered_to_one_person_only(site: Site) -> None:
    server = site.server
    http = {name: server.as_annotator(name) for name in (ANN, CY)}
    site.make_tasks(8, overlap=0.0)
    site.run("push", "--annotator", ANN)
    mine = site.projects()[f"1/{ANN}"]
    tasks = sorted(task["id"] for task in _tasks(http[ANN], mine))
    for task in tasks[:2]:
        answer(http[ANN], task, mine, "relevant")
    assert "6 tasks moved" in site.run("annotators", "reassign", ANN, "--to", CY).output
    late = answer(
        http[ANN], _next(http[ANN], mine), mine, "irrelevant"
    )  # before the push closes what is left
    site.run("push")
    assert _next(http[ANN], mine) == 0
    theirs = site.projects()[f"1/{CY}"]
    assert len(_tasks(http[CY], theirs)) == 6
    later = answer(http[ANN], tasks[-1], mine, "irrelevant")  # a page that was open all the while
    while task := _next(http[CY], theirs):
        answer(http[CY], task, theirs, "relevant")
    pulled = site.counts("pull")
    assert (pulled["new"], pulled["judgments"], pulled["dropped"]) == (8, 10, {})
    judgments = site.table("judgments/judgments.csv")
    assert set(judgments["kind"]) == {"task"}
    assert late["id"] != later["id"]
    assert sorted(judgments.loc[judgments["annotator_id"] == CY, "label"]) == ["relevant"] * 6
    assert site.counts("push")["added"] == 0


def _next(http: httpx.Client, project: int) -> int:
    """Return the task that the label stream offers; 0 where there is none."""
    answered = http.get(f"/api/projects/{project}/next/")
    return 0 if answered.status_code == 404 else int(answered.raise_for_status().json()["id"])


def _set_back(server: LiveServer, tasks: list[int]) -> None:
    """Give tasks the time of their import back, as was seen after a server had been killed."""
    (path,) = server.folder.rglob("label_studio.sqlite3")
    places = ",".join("?" * len(tasks))
    long_ago = "strftime('%Y-%m-%d %H:%M:%f', created_at, '-1 day')"  # past the look-back
    with sqlite3.connect(path, timeout=1e6) as database:
        database.execute(f"UPDATE task SET updated_at = {long_ago} WHERE id IN ({places})", tasks)
    database.close()
