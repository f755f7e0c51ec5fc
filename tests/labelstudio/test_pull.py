"""A pull puts every answer into the ledger once, with what became of it, and nothing is silently gone."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from campaigns import Site, counts, push_round, round_of, tasks_of
from fake_api import FakeServer, Killed, comment
from records import read_ledger

from examples import some
from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio import api as api_module

FIRST = 1  # the number of the server's first answer
ROUND = round_of(tasks_of(10, overlap=0.4))


@cache
def pushed_server() -> FakeServer:
    server = FakeServer()
    push_round(server, ROUND)
    server.requests.clear()
    return server


def task_for(server: FakeServer, name: str, place: int = 0) -> int:
    return int(server.tasks_of(server.project_of(name))[place]["id"])


@pytest.fixture
def server() -> FakeServer:
    return deepcopy(pushed_server())


@pytest.fixture
def begun(server: FakeServer, site: Site) -> FakeServer:
    """The server after ann's answer to her first task was pulled."""
    server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    return server


def judged(site: Site, *columns: str) -> list[list[object]]:
    """Return columns of the judgments that the record gives."""
    return site.derived(ROUND).judgments[list(columns)].to_numpy().tolist()  # type: ignore[no-any-return]


def asked(server: FakeServer) -> list[str]:
    """Return the paths of what was asked for since the last time."""
    paths = [request.url.path for request in server.requests]
    server.requests.clear()
    return paths


def asked_for_nothing(server: FakeServer, site: Site) -> list[str]:
    """Pull where nothing is new, and return the paths of what was asked for."""
    server.requests.clear()
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    return asked(server)


CHANGES = ["/api/projects/", "/api/tasks/", "/api/tasks/"]  # what is asked where nothing is read whole
OF_ONE = CHANGES[:-1]  # while bob has not answered


def test_answers_edits_and_deletions_are_pulled_once_by_changes(begun: FakeServer, site: Site) -> None:
    begun.answer(
        task_for(begun, "bob"), 3, "irrelevant", origin="prediction", more=[comment("two\nreadings")]
    )
    begun.requests.clear()
    assert counts(site.pull(begun)) == (1, 0, 0, 0)
    pages = [json.loads(request.url.params["query"]) for request in begun.requests[1:]]
    filters = [[item["filter"] for item in page["filters"]["items"]] for page in pages]
    assert filters == [["filter:tasks:updated_at", "filter:tasks:id"]] * 2
    assert asked(begun) == CHANGES
    assert counts(site.pull(begun, is_full=True)) == (0, 0, 0, 0)
    assert sorted(judged(site, "annotator_id", "label", "origin", "comment")) == [
        ["ann", "relevant", "manual", ""],
        ["bob", "irrelevant", "prediction", "two / readings"],
    ]
    begun.edit(FIRST, 3, "irrelevant")
    assert counts(site.pull(begun)) == (0, 1, 0, 0)
    edited = site.derived(ROUND)
    assert sorted(edited.judgments["flags"]) == ["", "edited-by-other"]
    dropped = edited.dropped[["reason", "label", "annotator_id"]]
    assert dropped.to_numpy().tolist() == [["edited", "relevant", "ann"]]
    begun.delete_annotation(FIRST)
    assert [counts(site.pull(begun)) for _ in range(2)] == [(0, 0, 1, 0), (0, 0, 0, 0)]
    assert judged(site, "annotator_id") == [["bob"]]
    assert "deleted" in set(site.derived(ROUND).dropped["reason"])


def test_a_project_with_a_number_used_again_is_read_from_its_beginning(begun: FakeServer, site: Site) -> None:
    long_ago = "2026-11-19T00:00:00.000000Z"
    other = deepcopy(pushed_server())
    for project in other.projects.values():
        project["created_at"] = long_ago
    other._ticks = 5000
    other.answer(task_for(other, "bob"), 3)
    for task in other.tasks.values():
        task["updated_at"] = long_ago
    assert counts(site.pull(other)) == (1, 0, 1, 0)
    assert asked(other)[:2] == ["/api/projects/", "/api/organizations/"]


