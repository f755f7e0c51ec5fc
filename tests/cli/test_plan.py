"""`plan` as a person calls it, before anybody has judged."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from command import Fire, write_run

from examples import some
from fire_toolkit import plan
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.tables.table_files import read_judgments

RUNS = ("runs/fused.run", "runs/shape-contour.run", "runs/learned-ridge.run")
QRELS = ("--qrels", "qrels.txt")


def said(done: Result) -> list[str]:
    """Return the sentences that a plan ends with, unwrapped."""
    after = done.stderr.partition("rests on: ")[2].partition("\n")[2].partition("\nnext:")[0]
    return re.findall(r"[A-Z].*?\.(?=\s|$)(?<!\d\.)", " ".join(after.split()))


def test_a_plan_without_a_pilot_is_of_assumptions_and_says_so(sample: Fire) -> None:
    done = sample("plan", *RUNS, *QRELS, "--seconds", "36", "--out", "plan.csv")
    table = pd.read_csv("plan.csv")
    assert list(table["policy"].unique()) == ["one", "verify", "until-confirmed", "doubled"]
    pooled = sample("pool", *RUNS, *QRELS, "--depth", "10", "--out", "pool", "--format", "json")
    assert set(table["n_pairs"]) == {json.loads(pooled.stdout)["pairs"]}
    assert (table["hours"] - table["n_judgments"] / 100).abs().max() < 0.006  # 36 s: a hundredth of an hour
    assert "votes right on 92% of positives and 96% of others" in done.stderr
    sentences = said(done)
    assert len(sentences) == 3
    assert sentences[0].startswith("If 0.6 to 3.4 positives a query are missing, as in other benchmarks,")
    assert sentences[2].endswith("nothing was judged, so all of this rests on assumptions.")
    assert "[" not in done.stdout  # an interval belongs to a pilot
    again = sample("plan", *RUNS, *QRELS, "--seconds", "36", "--format", "csv")
    assert again.stdout == Path("plan.csv").read_text()


WISHES = [("-m", "C@10", "-m", "P@5", "-m", "nDCG@10"), (), ("--budget", "1000")]


@pytest.mark.parametrize("words", some(WISHES, 1))
def test_a_plan_has_six_short_rows_and_three_sentences(words: tuple[str, ...], sample: Fire) -> None:
    done = sample("plan", *RUNS, *QRELS, "--seconds", "36", *words)
    lines = done.stdout.splitlines()
    assert len(lines) <= 2 + 6
    assert max(map(len, lines)) <= 100
    assert 1 <= len(said(done)) <= 3
    assert max(map(len, done.stderr.partition("\nnext:")[0].splitlines()[1:])) <= 100


def test_ap_is_not_known_and_the_plan_says_what_tells_it(sample: Fire) -> None:
    done = sample("plan", *RUNS, *QRELS, "-m", "AP", "--pilot", "judgments.csv")
    assert "off by" not in done.stdout
    *_, last = said(done)
    assert re.search(r"^AP is not known from [0-9,]+ pairs; judge 40 queries deep to know it\.$", last)
    assert "next: fire-toolkit pool --depth 10 --deep-queries 0.1" in done.stderr
    asked = ("-m", "AP", "--pilot", "judgments.csv", "--format", "json")
    table = json.loads(sample("plan", *RUNS, *QRELS, *asked).stdout)
    assert {(row["estimate"], row["error"], row["bias"]) for row in table} == {("not known", None, None)}


def test_a_wish_names_the_cheapest_design_that_does_it(sample: Fire) -> None:
    done = sample("plan", *RUNS, *QRELS, "-m", "C@10", "--tell", "60", "--seconds", "36")
    whole = sample("plan", *RUNS, *QRELS, "-m", "C@10", "-m", "AP", "--seconds", "36", "--all").stdout
    assert len(whole.splitlines()) > 8  # a head, and six rows without --all
    assert max(map(len, whole.splitlines())) <= 100
    first, second, _ = said(done)
    assert "the cheapest design that tells differences of 60 points of C@10 is " in first
    assert re.search(r"^It takes [0-9,]+ judgments, [0-9,]+ hours: [0-9,]+ pairs of 100 queries\.$", second)
    assert re.search(r"next: fire-toolkit pool (--depth 10|--strategy 'settle\(C@10\)')", done.stderr)
    first, second, *_ = said(
        sample("plan", *RUNS, *QRELS, "-m", "C@10", "--within", "0.01", "--seconds", "9")
    )
    assert "no design here gets every run's C@10 right to 0.01 points for sure (95%)" in first
    assert " judgments, 1 hour: " in second


@pytest.mark.parametrize("budget", ["900", "10h"])
def test_no_design_asks_more_than_the_budget(budget: str, sample: Fire) -> None:
    words = ("--budget", budget, "--seconds", "36", "-m", "C@1", "-m", "P@10", "--format", "json")
    asked = [row["n_judgments"] for row in json.loads(sample("plan", *RUNS, *QRELS, *words).stdout)]
    most = {"900": 900, "10h": 1000}[budget]
    assert 0.9 * most < max(asked) <= 1.02 * most  # the mean of what is asked under three assumptions


def test_a_design_that_costs_nothing_needs_no_budget(sample: Fire) -> None:
    """Each query's first doc is its original in every run: nothing is open for settle(C@1)."""
    for name in ("a", "b"):
        others = [f"d{place}{name}" for place in range(2, 9)]
        write_run(Path(f"{name}.run"), {f"q{q}": [f"d{q}", *others] for q in range(60)})
    Path("all.qrels").write_text("".join(f"q{q} 0 d{q} 1\n" for q in range(60)))
    for budget in ("3000", "30h"):
        words = ("--budget", budget, "--seconds", "36", "-m", "C@1", "--format", "json")
        done = sample("plan", "a.run", "b.run", "--qrels", "all.qrels", *words)
        rows = json.loads(done.stdout)
        assert [row["n_judgments"] for row in rows if row["design"] == "settle(C@1)"] == [0]
        assert {row["n_queries"] for row in rows} == {60}


