"""`plan` as a person calls it, before anybody has judged."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result

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
        "--pool",
        "depth(5)",
        "--paragraph",
        "plan.tex",
    )
    done = sample("plan", *RUNS, *QUICK, *wish)
    assert "middle: depth 5, one, " in done.stderr
    assert "is the cheapest that tells differences of 60 points of C@10" in done.stderr
    assert Path("plan.tex").read_text().startswith("We pooled depth 5 of 3 runs for")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--budget", "3"), "a budget of 3 is too small: 40 queries of the cheapest design take"),
        (("--hours", "2"), "a budget in hours needs the seconds that a judgment takes; give --seconds"),
        (("--pool", "deep"), "no pool 'deep'; expected depth(10), rrf(10), settle(C@10) or deep(10), say"),
        (("--assume", "many"), "no assumption 'many'; expected low, middle, high or how many positives"),
        (("-m", "MedR"), "MedR: plan takes measures that are means over queries"),
    ],
)
def test_what_cannot_be_planned_is_one_line(sample: Fire, words: tuple[str, ...], expected: str) -> None:
    done = sample("plan", *RUNS, *QUICK, *words, code=1)
    assert expected in done.stderr
    assert done.stdout == ""
