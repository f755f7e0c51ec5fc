"""`plan` as a person calls it, before anybody has judged."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result

from fire_toolkit import plan_designs, read_judgments, read_qrels, read_run
from fire_toolkit.planning.simulate import CORRECTED
from fire_toolkit.planning.words import paragraph

Fire = Callable[..., Result]
RUNS = ("runs/fused.run", "runs/shape-contour.run", "runs/learned-ridge.run")
QUICK = ("--qrels", "qrels.txt", "--repeats", "2")


def test_each_assumption_and_design_has_its_cost_and_its_errors(sample: Fire) -> None:
    done = sample("plan", *RUNS, *QUICK, "--seconds", "36", "--out", "plan.csv", "--plot", "plan.vl.json")
    table = pd.read_csv("plan.csv")
    assert list(table["world"].unique()) == ["low", "middle", "high"]
    pooled = sample(
        "pool", *RUNS, "--qrels", "qrels.txt", "--depth", "5", "--out", "pool", "--format", "json"
    )
    assert set(table.loc[table["design"] == "depth 5", "n_pairs"]) == {json.loads(pooled.stdout)["pairs"]}
    assert (table["hours"] - table["n_judgments"] / 100).abs().max() < 0.006  # 36 s: a hundredth of an hour
    assert "middle: differences below" in done.stderr
    plot = json.loads(Path("plan.vl.json").read_text())
    assert len(plot["data"]["values"]) == len(table)
    again = sample("plan", *RUNS, *QUICK, "--seconds", "36", "--format", "csv")
    assert again.stdout == Path("plan.csv").read_text()


def test_a_wish_names_the_cheapest_design_and_a_paragraph_describes_it(sample: Fire) -> None:
    wish = (
        "-m",
        "C@10",
        "--tell",
        "60",
        "--assume",
        "middle",
        "--depth",
        "5",
        "--paragraph",
        "plan.tex",
    )
    done = sample("plan", *RUNS, *QUICK, *wish)
    assert "middle: depth 5, one, " in done.stderr
    assert "is the cheapest that tells differences of 60 points of C@10" in done.stderr
    assert "next: fire-toolkit pool --depth 5" in done.stderr
    assert Path("plan.tex").read_text().startswith("We pool 3 runs to depth 5 for")


def plan_row(**changed: object) -> dict[str, object]:
    row = {
        "design": "depth 10",
        "policy": "one",
        "n_queries": 9,
        "n_pairs": 9,
        "n_judgments": 9,
        "measure": "C@1",
    }
    numbers = dict.fromkeys(("error", "bias", "least_difference", "recall", "alpha", "alpha_half_width"), 0.1)
    return row | numbers | {"overlap": 0.1} | changed


def test_a_paragraph_says_by_which_estimate_and_of_which_design(sample: Fire) -> None:
    one = ("--depth", "5", "--votes", "one", "--assume", "middle", "--deep-queries", ".1", "-m", "AP")
    sample("plan", *RUNS, *QUICK, *one, "--paragraph", "plan.tex")
    assert (
        "AP, estimated from the queries judged deep, is expected to be off by" in Path("plan.tex").read_text()
    )
    assert "C@1, corrected for errors of votes, is expected" in paragraph(
        plan_row(estimate=CORRECTED), source="", n_runs=3, depth=20, seed=0
    )
    doubled = (
        "--depth",
        "10",
        "--votes",
        "one",
        "--assume",
        "high",
        "--overlap",
        ".5",
        "-m",
        "C@1",
        "-m",
        "C@10",
    )
    sample("plan", *RUNS, *QUICK, *doubled, "--plot", "plan.vl.json")
    drawn = {row["measure"] for row in json.loads(Path("plan.vl.json").read_text())["data"]["values"]}
    assert drawn == {"C@1", "C@1 corrected", "C@10", "C@10 corrected"}
    refused = sample("plan", *RUNS, *QUICK, "-m", "C@10", "--tell", "1", "--paragraph", "not.tex", code=1)
    assert "--paragraph: none of these designs does what is wished" in refused.stderr
    refused = sample("plan", *RUNS, *QUICK, "--paragraph", "not.tex", code=1)
    assert "--paragraph: which design?" in refused.stderr
    assert not refused.stdout  # before anything was simulated
    assert not Path("not.tex").exists()


@pytest.mark.parametrize("of", ["n_pairs", "n_judgments"])
def test_no_design_asks_more_than_the_budget(of: str, sample: Fire) -> None:
    budget = ("--budget", "900") if of == "n_pairs" else ("--hours", "10", "--seconds", "36")
    done = sample("plan", *RUNS, *QUICK, *budget, "-m", "C@1", "--format", "json")
    asked = [row[of] for row in json.loads(done.stdout)]
    assert 850 < max(asked) <= {"n_pairs": 900, "n_judgments": 1000}[of]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--budget", "3"), "a budget of 3 is too small: 40 queries of the cheapest design take"),
        (("--budget", "9", "--deep-queries", ".1"), "a budget of 9 is too small: 40 queries of the cheapest"),
        (("--hours", "2"), "a budget in hours needs the seconds that a judgment takes; give --seconds"),
        (("--strategy", "deep"), "pooling strategy 'deep' is unknown"),
        (("--depth", "400"), "but the runs are read down to rank"),
        (("--assume", "many"), "no assumption 'many'; expected low, middle, high or how many positives"),
        (("--rates", ".2", ".9"), "--rates 0.2 0.9: expected the first, of positives, above the second"),
        (("--assume", "0"), "expected a number above 0 and below that"),
        (("--strategy", "strata(1:10:1)"), "plan weighs no samples of pairs"),
        (("--per-query", "5"), "--per-query is for strategies that put pairs in an order"),
        (("--strategy", "rrf", "--depth", "5"), "--depth belongs to the strategy depth"),
        (("--settle", "--depth", "5"), "--settle reads no --depth"),
        (("--late", RUNS[2], "--plot", "x.json"), "--late reads no --plot"),
        (("--draw-pilot", "50", "--pilot", "x.csv"), "--draw-pilot reads no --pilot"),
        (("-m", "MedR"), "MedR: plan takes measures that are means over queries"),
    ],
)
def test_what_cannot_be_planned_is_one_line(sample: Fire, words: tuple[str, ...], expected: str) -> None:
    done = sample("plan", *RUNS, *QUICK, *words, code=1)
    assert expected in done.stderr
    assert done.stdout == ""


def test_a_pilot_is_drawn_judged_and_planned_with(sample: Fire) -> None:
    sample("plan", *RUNS, *QUICK, "--draw-pilot", "60", "--out", "pilot")
    pool = pd.read_csv("pilot/pool.csv", dtype={"query_id": "str", "doc_id": "str"})
    assert len(pool) == 60
    assert not pool["is_original"].any()
    weights = (1 / pool["inclusion_probability"]).groupby(pool["stratum"]).sum()
    sample("pool", *RUNS, "--qrels", "qrels.txt", "--depth", "1", "--out", "first")
    first = pd.read_csv("first/pool.csv")
    assert round(weights["1-1"]) == (~first["is_original"]).sum()
    votes = [pool[["query_id", "doc_id"]].assign(annotator_id=name) for name in ("ann", "bob")]
    judged = pd.concat(votes, ignore_index=True)
    judged.assign(label=(judged.index % 7 == 0).astype(int)).to_csv("judgments.csv", index=False)
    done = sample("plan", *RUNS, *QUICK, "--pilot", "judgments.csv", "--format", "json")
    assert {row["world"] for row in json.loads(done.stdout)} == {"pilot"}
    assert "pilot: 60 pairs, 120 votes: about" in done.stderr
    assert all(row["error_low"] < row["error"] < row["error_high"] for row in json.loads(done.stdout))
    known = ("--rates", ".9", ".03", "--rates-known")
    told = sample("plan", *RUNS, *QUICK, "--pilot", "judgments.csv", *known)
    assert "votes call 90% of positives and 3.0% of others relevant" in told.stderr
    assert re.search(r"[+−±][0-9.]+ \[[0-9.]+, [0-9.]+\]", told.stdout)
    refused = sample("plan", *RUNS, *QUICK, "--rates-known", code=1)
    assert "--rates-known is for a plan with --pilot" in refused.stderr

    # the function that `plan` is: the same numbers
    runs = [read_run(path) for path in RUNS]
    judgments = read_judgments("judgments.csv").judgments
    plan = plan_designs(runs, read_qrels("qrels.txt"), pilot=judgments, grades={"0": 0, "1": 1}, n_repeats=2)
    rows = json.loads(done.stdout)
    assert plan.designs["error"].tolist() == pytest.approx([row["error"] for row in rows])
    assert plan.designs["n_judgments"].tolist() == [row["n_judgments"] for row in rows]


def test_a_late_run_adds_what_pooling_it_adds(sample: Fire) -> None:
    done = sample(
        *("plan", *RUNS[:2], "--late", RUNS[2], "--qrels", "qrels.txt", "--depth", "5", "--format", "json"),
        *("--out", "late.csv"),
    )
    row = json.loads(done.stdout)[0]
    assert pd.read_csv("late.csv")["n_added"].iloc[0] == row["n_added"]
    sizes = []
    for n in (2, 3):
        pooled = sample(
            "pool", *RUNS[:n], "--qrels", "qrels.txt", "--depth", "5", "--out", "p", "--format", "json"
        )
        sizes.append(json.loads(pooled.stdout)["pairs"])
    assert [row["n_before"], row["n_before"] + row["n_added"]] == sizes


def test_settling_asks_less_than_the_whole_pool(sample: Fire) -> None:
    done = sample("plan", *RUNS, *QUICK, "--settle", "-m", "C@1", "--assume", "middle", "--format", "json")
    asked = {row["design"]: row["n_pairs"] for row in json.loads(done.stdout)}
    assert asked["settle(C@10)"] < asked["depth 10"]