def test_a_pilot_is_drawn_judged_and_planned_with(sample: Fire) -> None:
    sample("plan", *RUNS, *QRELS, "--draw-pilot", "60", "--out", "pilot/pool.csv")
    pool = pd.read_csv("pilot/pool.csv", dtype={"query_id": "str", "doc_id": "str"})
    assert len(pool) == 60
    pool[["query_id", "doc_id"]].assign(annotator_id="a", label="nice").to_csv("odd.csv", index=False)
    done = sample("plan", *RUNS, *QRELS, "--pilot", "odd.csv", code=1)
    assert "odd.csv: no grade is known for labels nice; expected 0 and 1, a column" in done.stderr
    assert not pool["is_original"].any()
    assert pool["best_rank"].max() <= 10  # deeper pairs tell nothing that is planned
    weights = (1 / pool["inclusion_probability"]).groupby(pool["stratum"]).sum()
    sample("pool", *RUNS, *QRELS, "--depth", "1", "--out", "first")
    first = pd.read_csv("first/pool.csv")
    assert round(weights["1-1"]) == (~first["is_original"]).sum()
    votes = [pool[["query_id", "doc_id"]].assign(annotator_id=name) for name in ("ann", "bob")]
    judged = pd.concat(votes, ignore_index=True)
    judged.assign(label=(judged.index % 7 == 0).astype(int)).to_csv("judgments.csv", index=False)
    done = sample("plan", *RUNS, *QRELS, "--pilot", "judgments.csv", "--format", "json")
    rows = json.loads(done.stdout)
    assert "a pilot of 60 pairs, 120 votes" in done.stderr
    assert all(row["error_low"] < row["error"] < row["error_high"] for row in rows)
    drawn = sample("plan", *RUNS, *QRELS, "--pilot", "judgments.csv")
    assert re.search(r"[+−±][0-9.]+ \[[0-9.]+, [0-9.]+\]", drawn.stdout)

    # the function that `plan` is: the same numbers and sentences
    runs = [read_run(path) for path in RUNS]
    judgments = read_judgments("judgments.csv")
    found = plan(runs, read_qrels("qrels.txt"), pilot=judgments)
    assert found.designs["error"].tolist() == pytest.approx([row["error"] for row in rows])
    assert found.designs["n_judgments"].tolist() == [row["n_judgments"] for row in rows]
    assert " ".join(found.said) == " ".join(said(drawn))
