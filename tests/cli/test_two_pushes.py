"""Two pushes at once, as processes of their own, and one that is killed in the middle: nothing is doubled."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Fire, begin_workspace

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from fake_api import TOKEN, FakeServer
from fake_http import served

NAMES = ("A02", "A03", "A04")
COMMAND = [sys.executable, "-m", "fire_toolkit", "push", "--check-media", "0"]


@pytest.fixture
def world(fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A workspace in the current folder, and a server that processes can reach."""
    monkeypatch.chdir(begin_workspace(tmp_path / "site", 60))
    fire("tasks", "--overlap", "0.5")
    server = FakeServer()
    with served(server) as url:
        monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", url)
        monkeypatch.setenv("FIRE_LABEL_STUDIO_TOKEN", TOKEN)
        yield server


def push() -> subprocess.Popen[str]:
    people = [word for name in NAMES for word in ("--annotator", name)]
    return subprocess.Popen([*COMMAND, *people], stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def assert_nothing_is_doubled(server: FakeServer) -> None:
    assert len(server.projects) == len(NAMES)
    assert sum(len(server.tasks_of(number)) for number in server.projects) == 90
    for number in server.projects:
        assert set(server.keys_of(number).values()) == {1}


@pytest.mark.slow
def test_of_two_pushes_at_once_the_second_waits_and_finds_all_there(world: FakeServer) -> None:
    both = [push(), push()]
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert_nothing_is_doubled(world)
    assert sorted(re.findall(r"(\d+) tasks added, (\d+) there before", " ".join(said))) == [
        ("0", "90"),
        ("90", "0"),
    ]


@pytest.mark.slow
def test_after_a_killed_push_the_next_one_takes_over_at_once(world: FakeServer) -> None:
    first = push()
    while not world.projects:
        assert first.poll() is None
        time.sleep(0.005)
    first.kill()
    first.communicate()
    second = push()
    said = second.communicate()[1]
    assert second.returncode == 0, said
    assert "waiting for" not in said
    assert_nothing_is_doubled(world)
