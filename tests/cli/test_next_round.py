"""`next-round` without a campaign: what to ask again, as files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import rows

Fire = Callable[..., Result]


@pytest.fixture
def resolved(fire: Fire, folder: Path) -> Path:
    fire("resolve", "judgments.csv", "--out", "labels")
    return folder


PLAN = ("next-round", "--budget", "99", "--judgments", "judgments.csv", "--labels", "labels", "--out", "plan")


def test_the_plan_is_a_pool_with_strata_and_probabilities(fire: Fire, resolved: Path) -> None:
    shown = fire(*PLAN, "--qrels", "qrels.txt")
    pool = {(row["query_id"], row["doc_id"]): row for row in rows((resolved / "plan/pool.csv").read_text())}
    found = {pair: (row["stratum"], row["inclusion_probability"]) for pair, row in pool.items()}
    assert found == {
        ("1", "b"): ("dispute", "1.0"),
        ("1", "a"): ("rejected_original", "1.0"),
        ("2", "a"): ("unverified_positive", "1.0"),
    }
    assert "unverified_positive" in shown.stdout
    assert "3 pairs to ask again, about 0 minutes" in shown.stderr
    counts = json.loads((resolved / "plan/manifest.json").read_text())["counts"]
    assert (counts["dispute"], counts["random"]) == (1, 0)


def test_the_pool_becomes_tasks_that_say_nothing_of_it(fire: Fire, resolved: Path) -> None:
    fire(*PLAN)
    fire("tasks", "plan", "--queries", "queries.tsv", "--overlap", "0", "--out", "tasks.json")
    text = (resolved / "tasks.json").read_text()
    assert len(json.loads(text)) == 3
    assert "stratum" not in text
    assert "dispute" not in text


def test_answers_can_be_grouped_and_weighed_by_the_plan(fire: Fire, resolved: Path) -> None:
    fire(*PLAN)
    judgments = (resolved / "judgments.csv").read_text().splitlines()
    second = [judgments[0], *judgments[1:5], "2,a,ann,irrelevant,2026-01-02T00:00:00Z,2.5,,,manual"]
    (resolved / "both.csv").write_text("\n".join(second) + "\n")
    words = ("agree", "both.csv", "--join", "plan/pool.csv", "--format", "csv")
    by_stratum = rows(fire(*words, "--by", "stratum").stdout)
    assert {row["group"] for row in by_stratum} == {"dispute", "random", "unverified_positive"}
    assert "pairs weigh the inverse of their inclusion_probability" in fire(*words).stderr


def test_a_budget_that_leaves_nothing_for_agreement_is_warned_of(fire: Fire, resolved: Path) -> None:
    (resolved / "many.csv").write_text(
        "query_id,doc_id,annotator_id,label\n1,x,ann,relevant\n"
        + "".join(f"1,d{n},ann,irrelevant\n" for n in range(9))
    )
    fire("resolve", "many.csv", "--out", "many")
    words = ("next-round", "--judgments", "many.csv", "--labels", "many", "--out", "plan", "--budget", "1")
    told = fire(*words)
    assert "warning: the budget leaves no random share" in told.stderr
    assert "no pair has two votes" in told.stdout
    assert "warning" not in fire(*words[:-1], "2").stderr


def test_outside_a_workspace_the_inputs_must_be_named(fire: Fire, resolved: Path) -> None:
    assert (
        "--labels is needed"
        in fire("next-round", "--out", "plan", "--judgments", "judgments.csv", code=2).stderr
    )
    assert "disputes.csv" in fire(*PLAN[:5], "--labels", "nowhere", "--out", "plan", code=1).stderr


def test_without_a_budget_only_disputes_are_asked_and_the_rest_is_counted(fire: Fire, resolved: Path) -> None:
    told = json.loads(fire("next-round", *PLAN[3:], "--dry-run", "--format", "json").stdout)
    plan = {row["stratum"]: (row["n_pairs"], row["n_asked"]) for row in told["plan"]}
    assert (plan["dispute"], plan["unverified_positive"][1]) == ((1, 1), 0)
    assert plan["unverified_positive"][0] > 0
    assert not (resolved / "plan").exists()
    only = json.loads(
        fire("next-round", *PLAN[3:], "--ask", "unverified_positive", "--format", "json").stdout
    )
    assert only["pairs"] == plan["unverified_positive"][0]


def test_a_number_of_a_stratum_that_is_not_asked_is_refused(fire: Fire, resolved: Path) -> None:
    refused = fire("next-round", *PLAN[3:], "--random-share", "0.5", code=2)
    assert "--random-share is of stratum random, which is not asked; add --ask random" in refused.stderr
    nobody = fire("next-round", *PLAN[3:], "--annotator", "A04", code=2)
    assert "--annotator is for a campaign, and none has begun here" in nobody.stderr


def test_a_strategy_pools_new_pairs_and_asks_judged_ones_again(
    fire: Fire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each query the first docs are relevant by one vote: settle(C@2) wants another one on some."""
    fire("init", "work")
    monkeypatch.chdir(folder / "work")
    for place in ("collection", "runs", "judgments"):
        Path(place).mkdir(exist_ok=True)
    queries = [f"q{n}" for n in range(6)]
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + "".join(f"{q}\ta cat\n" for q in queries))
    Path("collection/qrels.txt").write_text("".join(f"{q} 0 far 1\n" for q in queries))
    for name, docs in (("a", "uvw"), ("b", "wxy")):
        lines = [f"{q} Q0 {doc} {n} {9 - n} {name}\n" for q in queries for n, doc in enumerate(docs, 1)]
        Path(f"runs/{name}.run").write_text("".join(lines))
    fire("pool", "--depth", 2, "--per-query", 2)
    votes = [
        f"{row['query_id']},{row['doc_id']},ann,relevant\n" for row in rows(Path("pool/pool.csv").read_text())
    ]
    Path("judgments/judgments.csv").write_text("query_id,doc_id,annotator_id,label\n" + "".join(votes))
    fire("resolve")
    told = fire("next-round", "--strategy", "settle(C@2)")
    assert f"{len(votes)} judged before" in told.stderr
    again = rows(Path("plan/round-2/pool.csv").read_text())
    assert f"round 2: {len(again)} pairs to ask again, in plan/round-2" in told.stderr
    assert {row["stratum"] for row in again} == {"again"}
    found = json.loads(Path("plan/round-2/manifest.json").read_text())
    assert {"judgments/judgments.csv", "labels/labels.csv", "runs/a.run"} <= set(found["inputs"])
    assert json.loads(Path("pool/manifest.json").read_text())["parameters"]["strategy"] == "settle(C@2)"


def test_a_plan_is_kept_where_another_takes_its_place(fire: Fire, resolved: Path) -> None:
    told = [fire(*PLAN, *more).stderr for more in ((), (), ("--budget", "1", "--ask", "dispute"), ())]
    note = "note: plan held another plan of 3 pairs, 2 of them not in this one; it is kept in plan.earlier-1"
    assert [note in words for words in told] == [False, False, True, False]
    assert [len(rows((resolved / name / "pool.csv").read_text())) for name in ("plan", "plan.earlier-1")] == [
        3,
        3,
    ]
    assert sorted(path.name for path in (resolved / "plan.earlier-1").iterdir()) == [
        "manifest.json",
        "plan.csv",
        "pool.csv",
    ]
