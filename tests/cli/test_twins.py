"""Projects and tasks that are there twice: who names them at once, and what helps."""

from pathlib import Path

import pytest
from campaigns import CAMPAIGN, round_of, tasks_of
from click.testing import Result
from command import Fire
from fake_api import FakeServer

from fire_toolkit.campaign.records import write_campaign, write_round

ROUND = round_of(tasks_of(8, overlap=0.5), ("A02", "A03", "A04"))


@pytest.fixture
def site(fire: Fire, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pushed campaign of three people; A02 and A03 have two projects each, one of A03 answered."""
    root = tmp_path / "site"
    fire("init", root)
    monkeypatch.chdir(root)
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


def test_doctor_status_push_and_pull_name_the_twins(fire: Fire, site: Path) -> None:
    twins = ["queue 1/A02 has 2 projects: 1 (0 answers), 4 (0 answers)"]
    twins += ["queue 1/A03 has 2 projects: 2 (1 answer), 5 (0 answers)"]
    said = fire("doctor", code=3).output
    assert [line.split("projects    ")[1] for line in said.splitlines() if "has 2 projects" in line] == twins
    fixes = [f"delete project {n} in Label Studio (its Settings, Danger Zone): nobody has" for n in (4, 5)]
    assert [said.count(f"-> {fix}") for fix in fixes] == [1, 1]
    assert "all is well" not in said
    for command, start in (("status", "warning"), ("pull", "note")):
        lines = lines_with(fire(command), f"{start}: queue")
        wanted = [f"{start}: {words}; {fix}" for words, fix in zip(twins, fixes, strict=True)]
        assert [line[: len(want)] for line, want in zip(lines, wanted, strict=True)] == wanted
    assert len(lines_with(fire("push"), "`fire-toolkit doctor` says which to delete")) == 2


def test_with_the_unanswered_copies_gone_all_is_well(fire: Fire, site: Path, server: FakeServer) -> None:
    fire("pull")
    for number in (4, 5):
        for task in server.tasks_of(number):
            server.delete_task(task["id"])
        del server.projects[number]
    assert lines_with(fire("status"), "warning") == []
    said = fire("doctor").output
    assert ("has 2 projects" in said, "the first item of each project can be seen" in said) == (False, True)
    assert "0 tasks added" in fire("push").output


def test_answered_twins_doubled_tasks_and_silence_are_said(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    """Of two projects that with answers stays, though it is the younger one; answers in both count."""
    server.answer(server.tasks_of(4)[0]["id"], 2, None)  # skipped
    assert "delete project 1 in Label Studio" in fire("doctor", code=3).output
    server.answer(server.tasks_of(5)[0]["id"], 3)
    (line,) = lines_with(fire("status"), "queue 1/A03 has 2 projects")
    assert "2 (1 answer), 5 (1 answer); answers in each of them count; let the annotator go on in one" in line
    server._import(3, [{"data": task["data"]} for task in server.tasks_of(3)[:2]])
    words = "project 3 (queue 1/A04) has 2 tasks more than its queue: doubled or foreign"
    assert lines_with(fire("status"), f"warning: {words}")
    assert words in fire("doctor", code=3).output
    assert "2 pairs there more than once" in fire("push").output
    server.faults = ["drop"]
    said = fire("status").output
    assert "note: the server was not asked whether anything is there twice" in said
    assert "A02, round 1" in said
