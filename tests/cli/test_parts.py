"""A queue over several projects is one queue for the commands that come after `push`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from command import begin_workspace

from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.labelstudio.carrier import LabelStudio

if TYPE_CHECKING:
    from fake_api import FakeServer

Fire = Callable[..., Result]
N_PAIRS = 12


@pytest.fixture
def root(fire: Fire, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of A02 and A03 with six pairs each, in three projects of two."""
    monkeypatch.chdir(begin_workspace(tmp_path, N_PAIRS))
    fire("tasks", "pool/pool.csv", "--overlap", "0")
    monkeypatch.setitem(LabelStudio.__init__.__kwdefaults__, "most_tasks", 2)
    fire("push", "--annotator", "A02,A03")
    return tmp_path


def projects_of(server: FakeServer, name: str) -> list[int]:
    """The projects of a queue, by part."""
    return [number for number, p in server.projects.items() if f"queue {name}" in p["description"]]


def offered(server: FakeServer, name: str) -> list[str]:
    """The pairs that the server still offers in a queue."""
    return [pair for number in projects_of(server, name) for pair in server.offered(number)]


def answer(server: FakeServer, name: str, pairs: list[str]) -> None:
    for number in projects_of(server, name):
        for task in server.tasks_of(number):
            if task["data"]["pair_id"] in pairs:
                server.answer(task["id"], int(name[1:]))


def push(fire: Fire) -> int:
    return int(json.loads(fire("push", "--format", "json").stdout)["added"])


def test_what_is_left_in_any_part_goes_to_another(fire: Fire, server: FakeServer, root: Path) -> None:
    theirs = offered(server, "A02")
    answer(server, "A02", [theirs[0], theirs[3]])
    moved = json.loads(fire("annotators", "reassign", "A02", "--to", "A03", "--format", "json").stdout)
    assert moved["moved"] == 4
    assert push(fire) == 4
    assert offered(server, "A02") == []
    there = [pair for n in projects_of(server, "A03") for pair in server.keys_of(n).elements()]
    assert Counter(there) == Counter(set(there))
    assert len(there) == 10
    assert max(len(server.tasks_of(n)) for n in server.projects) == 2
    assert push(fire) == 0

    answer(server, "A03", there)
    pulled = json.loads(fire("pull", "--format", "json").stdout)
    assert (pulled["new"], pulled["judgments"]) == (10, N_PAIRS)
    judgments = (root / "judgments/judgments.csv").read_text()
    assert (judgments.count(",A02,"), judgments.count(",A03,"), judgments.count(",unassigned")) == (2, 10, 0)
    rows = json.loads(fire("progress", "--format", "json").stdout)
    assert {row["annotator_id"]: (row["n_tasks"], row["n_left"]) for row in rows} == {
        "A02": (2, 0),
        "A03": (10, 0),
        "all": (12, 0),
    }


def test_a_gallery_links_tasks_of_all_parts(fire: Fire, server: FakeServer, root: Path) -> None:
    for name in ("A02", "A03"):
        answer(server, name, offered(server, name))
    fire("pull"), fire("resolve")
    (root / "collection/qrels.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(N_PAIRS)))
    (root / "runs/one.run").write_text("".join(f"q{n} Q0 v{n} 1 1 one\n" for n in range(N_PAIRS)))
    fire("gallery")
    text = Path("gallery/data/0000.js").read_text()
    shard = json.loads(f"[{text[text.index('(') + 1 : text.rindex(')')]}]")[-1]
    linked = set()
    for place, link in shard["links"]:
        project, task = map(int, re.findall(r"\d+", link)[-2:])
        assert server.tasks[task]["project"] == project
        doc = shard["docs"][shard["doc"][place]]
        assert split_pair_id(server.tasks[task]["data"]["pair_id"]) == (doc.replace("v", "q"), doc)
        linked.add(project)
    assert len(shard["links"]) == N_PAIRS
    assert linked == set(server.projects)
