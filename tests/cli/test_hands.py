"""People who leave or come late: on a server and by hand the same."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result
from command import Fire, begin_workspace, given, rows

from examples import some
from fire_toolkit.campaign.queues import CONTROL, OVERLAP, TASK
from fire_toolkit.campaign.records import Round, read_rounds

if TYPE_CHECKING:
    from fake_api import FakeServer

N_PAIRS = 12


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(begin_workspace(tmp_path, N_PAIRS, n_known=N_PAIRS + 4))
    (tmp_path / "controls.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(N_PAIRS, N_PAIRS + 4)))
    return tmp_path


def begin(fire: Fire, carrier: str, people: tuple[str, ...] = ("A02", "A03")) -> None:
    """Begin a campaign of pairs of which half are judged twice."""
    if carrier == "hand":
        fire("tasks", "pool/pool.csv", "--overlap", "0.5", "--annotator", ",".join(people))
        return
    fire("tasks", "pool/pool.csv", "--overlap", "0.5")
    fire("push", *(word for name in people for word in ("--annotator", name)))


def answer(fire: Fire, server: FakeServer, root: Path, carrier: str, name: str, n: int) -> list[str]:
    """Let somebody answer the first n tasks of her first file or project; return the pairs."""
    if carrier == "hand":
        with next(root.glob(f"tasks/tasks.{name}*.csv")).open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))[:n]
        text = "".join(f"{row['pair_id']},relevant\n" for row in rows)
        (root / "exports" / f"back.{name}.csv").write_text(f"pair_id,label\n{text}")
        fire("import")
        return [row["pair_id"] for row in rows]
    tasks = [task for task in server.tasks_of(server.project_of(name)) if not task["is_labeled"]][:n]
    for task in tasks:
        server.answer(task["id"], int(name[1:]))
    fire("pull")
    return [task["data"]["pair_id"] for task in tasks]


def only(root: Path) -> Round:
    (entry,) = read_rounds(root)
    return entry


def votes(entry: Round, name: str | None = None) -> list[str]:
    rows = entry.assignments[entry.assignments["kind"].isin([TASK, OVERLAP])]
    return sorted(rows["pair_id"] if name is None else rows.loc[rows["annotator_id"] == name, "pair_id"])


def counts(result: Result) -> dict[str, Any]:
    return dict(json.loads(result.stdout))


carriers = pytest.mark.parametrize("carrier", some(["server", "hand"], 1))


@carriers
def test_what_somebody_leaves_goes_to_others(
    fire: Fire, server: FakeServer, root: Path, carrier: str
) -> None:
    begin(fire, carrier)
    before = votes(only(root))
    done = answer(fire, server, root, carrier, "A02", 2)
    told = fire("annotators", "retire", "A02").stderr
    n_left = len(votes(only(root), "A02")) - 2
    assert f"{n_left} tasks of A02 without an answer" in told
    assert "next: fire-toolkit annotators reassign A02 --to NAME" in told
    (line,) = [line for line in fire("status").stderr.splitlines() if line.startswith("A02, ")]
    assert f"round 1: 2 of {n_left + 2} tasks" in line
    assert "retired, `annotators reassign`" in line
    told = fire("annotators", "reassign", "A02", "--to", "A04").stderr
    assert f"{n_left} tasks moved: A04 {n_left}\n" in told
    entry = only(root)
    assert votes(entry) == before
    assert votes(entry, "A02") == sorted(done)
    if carrier == "server":
        fire("push")
        assert server.offered(server.project_of("A02")) == []
        assert sorted(server.keys_of(server.project_of("A04"))) == votes(entry, "A04")
        assert json.loads(fire("push", "--format", "json").stdout)["added"] == 0
    else:
        given = json.loads((root / "tasks/tasks.A04.more-1.json").read_text())
        assert sorted(task["data"]["pair_id"] for task in given) == votes(entry, "A04")
    assert "moves.csv is new" not in fire("status").stdout
    answer(fire, server, root, carrier, "A04", 99)
    answer(fire, server, root, carrier, "A03", 99)
    judged = rows(root / "judgments/judgments.csv")
    assert len(judged) == len(before)
    assert {row["kind"] for row in judged} == {"task", "overlap"}
    progress = json.loads(fire("progress", "--format", "json").stdout)
    assert {row["annotator_id"]: row["n_left"] for row in progress}["all"] == 0


@carriers
def test_an_answer_that_crosses_the_move_counts_as_it_was_asked(
    fire: Fire, server: FakeServer, root: Path, carrier: str
) -> None:
    begin(fire, carrier)
    answer(fire, server, root, carrier, "A02", 1)
    fire("annotators", "reassign", "A02", "--to", "A04")
    late = answer(fire, server, root, carrier, "A02", 2)[-1]  # before the push, or of her old file
    assert late in votes(only(root), "A04")
    judged = {row["query_id"]: row["kind"] for row in rows(root / "judgments/judgments.csv")}
    assert set(judged.values()) <= {"task", "overlap"}
    assert len(judged) == 2 if carrier == "hand" else 3
    if carrier == "server":
        fire("push")
        assert late in server.keys_of(server.project_of("A04"))


@carriers
def test_who_comes_late_takes_an_even_share(fire: Fire, server: FakeServer, root: Path, carrier: str) -> None:
    begin(fire, carrier)
    assert "6 tasks moved: A04 6\n" in fire("annotators", "reassign", "--to", "A04").stderr
    entry = only(root)
    assert len(votes(entry, "A04")) == 6
    assert {len(votes(entry, name)) for name in ("A02", "A03", "A04")} == {6}


def test_who_comes_late_gets_controls_among_her_tasks_and_nobody_keeps_controls_alone(
    fire: Fire, server: FakeServer, root: Path
) -> None:
    fire("tasks", "pool/pool.csv", "--overlap", "0")
    fire("push", "--annotator", "A02", "--annotator", "A03", "--controls", "controls.txt")
    fire("annotators", "reassign", "A02", "--to", "A04")
    fire("push")
    entry = only(root)
    kinds = entry.assignments.set_index("annotator_id")["kind"]
    assert (kinds["A04"] == CONTROL).sum() == 4
    assert "A02" not in kinds.index
    assert server.offered(server.project_of("A02")) == []
    assert len(server.offered(server.project_of("A04"))) == 10


@carriers
def test_next_round_asks_nobody_from_elsewhere(
    fire: Fire, server: FakeServer, root: Path, carrier: str
) -> None:
    """The server also has the accounts A04 and, made later, A05; the campaign is of A02, A03 and A04."""
    server.users.append(5)
    begin(fire, carrier, ("A02", "A03", "A04"))
    for name in ("A02", "A03", "A04"):
        answer(fire, server, root, carrier, name, 99)
    fire("resolve")
    ask = ("next-round", "--ask", "unverified_positive", "--dry-run", "--format", "json")
    assert set(counts(fire(*ask))["annotators"]) == {"A02", "A03", "A04"}


def test_what_waits_for_somebody_who_left_is_asked_again(fire: Fire, server: FakeServer, root: Path) -> None:
    begin(fire, "server")
    answer(fire, server, root, "server", "A02", 99)
    for task in server.tasks_of(server.project_of("A03")):
        server.answer(task["id"], 3, "irrelevant")
    fire("pull")
    fire("resolve")
    planned = counts(fire("next-round", "--annotator", "A04", "--format", "json"))
    assert planned["pairs"] == 6
    assert counts(fire("next-round", "--annotator", "A04", "--format", "json"))["pairs"] == 0
    fire("annotators", "retire", "A04")
    server.users.append(5)
    again = counts(fire("next-round", "--annotator", "A05", "--format", "json"))
    assert (again["pairs"], again["annotators"]) == (6, {"A05": 6})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reassign", "A09", "--to", "A04"), "no annotator is called 'A09'; active: A02, A03"),
        (("reassign", "A02", "--to", "A02"), "A02 cannot both give tasks away and get them"),
        (("reassign", "A02", "--to", "A09"), "A09 has no active account on the server"),
        (("reassign", "A02", "--to", "A04,A04"), "--to: expected names, each once"),
    ],
)
def test_moves_that_cannot_be_are_refused(
    fire: Fire, server: FakeServer, root: Path, words: tuple[str, ...], message: str
) -> None:
    begin(fire, "server")
    before = given(root)
    assert message in fire("annotators", *words, code=1).stderr
    assert given(root) == before


def test_a_dry_run_moves_nothing_and_what_all_have_seen_stays(
    fire: Fire, server: FakeServer, root: Path
) -> None:
    begin(fire, "server")
    before = given(root)
    told = fire("annotators", "reassign", "A02", "--to", "A03", "--dry-run").stderr
    assert "6 stay where they are: A03 have seen these pairs" in told
    assert "nothing was written" in told
    assert given(root) == before
    fire("annotators", "retire", "A03")
    refused = fire("annotators", "reassign", "A02", "--to", "A03", code=1).stderr
    assert "A03 is retired and gets no tasks" in refused


def test_annotators_of_no_campaign_are_said(fire: Fire, server: FakeServer, root: Path) -> None:
    refused = fire("annotators", "reassign", "A02", "--to", "A03", code=1).stderr
    assert "nothing was pushed from this workspace" in refused
