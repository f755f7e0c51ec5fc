"""A third model arrives after two were pooled and judged: one walk, by hand, with every table compared.

The numbers that decide are counted here from the files as a person has them, by code of this file alone.
"""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Pair, StandIn, by_pair, named, pairs_in, rows, run, states
from exports import export
from small_release import set_in

from examples import THOROUGH, some
from fire_toolkit.campaign.keys import split_pair_id

N_QUERIES, N_DOCS, DEPTH = 30, 40, 4
MODELS = ("clip", "frozen", "late")


def scores_of(name: str) -> np.ndarray:
    draw = np.random.default_rng(1 + MODELS.index(name))
    return draw.permutation(N_QUERIES * N_DOCS).reshape(N_QUERIES, N_DOCS)


def top_of(name: str, depth: int = DEPTH) -> set[Pair]:
    """The pairs in the top of a model, from its matrix."""
    order = np.argsort(-scores_of(name), axis=1)[:, :depth]
    return {(f"q{query}", f"d{doc}") for query in range(N_QUERIES) for doc in order[query]}


CLIP, FROZEN, LATE = map(top_of, MODELS)
NEW = LATE - CLIP - FROZEN  # what the third model brings


def truth(query_id: str, doc_id: str) -> bool:
    return (int(query_id[1:]) * 7 + int(doc_id[1:]) * 3) % 4 == 0


def put_run(name: str, model: str = "") -> None:
    """Save the scores of a model as a run, under its own name or another run's."""
    np.savez(
        f"runs/{name}.npz",
        sims=scores_of(model or name).astype(np.float32),
        query_ids=[f"q{number}" for number in range(N_QUERIES)],
        doc_ids=[f"d{number}" for number in range(N_DOCS)],
    )


