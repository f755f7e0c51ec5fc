"""A queue over several projects: one campaign, whatever is killed, changed or deleted."""

from __future__ import annotations

from collections import Counter

import pytest
from campaigns import CAMPAIGN, GUIDELINE, Site, counts, make_api, pairs_of, push_round, round_of, tasks_of
from fake_api import FAULTS, FakeServer, Killed

from examples import some
from fire_toolkit.campaign.ledger import latest_answers
from fire_toolkit.campaign.records import QueueName
from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.projects import (
    marked_queue,
    own_projects,
    part_of,
    project_mark,
    project_settings,
)
from fire_toolkit.labelstudio.push import Pushed
from fire_toolkit.labelstudio.twins import find_doubled, retire_twins

ENTRY = round_of(tasks_of(12, overlap=0.5))  # 9 tasks for each of two
MOST = 4


def push(server: FakeServer, *, most_tasks: int = MOST) -> list[Pushed]:
    return push_round(server, ENTRY, most_tasks=most_tasks)


@pytest.fixture
def pushed() -> FakeServer:
    """A server on which the queues are, in three projects each."""
    server = FakeServer()
    push(server)
    return server


def parts_on(server: FakeServer, name: str) -> list[list[str]]:
    """The pairs of each project of a queue, by part."""
    found = own_projects((dict(p) for p in server.projects.values()), CAMPAIGN)[QueueName(1, name)]
    return [[task["data"]["pair_id"] for task in server.tasks_of(project["id"])] for project in found]


def assert_all_there_once(server: FakeServer) -> None:
    for name in ("ann", "bob"):
        there = Counter(pair for pairs in parts_on(server, name) for pair in pairs)
        assert there == Counter(pairs_of(ENTRY.assignments, name))
        assert max(map(len, parts_on(server, name))) <= MOST


def test_a_queue_goes_on_in_further_projects_in_its_order() -> None:
    server = FakeServer()
    found = push(server)
    assert [(str(p.queue), p.n_added, len(p.projects)) for p in found] == [("1/ann", 9, 3), ("1/bob", 9, 3)]
    for name in ("ann", "bob"):
        pairs = pairs_of(ENTRY.assignments, name)
        assert parts_on(server, name) == [pairs[:4], pairs[4:8], pairs[8:]]
    titles = [project["title"] for project in server.projects.values()][:3]
    assert titles[0].startswith("ann · round 1 · caption")
    assert [title.split(" · ")[2] for title in titles[1:]] == ["part 2", "part 3"]


def test_another_number_moves_and_doubles_nothing(pushed: FakeServer) -> None:
    for most_tasks in (50_000, 2, MOST):
        assert sum(p.n_added for p in push(pushed, most_tasks=most_tasks)) == 0
    assert_all_there_once(pushed)


@pytest.mark.parametrize("step", some([2, 1], 1))
def test_a_push_killed_anywhere_is_taken_up_again(step: int) -> None:
    """Killed before every second request and after the others; a thorough run kills at both ends of each."""
    whole = FakeServer()
    push(whole)
    for after in (False, True):
        for at in range(1 + after % step, len(whole.requests) + 1, step):
            server = FakeServer()
            server.kill_at, server.kill_after = at, after
            with pytest.raises(Killed):
                push(server)
            server.kill_at = None
            push(server)
            assert_all_there_once(server)
            assert len(server.projects) == 6


@pytest.mark.parametrize("step", some([len(FAULTS), 1], 1))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_push_over_parts_survives_each_fault_at_each_request(fault: str, step: int) -> None:
    """One fault at each request; a thorough run has each fault at each."""
    whole = FakeServer()
    push(whole)
    for at in range(list(FAULTS).index(fault) % step, len(whole.requests), step):
        server = FakeServer()
        server.faults = ["ok"] * at + [fault]
        for _ in range(5):
            try:
                push(server)
                break
            except ServerError:
                continue
        push(server)
        assert_all_there_once(server)


def test_a_part_that_was_deleted_is_made_again(pushed: FakeServer) -> None:
    (number,) = (n for n, p in pushed.projects.items() if p["description"].endswith("queue ann part 2"))
    for task in pushed.tasks_of(number):
        pushed.delete_task(task["id"])
    del pushed.projects[number]
    push(pushed)
    assert_all_there_once(pushed)
    assert len(parts_on(pushed, "ann")) == 3


def test_parts_are_no_copies_and_a_copy_of_a_part_is_retired_alone(pushed: FakeServer) -> None:
    api = make_api(pushed)
    listed = api.projects(with_counts=True)
    assert find_doubled(listed, CAMPAIGN, [ENTRY]) == []
    copy = api.create_project(project_settings(CAMPAIGN, QueueName(1, "ann"), GUIDELINE, 2))
    (found,) = find_doubled(api.projects(with_counts=True), CAMPAIGN, [ENTRY])
    assert found.words.startswith("part 2 of queue 1/ann has 2 projects")
    assert push(pushed)[0].twins == (copy,)
    assert retire_twins(api, CAMPAIGN).projects == (copy,)
    assert pushed.projects[copy]["description"].endswith("part 2 retired")
    assert find_doubled(api.projects(with_counts=True), CAMPAIGN, [ENTRY]) == []
    assert_task_counts(pushed)


def assert_task_counts(server: FakeServer) -> None:
    """A task too many in any part is named with all parts, since it may belong to each."""
    (number,) = (n for n, p in server.projects.items() if p["description"].endswith("queue bob part 3"))
    make_api(server).import_tasks(number, [{"data": {"pair_id": "x"}}])
    (found,) = find_doubled(make_api(server).projects(with_counts=True), CAMPAIGN, [ENTRY])
    assert "together (queue 1/bob) have 1 tasks more than its queue" in found.words


def test_answers_of_all_parts_are_one_queues(pushed: FakeServer, site: Site) -> None:
    for task in pushed.tasks:
        pushed.answer(task, 2)
    assert counts(site.pull(pushed)) == (18, 0, 0, 0)
    rows = latest_answers(site.ledger())
    assert rows["queue"].value_counts().to_dict() == {"1/ann": 9, "1/bob": 9}
    pushed.answer(1, 3)
    n_before = len(pushed.requests)
    assert counts(site.pull(pushed)) == (1, 0, 0, 0)
    assert len(pushed.requests) - n_before <= 2 + len(pushed.projects)


def test_the_marks_of_a_pull_tell_the_parts(pushed: FakeServer, site: Site) -> None:
    marks = site.pull(pushed).marks
    assert [marks[key] for key in sorted(marks) if key.endswith(" part")] == ["2", "3", "2", "3"]


@pytest.mark.parametrize("part", [1, 2, 21])
def test_a_part_is_known_by_its_mark(part: int) -> None:
    queue = QueueName(3, "A02")
    for after in ("", " retired", " some words"):
        mark = project_mark(CAMPAIGN, queue, part) + after
        assert marked_queue(CAMPAIGN, mark) == queue
        assert part_of({"description": mark}) == part


@pytest.mark.parametrize("words", [" part", " part x", " part 0", " part 2b", " part -1"])
def test_words_that_name_no_part_do_not_make_one(words: str) -> None:
    mark = project_mark(CAMPAIGN, QueueName(3, "A02")) + words
    assert marked_queue(CAMPAIGN, mark) == QueueName(3, "A02")
    assert part_of({"description": mark}) == 1