@pytest.mark.parametrize("is_full", [False, True])
def test_an_edit_after_a_clock_was_set_back_counts(server: FakeServer, site: Site, is_full: bool) -> None:
    site.now = lambda: "2026-11-20T12:01:00.000000Z"
    server._ticks += 20 * 24 * 3600
    answer = server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    server._ticks -= 20 * 24 * 3600 - 60
    server.edit(answer, 2, "irrelevant")
    found = site.pull(server, is_full=is_full)
    assert counts(found) == (0, 1, 0, 0)
    assert any("1 answer changed at a time before the version in the ledger" in note for note in found.notes)
    assert judged(site, "label") == [["irrelevant"]]
    assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)  # known again
    server.edit(answer, 2, "ambiguous")
    site.pull(server, is_full=True)
    assert judged(site, "label") == [["ambiguous"]]
    server.delete_annotation(answer)
    assert counts(site.pull(server, is_full=True)) == (0, 0, 1, 0)
    assert judged(site, "label") == []


def test_an_answer_that_is_back_counts_whatever_this_clock_says(begun: FakeServer, site: Site) -> None:
    kept = dict(begun.annotations[FIRST])
    begun.delete_annotation(FIRST)
    site.now = lambda: "2027-01-01T00:00:00.000000Z"
    site.pull(begun)
    begun.annotations[FIRST] = kept
    site.now = lambda: "2026-12-01T00:00:00.000000Z"
    found = site.pull(begun, is_full=True)
    assert counts(found) == (0, 0, 0, 1)
    assert "this clock says 2026-12-01T00:00:00.000000Z" in found.notes[0]
    assert counts(site.pull(begun, is_full=True)) == (0, 0, 0, 0)
    assert len(site.derived(ROUND).judgments) == 1


@pytest.fixture
def long_ago(server: FakeServer, site: Site) -> FakeServer:
    """The server after an answer of ann's was pulled, whose look-back does not reach the import."""
    server._ticks += 600
    server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    return server


def undated(server: FakeServer, place: int, label: str | None = "relevant") -> None:
    """Let ann answer a task that keeps the time of its import."""
    task = task_for(server, "ann", place)
    server.answer(task, 2, label)
    server.lose_time(task)


def test_answers_to_tasks_of_old_times_are_found_by_counts(long_ago: FakeServer, site: Site) -> None:
    undated(long_ago, 1)
    undated(long_ago, 2, None)
    assert counts(site.pull(long_ago)) == (2, 0, 0, 0)
    undated(long_ago, 3)
    long_ago.delete_task(task_for(long_ago, "ann"))  # the number of answers is as before, that of tasks not
    assert counts(site.pull(long_ago)) == (1, 0, 1, 0)
    assert asked_for_nothing(long_ago, site) == OF_ONE


def test_tasks_that_somebody_deleted_are_named_with_what_brings_them_back(
    begun: FakeServer, site: Site
) -> None:
    for place in (3, 4):
        begun.delete_task(task_for(begun, "ann", place))
    notes = [site.pull(begun).notes for _ in range(2)]
    assert notes == [
        (
            "project 1 (1/ann) has 2 tasks fewer than before; `fire-toolkit push` adds those again that wait "
            "for an answer",
        ),
        (),
    ]


def test_an_edit_without_a_date_is_found_by_a_full_pull_only(long_ago: FakeServer, site: Site) -> None:
    long_ago.edit(FIRST, 2, "irrelevant")
    long_ago.lose_time(task_for(long_ago, "ann"))
    assert counts(site.pull(long_ago)) == (0, 0, 0, 0)
    assert counts(site.pull(long_ago, is_full=True)) == (0, 1, 0, 0)


Page = dict[str, str]  # what is asked
Read = Callable[[], httpx.Response]


@contextmanager
def while_pages_are_read(happens: Callable[[Page, Read], httpx.Response]) -> Iterator[None]:
    """Let something happen on the server around the reading of each page of tasks."""
    shown = FakeServer._page
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            FakeServer, "_page", lambda self, params: happens(params, lambda: shown(self, params))
        )
        yield


def test_people_who_go_on_answering_are_no_reason_to_read_all_again(begun: FakeServer, site: Site) -> None:
    def answer(params: Page, read: Read) -> httpx.Response:
        if int(params["project"]) == begun.project_of("ann") and len(begun.annotations) < 3:
            begun.answer(task_for(begun, "ann", len(begun.annotations)), 2)
        return read()

    begun.requests.clear()
    with while_pages_are_read(answer):
        assert counts(site.pull(begun)) == (1, 0, 0, 0)
    assert asked(begun) == [*OF_ONE, "/api/projects/1/"]  # and nothing whole