def make_workspace() -> None:
    run("init", ".")
    text = "".join(f"q{number}\tcaption {number}\n" for number in range(N_QUERIES))
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + text)
    Path("collection/qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(N_QUERIES)))


def tasks_in(file: str) -> list[dict[str, Any]]:
    return json.loads(Path(file).read_text()) if Path(file).is_file() else []


def keys_in(file: str) -> set[Pair]:
    return {split_pair_id(task["data"]["pair_id"]) for task in tasks_in(file)}


def answer(file: str, person: str, name: str) -> None:
    """Write the export of one person's project; who is 3 errs on every fifth caption."""

    def label_of(query_id: str, doc_id: str) -> str:
        is_wrong = person == "3" and int(query_id[1:]) % 5 == 0
        return "relevant" if truth(query_id, doc_id) != is_wrong else "irrelevant"

    if Path(file).is_file():
        export(Path(file), Path("exports", name), label_of, account=int(person), lead_time=7.2)


TABLES = (
    "score",
    "score --honest -m C@1 -m C@3",
    "own",
    "own --show sets",
    "reuse",
    "reuse --show all",
    "coverage",
    "difference -m C@1",
    *(f"report {name}" for name in ("table1", "table2", "table3", "table4", "saturation")),
    "agree --join pool/pool.csv --by n_runs",
)


def finish() -> dict[str, str]:
    """Run all that follows the judgments, and return every table."""
    run("resolve")
    run("augment")
    files = ("pool/pool_sources.csv", "labels/labels.csv", "labels/disputes.csv", "augmented/qrels.txt")
    tables = {name: Path(name).read_text() for name in files}
    for words in TABLES if THOROUGH else TABLES[:3]:
        told = run(*words.split(), "--format", "csv")
        tables[words] = told.stdout
        assert "fed no pool" not in told.stderr
    return tables


def judge_two() -> None:
    Path("work").mkdir()
    with contextlib.chdir("work"):
        make_workspace()
        put_run("clip")
        put_run("frozen")
        run("pool", "--depth", DEPTH)
        run("tasks", "--overlap", 0.5)
        answer("tasks/tasks.json", "1", "one.json")
        answer("tasks/tasks.overlap.json", "3", "two.json")
        run("import")
        set_in(Path(), depth=DEPTH)


@pytest.fixture(autouse=True)
def judged(stand_in: StandIn) -> Path:
    """A workspace of two models: pooled, handed out, answered, imported; it is the current folder."""
    return stand_in(judge_two, "work")


def ask_round_2() -> None:
    run("pool")
    run("tasks", "--overlap", 0.5)
    answer("tasks/round-2/tasks.json", "2", "late-one.json")
    answer("tasks/round-2/tasks.overlap.json", "3", "late-two.json")
    run("import")


@pytest.mark.parametrize("what", some(["late", "late, then frozen withdrawn", "frozen changed to late"], 1))
def test_all_tables_are_those_of_one_pool_of_the_models_that_are_there(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    handed_out = {path: path.read_bytes() for path in Path("tasks").iterdir()}
    models = {
        "late": {name: name for name in MODELS},
        "late, then frozen withdrawn": {"clip": "clip", "late": "late"},
        "frozen changed to late": {"clip": "clip", "frozen": "late"},
    }[what]
    put_run("frozen" if "changed" in what else "late", "late")
    ask_round_2()
    if "withdrawn" in what:
        Path("runs/frozen.npz").unlink()
        run("pool")
    assert keys_in("tasks/round-2/tasks.json") == NEW
    assert all(task["meta"] == {"round": 2} for task in tasks_in("tasks/round-2/tasks.json"))
    assert {path: path.read_bytes() for path in handed_out} == handed_out
    in_turn = finish()

    (tmp_path / "at-once").mkdir()
    monkeypatch.chdir(tmp_path / "at-once")
    make_workspace()
    shutil.copytree(judged / "runs", "runs", dirs_exist_ok=True)
    shutil.copy(judged / "fire.toml", "fire.toml")
    run("pool")
    Path("judgments").mkdir()
    shutil.copy(judged / "judgments/judgments.csv", "judgments/judgments.csv")
    for name, table in finish().items():
        assert in_turn[name] == table, name

    by_run = {row["run_id"]: row for row in rows(in_turn["own"])}
    assert set(by_run) == set(models)
    for run_id, model in models.items():
        others = set().union(*(top_of(other) for name, other in models.items() if name != run_id))
        assert int(by_run[run_id]["n_pooled"]) == len(top_of(model))
        assert int(by_run[run_id]["n_own"]) == len(top_of(model) - others)


def test_agreement_counts_the_late_pairs_first_answers() -> None:
    put_run("late")
    ask_round_2()
    of_pair: dict[Pair, list[dict[str, str]]] = {}
    for row in rows(Path("judgments/judgments.csv")):
        of_pair.setdefault((row["query_id"], row["doc_id"]), []).append(row)
    for pair, votes in of_pair.items():
        assert {row["round"] for row in votes} == {"2" if pair in NEW else "1"}
    doubled = [votes for votes in of_pair.values() if len(votes) > 1]
    assert any(votes[0]["round"] == "2" for votes in doubled)
    told = run("agree", "--format", "json")
    assert "left out" not in told.stderr
    percent = next(row for row in json.loads(told.stdout) if row["statistic"] == "percent_agreement")
    same = sum(votes[0]["label"] == votes[1]["label"] for votes in doubled) / len(doubled)
    assert float(percent["value"]) == pytest.approx(same)


def test_pairs_that_wait_for_an_answer_are_not_asked_again() -> None:
    put_run("late")
    run("pool")
    run("tasks", "--overlap", 0)
    first = keys_in("tasks/round-2/tasks.json")
    Path("runs/late.npz").unlink()  # withdrawn before anybody answered, and back again
    run("pool")
    assert "nothing to ask" in run("tasks", "--overlap", 0).stderr
    put_run("late")
    run("pool")
    run("tasks", "--overlap", 0)
    assert not Path("tasks/round-3").exists()
    assert keys_in("tasks/round-2/tasks.json") == first


def test_a_withdrawn_model_leaves_its_judgments_and_is_said() -> None:
    put_run("late")
    ask_round_2()
    run("resolve")
    Path("runs/frozen.npz").unlink()
    told = run("pool").stderr
    alone = FROZEN - CLIP - LATE
    labels = by_pair(Path("labels/labels.csv"), "label")
    n_relevant = sum(labels.get(pair) == "relevant" for pair in alone)
    assert n_relevant > 10
    assert (
        f"frozen: withdrawn; it had pooled {N_QUERIES * DEPTH} pairs, {len(alone)} of them alone "
        f"({len(alone)} judged, {n_relevant} relevant)" in told
    )
    assert f"{len(alone)} judged pairs no longer in the pool" in told
    assert pairs_in(Path("pool/pool.csv")) == CLIP | LATE
    assert "nothing new to ask" in told
    run("resolve")
    run("augment")
    disputed = pairs_in(Path("labels/disputes.csv"))
    assert alone <= pairs_in(Path("labels/labels.csv")) | disputed
    lines = Path("augmented/qrels.txt").read_text().splitlines()
    assert alone - disputed <= {(line.split()[0], line.split()[2]) for line in lines}
    assert len(alone - disputed) > 10


def test_a_changed_run_asks_only_what_it_newly_brings() -> None:
    put_run("frozen", "late")
    told = run("pool").stderr
    n = N_QUERIES * DEPTH
    assert f"frozen: changed; {n} pairs, {n} before; {len(LATE - FROZEN)} new" in told
    assert f"{len(FROZEN - LATE)} gone" in told
    run("tasks", "--overlap", 0)
    assert keys_in("tasks/round-2/tasks.json") == NEW


def test_each_person_gets_a_file_of_her_own() -> None:
    put_run("late")
    run("pool")
    told = run("tasks", "--overlap", 0.5, "--annotator", "A01,A02,A03").stderr
    files = [keys_in(f"tasks/round-2/tasks.{name}.json") for name in ("A01", "A02", "A03")]
    sizes = [len(pairs) for pairs in files]
    once, twice = keys_in("tasks/round-2/tasks.json"), keys_in("tasks/round-2/tasks.overlap.json")
    assert sum(sizes) == len(once) + len(twice)
    assert max(sizes) - min(sizes) <= 1
    for pair in once:
        assert sum(pair in pairs for pairs in files) == 1 + (pair in twice)
    assert "tasks/round-2/tasks.A01.json" in told
    run("tasks", "--overlap", 0.5)
    assert Path("tasks/round-2/tasks.A01.json").is_file()
    assert "would change" in run("tasks", "--overlap", 0.5, "--annotator", "A01,B", code=1).stderr
    for name, words in (("a/b", "part of a file name"), ("A.more-1", "part of"), ("A,a", "in case alone")):
        assert words in run("tasks", "--annotator", name, code=1).stderr


def test_status_names_what_is_new_and_the_right_next_command() -> None:
    rest = ("agree", "resolve", "augment", "score", "compare")
    for command in rest:
        run(command)
    assert {state for state, _ in states().values()} == {"done"}
    put_run("late")
    pace = f"about {round(len(NEW) * 1.1 * 7.2 / 60)} minutes at the pace so far"
    news = f"new model late: {len(NEW)} pairs to ask, {pace}"
    assert states()["pool"] == ("stale", f"{news} (runs/late.npz is new)")
    assert named(run("status")) == "pool --depth 4"
    assert pace in run("pool").stderr
    assert states()["tasks"] == ("stale", f"{len(NEW)} pairs to ask")
    assert named(run("status")) == "tasks --overlap 0.5"
    run("tasks", "--overlap", 0)
    assert states()["tasks"][0] == "done"
    assert states()["import"] == ("waiting", "no answer yet to round 2 (tasks/round-2/tasks.json)")
    answer("tasks/round-2/tasks.json", "2", "late.json")
    assert named(run("status")) == "refresh"
    run("import")
    for command in rest:
        assert named(run("status")) in (command, "refresh")
        run(command)
    assert {state for state, _ in states().values()} == {"done"}
    text = Path("fire.toml").read_text()
    Path("fire.toml").write_text("seed = 4".join(text.rsplit("seed = 0", 1)))
    state, reason = states()["tasks"]  # handed out: nobody is told to make them again
    assert state == "done"
    assert "handed out, and since then " in reason
    assert "seed is 4 in fire.toml, was 0" in reason
    Path("runs/late.npz").unlink()
    withdrawn = "model late withdrawn: nothing new to ask"
    assert states()["pool"] == ("stale", f"{withdrawn} (runs/late.npz is gone)")
    put_run("frozen", "late")
    assert states()["pool"][1].startswith(f"model frozen changed, {withdrawn}")
    Path("runs/bad.npz").write_bytes(b"no matrix")
    assert "runs/bad.npz" in states()["pool"][1]


def test_status_goes_by_the_depth_that_was_given_and_says_so() -> None:
    set_in(Path(), depth=10)
    state, reason = states()["pool"]
    assert (state, reason.endswith(f"; given depth {DEPTH}, 10 in fire.toml")) == ("done", True)
    put_run("late")
    told = states()["pool"][1]
    assert told.startswith(f"new model late: {len(NEW)} pairs to ask, about ")
    set_in(Path(), overlap=0.9)
    assert states()["pool"][1] != told  # the hours: more pairs are judged twice
    following = f"next: fire-toolkit pool --depth {DEPTH}\n"
    assert run("status").stderr.endswith(following)
    Path("runs/late.npz").rename("late.npz")
    assert run("add-run", "late.npz").stderr.endswith(following)


def test_status_says_of_another_depth_in_fire_toml_just_that() -> None:
    told = run("pool", "--depth", 6).stderr
    n = N_QUERIES * DEPTH
    assert f"clip: ranked as before; {n * 3 // 2} pairs, {n} before; {n // 2} new, 0 gone" in told
    run("pool")
    set_in(Path(), depth=10)
    only = f"depth is 10 in fire.toml, was {DEPTH}: to keep that, write it there"
    assert states()["pool"] == ("stale", only)
    put_run("late")
    n_new = len(set().union(*(top_of(name, 10) for name in MODELS)) - CLIP - FROZEN)
    told = states()["pool"][1]
    assert told.startswith(f"new model late: {n_new} pairs to ask, about ")
    assert told.endswith(f" (runs/late.npz is new; {only})")


def test_status_counts_pairs_that_wait_in_the_pool_with_those_of_a_later_model() -> None:
    put_run("late")
    run("pool")  # and no tasks of it
    put_run("later", "late")
    put_run("late", "clip")
    told = states()["pool"][1]
    assert told.startswith(f"new model later, model late changed: {len(NEW)} pairs to ask, about ")


def test_disputes_and_a_late_model_get_different_rounds() -> None:
    run("resolve")
    refused = run("next-round", "--strategy", "settle(C@2)", "--budget", 3, code=2).stderr
    assert "--budget does not go with --strategy; leave one of them out" in refused
    assert run("next-round").stderr.endswith("next: fire-toolkit tasks plan/round-2 --overlap 0\n")
    put_run("late")
    run("pool")
    run("tasks", "plan/round-2", "--overlap", 0)
    run("tasks", "--overlap", 0)
    disputes = pairs_in(Path("labels/disputes.csv"))
    assert disputes
    found = {number: keys_in(f"tasks/round-{number}/tasks.json") for number in (2, 3)}
    assert sorted(found.values(), key=len) == sorted([disputes, NEW], key=len)
    for number in found:
        answer(f"tasks/round-{number}/tasks.json", "2", f"round-{number}.json")
    run("import")
    by_2 = [row for row in rows(Path("judgments/judgments.csv")) if row["annotator_id"] == "2"]
    for number, pairs in found.items():
        assert {(r["query_id"], r["doc_id"]) for r in by_2 if int(r["round"]) == number} == pairs
    assert f"{len(disputes)} answers of later rounds" in run("agree").stderr


@pytest.mark.slow
def test_status_counts_what_a_later_model_moves_in_a_fused_order() -> None:
    """A new run changes which docs of the others are pooled, so that it cannot be pooled alone."""
    set_in(Path(), strategy="rrf(k=5)", per_query=DEPTH, depth=20)
    run("pool")
    run("tasks", "--overlap", 0)
    put_run("late")
    told = states()["pool"][1]
    expected = set()
    for query in range(N_QUERIES):
        ranks = [np.argsort(np.argsort(-scores_of(name)[query])) + 1 for name in MODELS]
        fused = {
            f"d{doc}": sum(1 / (5 + rank[doc]) for rank in ranks if rank[doc] <= 20) for doc in range(N_DOCS)
        }
        best = sorted(fused, key=lambda doc, fused=fused: (round(fused[doc], 12), doc), reverse=True)  # type: ignore[misc]
        expected |= {(f"q{query}", doc) for doc in best[:DEPTH]}
    asked = keys_in("tasks/tasks.json") | keys_in("tasks/round-2/tasks.json")
    assert told.startswith(f"new model late: {len(expected - asked)} pairs to ask, about ")
    run("pool")
    assert pairs_in(Path("pool/pool.csv")) == expected
    assert states()["tasks"] == ("stale", f"{len(expected - asked)} pairs to ask")


@pytest.mark.slow
def test_move_to_front_asks_in_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rounds").mkdir()
    monkeypatch.chdir(tmp_path / "rounds")
    make_workspace()
    for name in MODELS:
        put_run(name)
    set_in(Path(), strategy="move-to-front(batch=2)", depth=20)
    again = ("pool", "--per-query", "5")
    asked: set[Pair] = set()
    refused = (
        "error: strategy move-to-front reads labels, and none are given of the 60",
        "labels/labels.csv: judgments/judgments.csv has changed since; run",
    )
    for number, n_new in ((1, 2), (2, 2), (3, 1)):
        run(*again)
        stops = {row["reason"] for row in rows(Path("pool/stops.csv"))}
        assert stops == {"per_query" if number == 3 else "waiting"}
        before = Path("pool/pool.csv").read_bytes()
        run("tasks", "--overlap", 0)
        file = "tasks/tasks.json" if number == 1 else f"tasks/round-{number}/tasks.json"
        new = keys_in(file)
        assert len(new) == n_new * N_QUERIES
        assert not new & asked
        asked |= new
        assert asked == pairs_in(Path("pool/pool.csv"))
        assert "nothing new to ask" in run(*again).stderr  # nobody has answered yet
        assert Path("pool/pool.csv").read_bytes() == before
        answer(file, str(number), f"{number}.json")
        run("import")
        assert refused[number > 1] in run(*again, code=1).stderr
        run("resolve")
        goes_on = ("stale", "there are new labels to go on from")
        assert (states()["pool"] == goes_on) == (number < 3)
        following = run("status").stderr.splitlines()[-1]
        assert (following == "next: fire-toolkit pool --per-query 5") == (number < 3)
    said = run(*again).stderr
    assert "queries stopped: 30 per_query; 150 judged before, none new" in said
    assert "changed" not in said
    assert pairs_in(Path("labels/labels.csv")) == asked
