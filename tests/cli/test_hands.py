"""People who leave or come late: on a server and by hand the same."""

import json
from pathlib import Path

import pytest
from command import as_json, given, rows, run
from exports import fill_in
from fake_api import FakeServer

from examples import cases, some

N_PAIRS = 12
pytestmark = pytest.mark.usefixtures("root")


def begin(carrier: str = "server", people: str = "A02,A03") -> None:
    """Begin a campaign of pairs of which half are judged twice."""
    tasks, to = ("tasks", "pool/pool.csv", "--overlap", "0.5"), ("--annotator", people)
    if carrier == "hand":
        run(*tasks, *to)
    else:
        run(*tasks)
        run("push", *to)


def answer(server: FakeServer, carrier: str, name: str, n: int = 99, label: str = "relevant") -> list[str]:
    """Let somebody answer the first n tasks of her first file or project; return the pairs."""
    if carrier == "hand":
        sheet = next(Path("tasks").glob(f"tasks.{name}*.csv"))
        keys = fill_in(sheet, Path("exports", f"back.{name}.csv"), lambda *pair: label, n)
        run("import")
        return keys
    tasks = [task for task in server.tasks_of(server.project_of(name)) if not task["is_labeled"]][:n]
    for task in tasks:
        server.answer(task["id"], int(name[1:]), label)
    run("pull")
    return [task["data"]["pair_id"] for task in tasks]


def votes(name: str = "") -> list[str]:
    """Return the pairs that somebody, or everybody, has to vote on."""
    return sorted(row["pair_id"] for row in given(Path()) if name in ("", row["annotator_id"]))


carriers = pytest.mark.parametrize("carrier", some(["server", "hand"], 1))


@carriers
def test_what_somebody_leaves_goes_to_others(server: FakeServer, carrier: str) -> None:
    begin(carrier)
    before = votes()
    done = answer(server, carrier, "A02", 2)
    told = run("annotators", "retire", "A02").stderr
    n_left = len(votes("A02")) - 2
    assert f"{n_left} tasks of A02 without an answer" in told
    assert "next: fire-toolkit annotators reassign A02 --to A0" in told
    (line,) = [line for line in run("status").stderr.splitlines() if line.startswith("A02, ")]
    assert f"round 1: 2 of {n_left + 2} tasks" in line
    assert "retired, `annotators reassign`" in line
    told = run("annotators", "reassign", "A02", "--to", "A04").stderr
    assert f"{n_left} tasks moved: A04 {n_left}\n" in told
    assert votes() == before
    assert votes("A02") == sorted(done)
    if carrier == "server":
        told = run("push").stderr
        assert ("A02 opens" in told, "A04 opens" in told) == (False, True)
        assert server.offered(server.project_of("A02")) == []
        assert sorted(server.keys_of(server.project_of("A04"))) == votes("A04")
        assert as_json("push")["added"] == 0
    else:
        file = json.loads(Path("tasks/tasks.A04.more-1.json").read_text())
        assert sorted(task["data"]["pair_id"] for task in file) == votes("A04")
    assert "moves.csv is new" not in run("status").stdout
    for name in ("A04", "A03"):
        answer(server, carrier, name)
    judged = rows(Path("judgments/judgments.csv"))
    assert len(judged) == len(before)
    assert {row["kind"] for row in judged} == {"task", "overlap"}
    assert as_json("progress")[-1]["n_left"] == 0


@carriers
def test_an_answer_that_crosses_the_move_counts_as_it_was_asked_and_is_asked_of_nobody_else(
    server: FakeServer, carrier: str
) -> None:
    begin(carrier)
    answer(server, carrier, "A02", 1)
    server.users.append(5)
    for source, target in (("A02", "A04"), ("A04", "A05")):
        run("annotators", "reassign", source, "--to", target)
    late = answer(server, carrier, "A02", 2)[-1]  # before the push, or of her old file
    assert late not in votes("A04") + votes("A05")
    judged = rows(Path("judgments/judgments.csv"))
    assert {row["kind"] for row in judged} <= {"task", "overlap"}
    assert len(judged) == (2 if carrier == "hand" else 3)
    if carrier == "server":
        run("push")
        assert sorted(server.keys_of(server.project_of("A05"))) == votes("A05")


@carriers
def test_who_comes_late_takes_an_even_share(server: FakeServer, carrier: str) -> None:
    begin(carrier)
    assert "6 tasks moved: A04 6\n" in run("annotators", "reassign", "--to", "A04").stderr
    assert [len(votes(name)) for name in ("A02", "A03", "A04")] == [6, 6, 6]
    server.users += [5, 6]
    assert "6 tasks moved: A05 3, A06 3\n" in run("annotators", "reassign", "A04", "--to", "A05,A06").stderr


@carriers
def test_next_round_asks_nobody_from_elsewhere(server: FakeServer, carrier: str) -> None:
    """The server also has the accounts A04 and, made later, A05; the campaign is of A02, A03 and A04."""
    server.users.append(5)
    begin(carrier, "A02,A03,A04")
    for name in ("A02", "A03", "A04"):
        answer(server, carrier, name)
    run("resolve")
    asked = as_json("next-round", "--ask", "unverified_positive", "--dry-run")
    assert set(asked["annotators"]) == {"A02", "A03", "A04"}


def test_what_waits_for_somebody_who_left_is_asked_again(server: FakeServer) -> None:
    begin()
    answer(server, "server", "A02")
    answer(server, "server", "A03", label="irrelevant")
    run("resolve")
    assert [as_json("next-round", "--annotator", "A04")["pairs"] for _ in range(2)] == [6, 0]
    run("annotators", "retire", "A04")
    server.users.append(5)
    again = as_json("next-round", "--annotator", "A05")
    assert (again["pairs"], again["annotators"]) == (6, {"A05": 6})


@cases("words", "message")
def test_moves_that_cannot_be_are_refused(server: FakeServer, words: tuple[str, ...], message: str) -> None:
    begin()
    before = given(Path())
    assert message in run("annotators", "reassign", *words, code=1).stderr
    assert given(Path()) == before


def test_a_dry_run_moves_nothing_and_what_all_have_seen_stays(server: FakeServer) -> None:
    begin()
    before = given(Path())
    told = run("annotators", "reassign", "A02", "--to", "A03", "--dry-run").stderr
    assert "6 stay where they are, as A03 saw these pairs" in told
    assert "nothing was written" in told
    assert given(Path()) == before
    run("annotators", "retire", "A03")
    refused = run("annotators", "reassign", "A02", "--to", "A03", code=1).stderr
    assert "A03 is retired and gets no tasks" in refused
    last = run("annotators", "retire", "A02", "A04").stderr
    assert "next: fire-toolkit annotators add A01 && fire-toolkit annotators reassign A02 --to A01" in last