def test_later_changes_are_read_next(server: FakeServer, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module.Api, "page_size", 2)
    site.pull(server)
    server._ticks += 600
    for place in range(5):
        server.answer(task_for(server, "ann", place), 2)

    def answer(params: Page, read: Read) -> httpx.Response:
        response = read()
        if int(params["project"]) == server.project_of("ann") and response.json()["total"] == 3:
            for place in (0, -1):  # of a page that was read, and of one that was not; past the look-back
                server._ticks += 600
                server.answer(task_for(server, "ann", place), 3, "irrelevant")
        return response

    with while_pages_are_read(answer):
        site.pull(server)
    site.pull(server)
    assert len(site.ledger()) == len(server.annotations) == 7


def test_a_project_deleted_while_it_is_read_takes_no_answers_along(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "bob"), 3)
    site.pull(server)
    number = server.project_of("bob")

    def delete(params: Page, read: Read) -> httpx.Response:
        if int(params["project"]) == number:
            server.delete_project(number)
        return read()

    with while_pages_are_read(delete):
        assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)
    assert "was deleted, with 1 answer" in site.pull(server).notes[0]
    assert len(site.derived(ROUND).judgments) == 1


def test_what_the_server_counts_and_does_not_show_is_looked_for_once(begun: FakeServer, site: Site) -> None:
    begun.annotations[99] = {**begun.annotations[1], "id": 99, "task": 999, "unique_id": "lost"}
    site.pull(begun)
    assert asked_for_nothing(begun, site) == OF_ONE


def test_a_project_without_an_answer_is_not_read_again_until_it_has_one_or_loses_it(
    begun: FakeServer, site: Site
) -> None:
    assert asked_for_nothing(begun, site) == OF_ONE
    number = begun.answer(task_for(begun, "bob"), 3)
    assert counts(site.pull(begun)) == (1, 0, 0, 0)
    begun.delete_annotation(number)
    begun.delete_annotation(FIRST)
    assert counts(site.pull(begun)) == (0, 0, 2, 0)
    assert asked_for_nothing(begun, site) == CHANGES[:1]


def test_a_deleted_empty_project_is_missed_unless_its_queue_has_one(server: FakeServer, site: Site) -> None:
    site.pull(server)
    number = server.project_of("bob")
    lost = server.projects.pop(number)
    (note,) = site.pull(server).notes
    words = f"project {number} (1/bob) was deleted, with 0 answers"
    assert note == f"{words}; `fire-toolkit push --replace` makes it again"
    server.projects[77] = {**lost, "id": 77, "created_at": "2026-11-21T00:00:00Z"}
    assert site.pull(server).notes == ()


def test_numbers_that_are_used_again_are_other_answers(begun: FakeServer, site: Site) -> None:
    begun.delete_annotation(FIRST)
    assert begun.answer(task_for(begun, "ann", 1), 2, "irrelevant") == FIRST
    assert counts(site.pull(begun)) == (1, 0, 1, 0)
    assert judged(site, "label") == [["irrelevant"]]


def test_who_answered_before_the_account_was_deleted_keeps_a_pseudonym_or_number(
    begun: FakeServer, site: Site
) -> None:
    answer = begun.answer(task_for(begun, "bob"), 3)  # which no pull has seen yet
    for user in (2, 3):
        begun.delete_user(user)
    assert counts(site.pull(begun, is_full=True)) == (1, 0, 0, 0)
    begun.edit(FIRST, 4, "irrelevant")
    site.pull(begun)
    found = sorted(judged(site, "annotator_id", "label"))
    assert found == [["ann", "irrelevant"], [f"deleted-{answer}", "relevant"]]
    assert {kind for (kind,) in judged(site, "kind")} <= {"task", "overlap"}


def test_answers_over_the_overlap_are_kept_and_told_apart(begun: FakeServer, site: Site) -> None:
    task = task_for(begun, "ann")
    begun.answer(task, 3, "irrelevant")
    begun.answer(task, 2, "irrelevant")
    site.pull(begun)
    ann, bob = sorted(judged(site, "annotator_id", "kind", "label"))
    assert ann in (["ann", "task", "irrelevant"], ["ann", "overlap", "irrelevant"])
    assert bob == ["bob", "unassigned", "irrelevant"]
    derived = site.derived(ROUND)
    assert derived.dropped["reason"].tolist() == ["superseded"]
    assert any("1 of 2 judgments were not assigned to their annotator" in note for note in derived.notes)


