"""`next-round` without a campaign: what to ask again, as files."""

import json
from pathlib import Path

import pytest
from command import as_json, by_pair, manifest_of, pairs_in, rows, run, write_run

FILES = ("--judgments", "judgments.csv", "--labels", "labels", "--out", "plan")
PLAN = ("next-round", "--budget", "99", *FILES)


@pytest.fixture(autouse=True)
def resolved(folder: Path) -> Path:
    run("resolve", "judgments.csv", "--out", "labels")
    return folder


def test_the_plan_is_a_pool_with_strata_and_probabilities_of_which_tasks_say_nothing() -> None:
    shown = run(*PLAN, "--qrels", "qrels.txt")
    strata = {("1", "b"): "dispute", ("1", "a"): "rejected_original", ("2", "a"): "unverified_positive"}
    assert by_pair(Path("plan/pool.csv"), "stratum") == strata
    assert {row["inclusion_probability"] for row in rows(Path("plan/pool.csv"))} == {"1.0"}
    assert "unverified_positive" in shown.stdout
    assert "3 pairs to ask again, about 0 minutes" in shown.stderr
    counts = manifest_of("plan")["counts"]
    assert (counts["dispute"], counts["random"]) == (1, 0)
    run("tasks", "plan", "--queries", "queries.tsv", "--overlap", "0", "--out", "tasks.json")
    text = Path("tasks.json").read_text()
    assert len(json.loads(text)) == 3
    assert "stratum" not in text
    assert "dispute" not in text


def test_answers_can_be_grouped_and_weighed_by_the_plan() -> None:
    run(*PLAN)
    lines = Path("judgments.csv").read_text().splitlines()[:5]
    lines.append("2,a,ann,irrelevant,2026-01-02T00:00:00Z,2.5,,,manual")
    Path("both.csv").write_text("\n".join(lines) + "\n")
    found = run("agree", "both.csv", "--join", "plan/pool.csv", "--format", "csv", "--by", "stratum")
    assert {row["group"] for row in rows(found)} == {"dispute", "random", "unverified_positive"}
    told = run("agree", "both.csv", "--join", "plan/pool.csv").stderr
    assert "pairs weigh the inverse of their inclusion_probability" in told


def test_a_budget_that_leaves_nothing_for_agreement_is_warned_of() -> None:
    lines = ["query_id,doc_id,annotator_id,label", "1,x,ann,relevant"]
    lines += [f"1,d{n},ann,irrelevant" for n in range(9)]
    Path("judgments.csv").write_text("\n".join(lines) + "\n")
    run("resolve", "judgments.csv", "--out", "labels")
    told = run("next-round", *FILES, "--budget", "1")
    assert "warning: the budget leaves no random share" in told.stderr
    assert "no pair has two votes" in told.stdout
    assert "warning" not in run("next-round", *FILES, "--budget", "2").stderr


def test_fourth_votes_need_a_campaign_and_without_a_budget_only_disputes_are_asked() -> None:
    told = run("next-round", *FILES, "--ask", "fourth_vote", code=2).stderr
    assert "--ask fourth_vote is for a campaign, and none has begun here" in told
    assert not Path("plan").exists()
    told = as_json("next-round", *FILES, "--dry-run")
    plan = {row["stratum"]: (row["n_pairs"], row["n_asked"]) for row in told["plan"]}
    assert (plan["dispute"], plan["unverified_positive"][1]) == ((1, 1), 0)
    assert plan["unverified_positive"][0] > 0
    assert not Path("plan").exists()
    only = as_json("next-round", *FILES, "--ask", "unverified_positive")
    assert only["pairs"] == plan["unverified_positive"][0]


def test_a_strategy_asks_judged_pairs_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each query the first docs are relevant by one vote: settle(C@2) wants another one on some."""
    run("init", "work")
    monkeypatch.chdir(folder / "work")
    Path("judgments").mkdir(exist_ok=True)
    queries = [f"q{n}" for n in range(6)]
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + "".join(f"{q}\ta cat\n" for q in queries))
    Path("collection/qrels.txt").write_text("".join(f"{q} 0 far 1\n" for q in queries))
    for name, docs in (("a", "uvw"), ("b", "wxy")):
        write_run(Path(f"runs/{name}.run"), dict.fromkeys(queries, docs))
    run("pool", "--depth", 2, "--per-query", 2)
    pairs = sorted(pairs_in(Path("pool/pool.csv")))
    votes = "".join(f"{query},{doc},ann,relevant\n" for query, doc in pairs)
    Path("judgments/judgments.csv").write_text("query_id,doc_id,annotator_id,label\n" + votes)
    run("resolve")
    told = run("next-round", "--strategy", "settle(C@2)")
    assert f"{len(pairs)} judged before" in told.stderr
    again = rows(Path("plan/round-2/pool.csv"))
    assert f"round 2: {len(again)} pairs to ask again, in plan/round-2" in told.stderr
    assert {row["stratum"] for row in again} == {"again"}
    found = manifest_of("plan/round-2")
    assert {"judgments/judgments.csv", "labels/labels.csv", "runs/a.run"} <= set(found["inputs"])
    made = manifest_of("pool")
    assert (made["parameters"]["strategy"], made["parameters"]["depth"]) == ("settle(C@2)", 2)
    assert made["command"]["words"][:3] == ["pool", "--depth", "2"]  # as it was made, for what comes next
    assert run("status").stderr.splitlines()[-1] == "next: fire-toolkit agree"


def test_a_plan_is_kept_where_another_takes_its_place() -> None:
    told = [run(*PLAN, *more).stderr for more in ((), (), ("--budget", "1", "--ask", "dispute"), ())]
    note = "note: plan held another plan of 3 pairs, 2 of them not in this one; it is kept in plan.earlier-1"
    assert [note in words for words in told] == [False, False, True, False]
    assert [len(rows(Path(name, "pool.csv"))) for name in ("plan", "plan.earlier-1")] == [3, 3]
    kept = sorted(path.name for path in Path("plan.earlier-1").iterdir())
    assert kept == ["manifest.json", "plan.csv", "pool.csv"]
