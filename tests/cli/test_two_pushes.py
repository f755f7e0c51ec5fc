"""Two pushes at once, as processes of their own: nothing is doubled."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import begin_workspace, run
from fake_api import TOKEN, FakeServer
from fake_http import served

NAMES = "A02,A03,A04"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A workspace in the current folder, and a server that processes can reach."""
    monkeypatch.chdir(begin_workspace(tmp_path / "site", 60))
    run("tasks", "--overlap", "0.5")
    server = FakeServer()
    with served(server) as url:
        monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", url)
        monkeypatch.setenv("FIRE_LABEL_STUDIO_TOKEN", TOKEN)
        yield server


@pytest.mark.slow
def test_of_two_pushes_at_once_the_second_waits_and_finds_all_there(world: FakeServer) -> None:
    command = [sys.executable, "-m", "fire_toolkit", "push", "--check-media", "0", "--annotator", NAMES]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert len(world.projects) == 3
    assert sum(len(world.tasks_of(number)) for number in world.projects) == 90
    for number in world.projects:
        assert set(world.keys_of(number).values()) == {1}
    counts = re.findall(r"(\d+) tasks added, (\d+) there before", " ".join(said))
    assert sorted(counts) == [("0", "90"), ("90", "0")]