def test_tasks_without_pair_id_are_kept_in_the_ledger_and_named(server: FakeServer, site: Site) -> None:
    project = server.project_of("ann")
    server._import(project, [{"data": {"caption": "by hand"}}, {"data": {"pair_id": "damaged"}}])
    for task in server.tasks_of(project)[-2:]:
        server.answer(task["id"], 2)
    server.answer(task_for(server, "ann"), 2)
    assert counts(site.pull(server)) == (3, 0, 0, 0)
    derived = site.derived(ROUND)
    assert len(derived.judgments) == 1
    assert derived.dropped["reason"].tolist() == ["no_pair", "no_pair"]
    assert any("2 answers belong to tasks without pair_id" in note for note in derived.notes)
    answers = [json.loads(text) for text in site.ledger()["answer"]]
    assert {"caption": "by hand"} in [answer.get("task_data") for answer in answers]


def test_a_changed_page_stops_the_pull_before_anything_is_read(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "ann"), 2)
    project = server.projects[server.project_of("bob")]
    project["label_config"] = project["label_config"].replace("$video", "$clip")
    with pytest.raises(ServerError, match="its labeling config was changed on the server"):
        site.pull(server)
    assert len(site.ledger()) == 0


LIES: dict[str, Callable[[Any], object]] = {
    "no answers": lambda page: [task.update(annotations=None) for task in page["tasks"]],
    "bare tasks": lambda page: [task.pop("annotations") for task in page["tasks"]],
    "no data": lambda page: [task.update(data=None) for task in page["tasks"]],
    "fewer tasks": lambda page: page.update(tasks=page["tasks"][1:], total=page["total"] - 1),
    "no number": lambda page: page.update(total={}),
    "no result": lambda page: [a.update(result=None) for task in page["tasks"] for a in task["annotations"]],
    "no time": lambda page: [a.update(updated_at="?") for task in page["tasks"] for a in task["annotations"]],
}


@pytest.mark.parametrize("lie", LIES)
def test_what_no_server_can_mean_changes_no_answer(begun: FakeServer, site: Site, lie: str) -> None:
    def lies(params: Page, read: Read) -> httpx.Response:
        LIES[lie](shown := read().json())
        return httpx.Response(200, json=shown)

    with while_pages_are_read(lies), pytest.raises(ServerError):
        site.pull(begun, is_full=True)
    assert counts(site.pull(begun, is_full=True)) == (0, 0, 0, 0)
    assert judged(site, "label") == [["relevant"]]


def test_the_ledger_holds_no_email_and_nothing_that_was_not_asked_for(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "ann"), 2, completed_by={"id": 2, "email": "jo@example.org"})
    site.pull(server)
    text = site.ledger().to_csv()
    assert "jo@example.org" not in text
    assert "never shown" not in text
    assert site.ledger()["annotator_id"].tolist() == ["ann"]


def busy_server() -> FakeServer:
    server = deepcopy(pushed_server())
    for name, user in (("ann", 2), ("bob", 3)):
        for place in range(5):
            server.answer(task_for(server, name, place), user)
    server.edit(1, 3, "irrelevant")
    return server


def meaning(folder: Path) -> pd.DataFrame:
    columns = ["annotation", "updated_at", "state", "pair_id", "queue", "annotator_id", "answer"]
    return read_ledger(folder)[columns]


@pytest.mark.parametrize("step", some([4, 1], 1))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_request_the_next_pull_goes_on(
    tmp_path: Path, after: bool, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at every fourth request, before it or after the one two later; a thorough run has all."""
    monkeypatch.setattr(api_module.Api, "page_size", 3)
    whole = Site(tmp_path / "whole")
    server = busy_server()
    whole.pull(server)
    n_requests = len(server.requests)
    assert n_requests > 8
    for place in range(1 + 2 * after % step, n_requests + 1, step):
        site = Site(tmp_path / str(place))
        server = busy_server()
        server.kill_at, server.kill_after = place, after
        with pytest.raises(Killed):
            site.pull(server)
        server.kill_at = None
        site.pull(server)
        pd.testing.assert_frame_equal(meaning(whole.folder), meaning(site.folder))


def test_answers_of_a_project_whose_number_another_has_are_kept_too(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "bob"), 3)
    site.pull(server)
    number = server.project_of("bob")
    server.delete_project(number)
    push_round(server, ROUND)
    assert server.project_of("bob") == number
    server.answer(task_for(server, "bob", 3), 3, "irrelevant")
    for is_full in (False, True):
        pulled = site.pull(server, is_full=is_full)
        assert pulled.counts["deleted"] == 0
        assert f"project {number} (1/bob) was deleted, with 1 answer" in pulled.notes[0]
    assert len(site.derived(ROUND).judgments) == 2
    assert counts(site.pull(server, is_full=True, accepts_loss=True)) == (0, 0, 1, 0)
    assert judged(site, "label") == [["irrelevant"]]
    assert site.pull(server, is_full=True).notes == ()
