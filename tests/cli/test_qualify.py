"""The training gates a queue: a mark to reach, further tries, and nothing more below it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result

if TYPE_CHECKING:
    from fake_api import FakeServer

Fire = Callable[..., Result]
N_PAIRS = 8


@pytest.fixture
def root(fire: Fire, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of A02 and A03 on a server, with a training of four pairs: t0 and t2 are relevant."""
    monkeypatch.chdir(tmp_path)
    fire("init", ".")
    (tmp_path / "pool").mkdir()
    ids = [*(f"{n}" for n in range(N_PAIRS)), *(f"t{n}" for n in range(4))]
    for name, part in (("pool/pool.csv", ids[:N_PAIRS]), ("training.csv", ids[N_PAIRS:])):
        (tmp_path / name).write_text("query_id,doc_id\n" + "".join(f"q{n},v{n}\n" for n in part))
    queries = "".join(f"q{n}\ta dog runs {n}\n" for n in ids)
    (tmp_path / "collection/queries.tsv").write_text("query_id\ttext\n" + queries)
    items = "".join(f"v{n}\thttp://media.test/v{n}.mp4\n" for n in ids)
    (tmp_path / "collection/items.tsv").write_text("doc_id\tmedia_url\n" + items)
    known = "".join(f"qt{n} 0 vt{n} {int(n % 2 == 0)}\n" for n in range(4))
    (tmp_path / "known.txt").write_text(known)
    fire("tasks", "pool/pool.csv", "--overlap", "0")
    fire("tasks", "training.csv", "--overlap", "0", "--out", "training.json")
    people = ("--annotator", "A02", "--annotator", "A03")
    fire("push", *people, "--training", "training.json", "--controls", "known.txt")
    fire("annotators", "qualify", "--pass-mark", "0.75", "--retries", "1")
    return tmp_path


def train(server: FakeServer, name: str, right: int) -> list[int]:
    """Answer the training, the first `right` pairs rightly; return the answers' numbers."""
    numbers = []
    for place, task in enumerate(server.tasks_of(server.project_of(name))[:4]):
        is_relevant = task["data"]["caption"].endswith(("t0", "t2"))
        label = "relevant" if is_relevant == (place < right) else "irrelevant"
        numbers.append(server.answer(task["id"], int(name[1:]), label))
    return numbers


def states(fire: Fire) -> dict[str, tuple[int, int, str]]:
    rows: list[dict[str, Any]] = json.loads(fire("annotators", "qualify", "--format", "json").stdout)
    return {row["queue"]: (row["n_right"], row["n_tries"], row["state"]) for row in rows}


def pushed(fire: Fire) -> tuple[int, int]:
    fire("pull")
    counts = json.loads(fire("push", "--format", "json").stdout)
    return counts["added"], counts["held"]


def test_who_reaches_the_mark_gets_the_rest_and_who_does_not_has_another_try(
    fire: Fire, server: FakeServer, root: Path
) -> None:
    assert pushed(fire) == (0, N_PAIRS)
    train(server, "A02", 3)
    answers = train(server, "A03", 2)
    assert pushed(fire) == (4, 4)
    assert states(fire) == {"1/A02": (3, 1, "passed"), "1/A03": (2, 1, "again")}
    wrong = answers[2]
    content = server.annotations[wrong]["result"][0]["value"]["choices"][0]
    server.edit(wrong, 3, "irrelevant" if content == "relevant" else "relevant")
    assert pushed(fire) == (4, 0)
    assert states(fire)["1/A03"] == (3, 2, "passed")


def test_who_fails_keeps_nothing_and_others_take_it(fire: Fire, server: FakeServer, root: Path) -> None:
    train(server, "A02", 4)
    answers = train(server, "A03", 0)
    assert pushed(fire) == (4, 4)
    server.edit(answers[0], 3, "ambiguous")
    server.edit(answers[0], 3, "relevant")
    fire("pull")
    server.edit(answers[0], 3, "irrelevant")
    assert pushed(fire) == (0, 4)
    assert states(fire)["1/A03"][2] == "failed"
    moved = json.loads(fire("annotators", "reassign", "A03", "--to", "A02", "--format", "json").stdout)
    assert moved["moved"] == 4
    assert pushed(fire) == (4, 0)
    assert len(server.keys_of(server.project_of("A02"))) == N_PAIRS + 4


def test_the_table_names_the_mark(fire: Fire, server: FakeServer, root: Path) -> None:
    told = fire("annotators", "qualify")
    assert "the mark is 0.75, with 1 further try" in told.stderr
    assert ["A02", "1", "0", "4", "0", "open"] in [line.split() for line in told.stdout.splitlines()]


def test_without_a_mark_any_answers_open_the_queue(fire: Fire, server: FakeServer, root: Path) -> None:
    (root / "campaign/qualification.json").unlink()
    train(server, "A03", 0)
    assert pushed(fire) == (4, 4)
    assert "no mark was set; set one with --pass-mark" in fire("annotators", "qualify", code=1).stderr
    assert "--retries needs --pass-mark" in fire("annotators", "qualify", "--retries", "1", code=2).stderr
    (root / "campaign/qualification.json").write_text("{}")
    assert "qualification.json: damaged" in fire("push", code=1).stderr
