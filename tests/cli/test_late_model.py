"""A third model arrives after two were pooled and judged: one walk, by hand, with every table compared.

The numbers that decide are counted here from the files as a person has them, by code of this file alone.
"""

import contextlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from command import Copied, Fire, rows, run, states
from exports import export

from examples import some
from fire_toolkit.campaign.tasks import split_pair_id

Pair = tuple[str, str]
N_QUERIES, N_DOCS, DEPTH = 30, 40, 4
PEOPLE = ("1", "2", "3")


def scores_of(name: str) -> np.ndarray:
    seeds = {"clip": 1, "frozen": 2, "late": 3}
    return np.random.default_rng(seeds[name]).permutation(N_QUERIES * N_DOCS).reshape(N_QUERIES, N_DOCS)


def top_of(name: str, depth: int = DEPTH) -> set[Pair]:
    """The pairs in the top of a model, from its matrix."""
    order = np.argsort(-scores_of(name), axis=1)[:, :depth]
    return {(f"q{query}", f"d{doc}") for query in range(N_QUERIES) for doc in order[query]}


def truth(query_id: str, doc_id: str) -> bool:
    return (int(query_id[1:]) * 7 + int(doc_id[1:]) * 3) % 4 == 0


def put_run(root: Path, name: str) -> None:
    np.savez(
        root / "runs" / f"{name}.npz",
        sims=scores_of(name).astype(np.float32),
        query_ids=[f"q{number}" for number in range(N_QUERIES)],
        doc_ids=[f"d{number}" for number in range(N_DOCS)],
    )


