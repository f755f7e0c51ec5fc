"""Projects and tasks that are there twice: who names them at once, and what push --repair does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from campaigns import CAMPAIGN, make_api, round_of, tasks_of
from fake_api import FakeServer

from fire_toolkit.campaign.records import write_campaign, write_round
from fire_toolkit.labelstudio import doctor
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.twins import find_doubled, retire_twins

Fire = Callable[..., Result]
ROUND = round_of(tasks_of(8, overlap=0.5), ("A02", "A03", "A04"))


@pytest.fixture
def site(fire: Fire, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pushed campaign of three people; A02 and A03 have two projects each, one of A03 answered."""
    root = tmp_path / "site"
    fire("init", root)
    monkeypatch.chdir(root)
    monkeypatch.setattr(doctor, "examine", partial(doctor.examine, transport=server.transport()))
    write_campaign(root, CAMPAIGN)
    write_round(root, ROUND)
    fire("push")
    for name in ("A02", "A03"):
        project = server.project_of(name)
        server._create(dict(server.projects[project]))
        server._import(max(server.projects), [{"data": task["data"]} for task in server.tasks_of(project)])
    server.answer(server.tasks_of(2)[0]["id"], 3)
    return root


def lines_with(result: Result, word: str) -> list[str]:
    return [line for line in result.output.splitlines() if word in line]


def test_doctor_status_and_push_name_the_twins(fire: Fire, site: Path) -> None:
    twins = ["queue 1/A02 has 2 projects: 1 (0 answers), 4 (0 answers)"]
    twins += ["queue 1/A03 has 2 projects: 2 (1 answer), 5 (0 answers)"]
    said = fire("doctor", code=3).output
    assert [line.split("projects    ")[1] for line in said.splitlines() if "has 2 projects" in line] == twins
    assert said.count("-> fire-toolkit push --repair") == 2
    assert "all is well" not in said
    assert lines_with(fire("status"), "warning") == [
        f"warning: {w}; fire-toolkit push --repair" for w in twins
    ]
    assert len(lines_with(fire("push"), "`fire-toolkit push --repair` retires those without answers")) == 2


def test_repair_retires_the_copies_without_answers_and_all_is_well(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    n_tasks = len(server.tasks)
    assert "retired: projects 4, 5, copies without answers" in fire("push", "--repair").output
    retired = [n for n, project in server.projects.items() if "Do not judge here" in project["title"]]
    assert retired == [4, 5]
    assert (len(server.tasks), len(server.annotations)) == (n_tasks, 1)
    assert lines_with(fire("status"), "warning") == []
    said = fire("doctor").output
    assert ("has 2 projects" in said, "the first item of each project can be seen" in said) == (False, True)
    assert "no project to retire" in fire("push", "--repair").output
    server.answer(
        server.tasks_of(4)[0]["id"], 2
    )  # somebody did not read the title: it is pulled all the same
    fire("pull")
    assert len((site / "judgments" / "judgments.csv").read_text().splitlines()) == 1 + 2


def test_the_twin_with_answers_stays_though_it_is_the_younger_one(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    server.answer(server.tasks_of(4)[0]["id"], 2, None)  # skipped
    said = fire("push", "--repair").output
    assert "retired: projects 1, 5, copies without answers" in said
    assert "added, 12 there before, in 3 projects" in said


def test_twins_with_answers_are_named_and_left(fire: Fire, site: Path, server: FakeServer) -> None:
    server.answer(server.tasks_of(5)[0]["id"], 3)
    titles = {number: project["title"] for number, project in server.projects.items()}
    said = fire("push", "--repair").output
    (warning,) = [
        line for line in said.splitlines() if line.startswith("warning: queue 1/A03 has 2 projects")
    ]
    assert "2 (1 answer), 5 (1 answer)" in warning
    assert "let the annotator go on in one" in warning
    assert {n for n, project in server.projects.items() if project["title"] != titles[n]} == {4}


def test_a_copy_that_is_answered_in_that_moment_is_left(
    site: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dict(server.projects[4])
    update = Api.update_project

    def answered_meanwhile(self: Api, number: int, settings: dict[str, str]) -> None:
        if number == 4 and not server._counts(4)["total_annotations_number"]:
            server.answer(server.tasks_of(4)[0]["id"], 2)
        update(self, number, settings)

    monkeypatch.setattr(Api, "update_project", answered_meanwhile)
    done = retire_twins(make_api(server), CAMPAIGN)
    assert done.projects == (5,)
    assert [each.words for each in done.left] == ["queue 1/A02 has 2 projects: 1 (0 answers), 4 (0 answers)"]
    assert server.projects[4] == before


def test_doubled_tasks_are_counted_and_named(fire: Fire, site: Path, server: FakeServer) -> None:
    fire("push", "--repair")
    server._import(3, [{"data": task["data"]} for task in server.tasks_of(3)[:2]])
    words = "project 3 (queue 1/A04) has 2 tasks more than its queue: doubled or foreign"
    assert lines_with(fire("status"), "warning")[0].startswith(f"warning: {words}")
    assert words in fire("doctor", code=3).output
    assert "2 pairs there more than once" in fire("push").output


def test_a_server_out_of_reach_is_said_and_status_goes_on(fire: Fire, site: Path, server: FakeServer) -> None:
    server.faults = ["drop"]
    said = fire("status").output
    assert "note: the server was not asked whether anything is there twice" in said
    assert "A02, round 1" in said


def test_nothing_is_doubled_in_a_campaign_that_was_pushed_once(fire: Fire, server: FakeServer) -> None:
    listed = make_api(server).projects(with_counts=True)
    assert find_doubled(listed, CAMPAIGN, [ROUND]) == []