def make_workspace(fire: Fire, root: Path, models: Iterable[str]) -> None:
    fire("init", root)
    text = "".join(f"q{number}\tcaption {number}\n" for number in range(N_QUERIES))
    (root / "collection/queries.tsv").write_text("query_id\ttext\n" + text)
    (root / "collection/qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(N_QUERIES)))
    for name in models:
        put_run(root, name)


def tasks_in(path: Path) -> list[dict[str, object]]:
    return json.loads(path.read_text()) if path.is_file() else []


def keys_in(path: Path) -> set[Pair]:
    return {split_pair_id(task["data"]["pair_id"]) for task in tasks_in(path)}  # type: ignore[index]


def answer(root: Path, file: Path, person: str, name: str) -> None:
    """Write the export of one person's project; who is 3 errs on every fifth caption."""

    def label_of(query_id: str, doc_id: str) -> str:
        is_wrong = person == "3" and int(query_id[1:]) % 5 == 0
        return "relevant" if truth(query_id, doc_id) != is_wrong else "irrelevant"

    if file.is_file():
        export(file, root / "exports" / name, label_of, account=int(person), lead_time=7.2)


def table_pairs(path: Path) -> set[Pair]:
    return {(row["query_id"], row["doc_id"]) for row in rows(path)}


REPORTS = (
    ("score", "--format", "csv"),
    ("score", "--honest", "-m", "C@1", "-m", "C@3", "--format", "csv"),
    ("own", "--format", "csv"),
    ("own", "--show", "sets", "--format", "csv"),
    ("reuse", "--format", "csv"),
    ("reuse", "--show", "all", "--format", "csv"),
    ("coverage", "--format", "csv"),
    ("difference", "-m", "C@1", "--format", "csv"),
    ("report", "table1", "--format", "csv"),
    ("report", "table2", "--format", "csv"),
    ("report", "table3", "--format", "csv"),
    ("report", "table4", "--format", "csv"),
    ("report", "saturation", "--format", "csv"),
)


def finish(fire: Fire, root: Path) -> dict[str, str]:
    """Run all that follows the judgments, and return every table."""
    for command in ("resolve", "augment"):
        fire(command)
    files = ("pool/pool_sources.csv", "labels/labels.csv", "labels/disputes.csv", "augmented/qrels.txt")
    tables = {name: (root / name).read_text() for name in files}
    for words in REPORTS:
        result = fire(*words)
        tables[" ".join(map(str, words))] = result.stdout
        assert "fed no pool" not in result.stderr
    agreed = fire("agree", "--join", "pool/pool.csv", "--by", "n_runs", "--format", "csv")
    return tables | {"agree": agreed.stdout}


def judge_two() -> None:
    make_workspace(run, Path("work"), ("clip", "frozen"))
    with contextlib.chdir("work"):
        root = Path()
        run("pool", "--depth", DEPTH)
        run("tasks", "--overlap", 0.5)
        answer(root, root / "tasks/tasks.json", "1", "one.json")
        answer(root, root / "tasks/tasks.overlap.json", "3", "two.json")
        run("import")
        text = (root / "fire.toml").read_text()
        (root / "fire.toml").write_text(text.replace("depth = 10", f"depth = {DEPTH}", 1))


@pytest.fixture
def judged(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of two models: pooled, handed out, answered, imported."""
    root = copied(judge_two, tmp_path) / "work"
    monkeypatch.chdir(root)
    return root


def ask_round_2(fire: Fire, root: Path) -> None:
    fire("pool")
    fire("tasks", "--overlap", 0.5)
    answer(root, root / "tasks/round-2/tasks.json", "2", "late-one.json")
    answer(root, root / "tasks/round-2/tasks.overlap.json", "3", "late-two.json")
    fire("import")


def add_late(fire: Fire, root: Path) -> None:
    put_run(root, "late")
    ask_round_2(fire, root)


def put_other_run(root: Path, name: str, other: str) -> None:
    content = dict(np.load(root / "runs" / f"{name}.npz"))
    np.savez(root / "runs" / f"{name}.npz", **(content | {"sims": scores_of(other).astype(np.float32)}))


@pytest.mark.parametrize("what", some(["late", "late, then frozen withdrawn", "frozen changed to late"], 1))
def test_all_tables_are_those_of_one_pool_of_the_models_that_are_there(
    fire: Fire, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    handed_out = {path: path.read_bytes() for path in (judged / "tasks").iterdir()}
    if what == "frozen changed to late":
        put_other_run(judged, "frozen", "late")
        ask_round_2(fire, judged)
    else:
        put_run(judged, "late")
        ask_round_2(fire, judged)
    if "withdrawn" in what:
        (judged / "runs/frozen.npz").unlink()
        fire("pool")
    new = top_of("late") - top_of("clip") - top_of("frozen")
    assert keys_in(judged / "tasks/round-2/tasks.json") == new
    assert all(task["meta"] == {"round": 2} for task in tasks_in(judged / "tasks/round-2/tasks.json"))
    assert {path: path.read_bytes() for path in handed_out} == handed_out
    in_turn = finish(fire, judged)

    at_once = tmp_path / "at-once"
    make_workspace(fire, at_once, ())
    for name in (judged / "runs").iterdir():
        shutil.copy(name, at_once / "runs")
    shutil.copy(judged / "fire.toml", at_once / "fire.toml")
    monkeypatch.chdir(at_once)
    fire("pool")
    (at_once / "judgments").mkdir()
    shutil.copy(judged / "judgments/judgments.csv", at_once / "judgments/judgments.csv")
    together = finish(fire, at_once)
    for name, table in together.items():
        assert in_turn[name] == table, name

    by_run = {row["run_id"]: row for row in rows(in_turn["own --format csv"])}
    models = {"late": {"clip": "clip", "frozen": "frozen", "late": "late"}}.get(what) or (
        {"clip": "clip", "frozen": "late"} if "changed" in what else {"clip": "clip", "late": "late"}
    )
    assert set(by_run) == set(models)
    for run_id, model in models.items():
        others = set().union(*(top_of(other) for name, other in models.items() if name != run_id))
        assert int(by_run[run_id]["n_pooled"]) == len(top_of(model))
        assert int(by_run[run_id]["n_own"]) == len(top_of(model) - others)


def test_agreement_counts_the_late_pairs_first_answers(fire: Fire, judged: Path) -> None:
    add_late(fire, judged)
    judgments = rows(judged / "judgments/judgments.csv")
    new = top_of("late") - top_of("clip") - top_of("frozen")
    of_pair: dict[Pair, list[dict[str, str]]] = {}
    for row in judgments:
        of_pair.setdefault((row["query_id"], row["doc_id"]), []).append(row)
    assert all(row["round"] == ("2" if pair in new else "1") for pair in of_pair for row in of_pair[pair])
    doubled = [votes for votes in of_pair.values() if len(votes) > 1]
    assert any(votes[0]["round"] == "2" for votes in doubled)
    told = fire("agree", "--format", "json")
    assert "left out" not in told.stderr
    percent = next(row for row in json.loads(told.stdout) if row["statistic"] == "percent_agreement")
    same = sum(votes[0]["label"] == votes[1]["label"] for votes in doubled) / len(doubled)
    assert float(percent["value"]) == pytest.approx(same)


def test_tasks_again_changes_nothing_and_what_was_handed_out_stays(fire: Fire, judged: Path) -> None:
    before = (judged / "tasks/tasks.json").read_bytes()
    fire("tasks", "--overlap", 0.5)
    told = fire("tasks", "--overlap", 0.5, "--seed", 9, code=1).stderr
    assert "tasks/tasks.json: already exists, would change" in told
    put_run(judged, "late")
    fire("pool")
    for _ in range(2):
        told = fire("tasks", "--overlap", 0.5).stderr
        assert "tasks/round-2/tasks.json" in told
    assert not (judged / "tasks/round-3").exists()
    assert (judged / "tasks/tasks.json").read_bytes() == before


def test_pairs_that_wait_for_an_answer_are_not_asked_again(fire: Fire, judged: Path) -> None:
    put_run(judged, "late")
    fire("pool")
    fire("tasks", "--overlap", 0)
    first = keys_in(judged / "tasks/round-2/tasks.json")
    (judged / "runs/late.npz").unlink()  # withdrawn before anybody answered, and back again
    fire("pool")
    assert "nothing to ask" in fire("tasks", "--overlap", 0).stderr
    put_run(judged, "late")
    fire("pool")
    fire("tasks", "--overlap", 0)
    assert not (judged / "tasks/round-3").exists()
    assert keys_in(judged / "tasks/round-2/tasks.json") == first


def test_a_withdrawn_model_leaves_its_judgments_and_is_said(fire: Fire, judged: Path) -> None:
    add_late(fire, judged)
    fire("resolve")
    (judged / "runs/frozen.npz").unlink()
    told = fire("pool").stderr
    alone = top_of("frozen") - top_of("clip") - top_of("late")
    labels = {(row["query_id"], row["doc_id"]): row["label"] for row in rows(judged / "labels/labels.csv")}
    n_relevant = sum(labels.get(pair) == "relevant" for pair in alone)
    assert n_relevant > 10
    assert (
        f"frozen: withdrawn; it had pooled {N_QUERIES * DEPTH} pairs, {len(alone)} of them alone "
        f"({len(alone)} judged, {n_relevant} relevant)" in told
    )
    assert f"{len(alone)} judged pairs no longer in the pool" in told
    assert table_pairs(judged / "pool/pool.csv") == top_of("clip") | top_of("late")
    assert "nothing new to ask" in told
    fire("resolve")
    fire("augment")
    disputed = table_pairs(judged / "labels/disputes.csv")
    assert alone <= table_pairs(judged / "labels/labels.csv") | disputed
    lines = (judged / "augmented/qrels.txt").read_text().splitlines()
    kept = {(line.split()[0], line.split()[2]) for line in lines}
    assert alone - disputed <= kept
    assert len(alone - disputed) > 10


def test_a_changed_run_asks_only_what_it_newly_brings(fire: Fire, judged: Path) -> None:
    put_other_run(judged, "frozen", "late")
    told = fire("pool").stderr
    new = top_of("late") - top_of("clip") - top_of("frozen")
    gone = top_of("frozen") - top_of("late")
    n = N_QUERIES * DEPTH
    assert f"frozen: changed; {n} pairs, {n} before; {len(top_of('late') - top_of('frozen'))} new" in told
    assert f"{len(gone)} gone" in told
    fire("tasks", "--overlap", 0)
    assert keys_in(judged / "tasks/round-2/tasks.json") == new


def test_each_person_gets_a_file_of_her_own(fire: Fire, judged: Path) -> None:
    put_run(judged, "late")
    fire("pool")
    told = fire("tasks", "--overlap", 0.5, "--annotator", "A01,A02,A03").stderr
    folder = judged / "tasks/round-2"
    files = {name: keys_in(folder / f"tasks.{name}.json") for name in ("A01", "A02", "A03")}
    sizes = [len(pairs) for pairs in files.values()]
    once, twice = keys_in(folder / "tasks.json"), keys_in(folder / "tasks.overlap.json")
    assert sum(sizes) == len(once) + len(twice)
    assert max(sizes) - min(sizes) <= 1
    for pair in once:
        assert sum(pair in pairs for pairs in files.values()) == 1 + (pair in twice)
    assert "tasks/round-2/tasks.A01.json" in told
    fire("tasks", "--overlap", 0.5)
    assert (folder / "tasks.A01.json").is_file()
    assert "would change" in fire("tasks", "--overlap", 0.5, "--annotator", "A01,B", code=1).stderr
    assert "cannot be part of a file name" in fire("tasks", "--annotator", "a/b", code=1).stderr


def test_status_names_what_is_new_and_the_right_next_command(fire: Fire, judged: Path) -> None:
    def following() -> str:
        return fire("status").stderr.rsplit("next: fire-toolkit ", 1)[-1].strip()

    for command in ("agree", "resolve", "augment", "score", "compare"):
        fire(command)
    assert {state for state, _ in states().values()} == {"done"}
    put_run(judged, "late")
    n_new = len(top_of("late") - top_of("clip") - top_of("frozen"))
    minutes = round(n_new * 1.1 * 7.2 / 60)
    news = f"new model late: {n_new} pairs to ask, about {minutes} minutes at the pace so far"
    assert states()["pool"] == ("stale", f"{news} (runs/late.npz is new)")
    assert following() == "pool --depth 4"
    assert f"about {minutes} minutes at the pace so far" in fire("pool").stderr
    assert states()["tasks"] == ("stale", f"{n_new} pairs to ask")
    assert following() == "tasks"
    fire("tasks", "--overlap", 0)
    assert states()["tasks"][0] == "done"
    assert states()["import"] == ("waiting", "no answer yet to round 2 (tasks/round-2/tasks.json)")
    answer(judged, judged / "tasks/round-2/tasks.json", "2", "late.json")
    assert following() == "refresh"
    fire("import")
    for command in ("agree", "resolve", "augment", "score", "compare"):
        assert following() in (command, "refresh")
        fire(command)
    assert {state for state, _ in states().values()} == {"done"}
    text = (judged / "fire.toml").read_text()
    (judged / "fire.toml").write_text("seed = 4".join(text.rsplit("seed = 0", 1)))
    state, reason = states()["tasks"]  # handed out: nobody is told to make them again
    assert state == "done"
    assert "handed out, and since then " in reason
    assert "seed is 4 in fire.toml, was 0" in reason
    (judged / "runs/late.npz").unlink()
    assert states()["pool"] == (
        "stale",
        "model late withdrawn: nothing new to ask (runs/late.npz is gone)",
    )
    put_other_run(judged, "frozen", "late")
    assert states()["pool"][1].startswith("model frozen changed, model late withdrawn: nothing new to ask")
    (judged / "runs/bad.npz").write_bytes(b"no matrix")
    assert "runs/bad.npz" in states()["pool"][1]


def test_status_goes_by_the_depth_that_was_given_and_says_so(fire: Fire, judged: Path) -> None:
    text = (judged / "fire.toml").read_text()
    (judged / "fire.toml").write_text(text.replace(f"depth = {DEPTH}", "depth = 10", 1))
    state, reason = states()["pool"]
    assert (state, reason.endswith(f"; given depth {DEPTH}, 10 in fire.toml")) == ("done", True)
    put_run(judged, "late")
    n_new = len(top_of("late") - top_of("clip") - top_of("frozen"))
    assert states()["pool"][1].startswith(f"new model late: {n_new} pairs to ask, about ")
    following = f"next: fire-toolkit pool --depth {DEPTH}\n"
    assert fire("status").stderr.endswith(following)
    (judged / "runs/late.npz").rename(judged / "late.npz")
    assert fire("add-run", "late.npz").stderr.endswith(following)


def test_status_says_of_another_depth_in_fire_toml_just_that(fire: Fire, judged: Path) -> None:
    fire("pool")
    text = (judged / "fire.toml").read_text()
    (judged / "fire.toml").write_text(text.replace(f"depth = {DEPTH}", "depth = 10", 1))
    only = f"depth is 10 in fire.toml, was {DEPTH}: to keep that, write it there"
    assert states()["pool"] == ("stale", only)
    put_run(judged, "late")
    asked = top_of("clip") | top_of("frozen")
    n_new = len(set().union(*(top_of(name, 10) for name in ("clip", "frozen", "late"))) - asked)
    told = states()["pool"][1]
    assert told.startswith(f"new model late: {n_new} pairs to ask, about ")
    assert told.endswith(f" (runs/late.npz is new; {only})")


def test_status_counts_pairs_that_wait_in_the_pool_with_those_of_a_later_model(
    fire: Fire, judged: Path
) -> None:
    put_run(judged, "late")
    fire("pool")  # and no tasks of it
    shutil.copy(judged / "runs/late.npz", judged / "runs/later.npz")
    put_other_run(judged, "late", "clip")
    n_new = len(top_of("late") - top_of("clip") - top_of("frozen"))
    told = states()["pool"][1]
    assert told.startswith(f"new model later, model late changed: {n_new} pairs to ask, about ")


def test_disputes_and_a_late_model_get_different_rounds(fire: Fire, judged: Path) -> None:
    fire("resolve")
    refused = fire("next-round", "--strategy", "settle(C@2)", "--budget", 3, code=2).stderr
    assert "--budget is of pairs that the labels choose; --strategy goes by its own" in refused
    assert fire("next-round").stderr.endswith("next: fire-toolkit tasks plan/round-2 --overlap 0\n")
    put_run(judged, "late")
    fire("pool")
    fire("tasks", "plan/round-2", "--overlap", 0)
    fire("tasks", "--overlap", 0)
    disputes = table_pairs(judged / "labels/disputes.csv")
    late = top_of("late") - top_of("clip") - top_of("frozen")
    found = {number: keys_in(judged / f"tasks/round-{number}/tasks.json") for number in (2, 3)}
    assert sorted(found.values(), key=len) == sorted([disputes, late], key=len)
    for number, pairs in found.items():
        answer(judged, judged / f"tasks/round-{number}/tasks.json", "2", f"round-{number}.json")
        assert pairs
    fire("import")
    rounds = {(row["query_id"], row["doc_id"], row["annotator_id"]): int(row["round"])
              for row in rows(judged / "judgments/judgments.csv")}  # fmt: skip
    for number, pairs in found.items():
        assert {rounds[(*pair, "2")] for pair in pairs} == {number}
    assert f"{len(disputes)} answers of later rounds" in fire("agree").stderr


def set_in(root: Path, **values: object) -> None:
    """Write settings of [pool] into fire.toml."""
    text = (root / "fire.toml").read_text()
    for name, value in values.items():
        lines = [json.dumps(value).join((f"{name} = ", "")) if line.startswith(f"{name} = ") else line
                 for line in text.split("\n")]  # fmt: skip
        text = "\n".join(lines)
    (root / "fire.toml").write_text(text)


@pytest.mark.slow
def test_status_counts_what_a_later_model_moves_in_a_fused_order(fire: Fire, judged: Path) -> None:
    """A new run changes which docs of the others are pooled, so that it cannot be pooled alone."""
    set_in(judged, strategy="rrf(k=5)", per_query=DEPTH, depth=20)
    fire("pool")
    fire("tasks", "--overlap", 0)
    put_run(judged, "late")
    told = states()["pool"][1]
    expected = set()
    for query in range(N_QUERIES):
        ranks = [np.argsort(np.argsort(-scores_of(name)[query])) + 1 for name in ("clip", "frozen", "late")]
        fused = {
            f"d{doc}": sum(1 / (5 + rank[doc]) for rank in ranks if rank[doc] <= 20) for doc in range(N_DOCS)
        }
        best = sorted(fused, key=lambda doc, fused=fused: (round(fused[doc], 12), doc), reverse=True)  # type: ignore[misc]
        expected |= {(f"q{query}", doc) for doc in best[:DEPTH]}
    asked = keys_in(judged / "tasks/tasks.json") | keys_in(judged / "tasks/round-2/tasks.json")
    assert told.startswith(f"new model late: {len(expected - asked)} pairs to ask, about ")
    fire("pool")
    assert table_pairs(judged / "pool/pool.csv") == expected
    assert states()["tasks"] == ("stale", f"{len(expected - asked)} pairs to ask")


@pytest.mark.slow
def test_move_to_front_asks_in_rounds_until_the_budget(
    fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "rounds"
    make_workspace(fire, root, ("clip", "frozen", "late"))
    monkeypatch.chdir(root)
    set_in(root, strategy="move-to-front(batch=2)", per_query=5, depth=20)
    asked: set[Pair] = set()
    for number, n_new in ((1, 2), (2, 2), (3, 1)):
        fire("pool")
        assert {row["reason"] for row in rows(root / "pool/stops.csv")} == {
            "per_query" if number == 3 else "waiting"
        }
        before = (root / "pool/pool.csv").read_bytes()
        fire("tasks", "--overlap", 0)
        file = root / ("tasks/tasks.json" if number == 1 else f"tasks/round-{number}/tasks.json")
        new = keys_in(file)
        assert len(new) == n_new * N_QUERIES
        assert not new & asked
        asked |= new
        assert asked == table_pairs(root / "pool/pool.csv")
        assert "nothing new to ask" in fire("pool").stderr  # nobody has answered yet
        assert (root / "pool/pool.csv").read_bytes() == before
        answer(root, file, str(number), f"{number}.json")
        fire("import")
        if number == 1:
            said = fire("pool", code=1).stderr
            assert said.startswith("error: strategy move-to-front reads labels, and none are given of the 60")
        else:
            said = fire("pool", code=1).stderr
            assert "labels/labels.csv: judgments/judgments.csv has changed since; run" in said
        fire("resolve")
        goes_on = ("stale", "there are new labels to go on from")
        assert (states()["pool"] == goes_on) == (number < 3)
    said = fire("pool").stderr
    assert "queries stopped: 30 per_query; 150 judged before, none new" in said
    assert "changed" not in said
    found = {(row["query_id"], row["doc_id"]) for row in rows(root / "labels/labels.csv")}
    assert found == asked


def test_status_says_what_a_later_model_asks(fire: Fire, judged: Path) -> None:
    put_run(judged, "late")
    first = states()["pool"]
    n_asked = len(top_of("late") - top_of("clip") - top_of("frozen"))
    assert f" {n_asked} pairs to ask" in first[1]
    text = (judged / "fire.toml").read_text()
    (judged / "fire.toml").write_text(text.replace("overlap = 0.1", "overlap = 0.9"))
    assert states()["pool"] != first  # the hours: more pairs are judged twice
    put_other_run(judged, "late", "clip")
    assert "nothing new to ask" in states()["pool"][1]
