"""Every measure works in every command that takes measures, or is refused by name."""

import math

import pytest
from command import Fire, rows

import fire_toolkit as fire
from fire_toolkit.errors import UsageError
from fire_toolkit.measures import list_measures

RUNS = ("runs/fused.run", "runs/shape-contour.run")
EXAMPLES = [definition.example for definition in list_measures()]
BOTH = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")
MEASURES = [word for name in EXAMPLES for word in ("-m", name)]


def test_score_honest(sample: Fire) -> None:
    found = rows(sample("score", "--honest", *RUNS, *BOTH, *MEASURES, "--format", "csv"))
    assert len(found) == len(RUNS) * len(EXAMPLES)
    for row in found:
        value, slack = float(row["augmented"]), 1e-9 * abs(float(row["augmented"])) + 1e-12
        assert (
            math.isnan(float(row["low"])) or float(row["low"]) - slack <= value <= float(row["high"]) + slack
        )
        low, high = float(row["lower"]), float(row["upper"])
        assert math.isnan(high) or value <= high + slack, row
        assert math.isnan(low) or low - slack <= value, row
        assert (row["bounds"] in ("exact", "outer")) == (not math.isnan(low)), row
        assert row["bounds"].startswith("no bounds; ") == math.isnan(high), row
        assert float(row["without_own"]) - value == float(row["own_change"])


def test_difference(sample: Fire) -> None:
    told = rows(sample("score", *RUNS, *BOTH, *MEASURES, "--format", "csv"))
    assert {row["measure"] for row in told} == set(EXAMPLES)
    assert all(row["value"] for row in told)
    scored = {(row["qrels"], row["measure"], row["run_id"]): float(row["value"]) for row in told}
    found = rows(sample("difference", *RUNS, *BOTH, *MEASURES, "--format", "csv"))
    assert {row["measure"] for row in found} == set(EXAMPLES)
    for row in found:
        for side in "ab":
            expected = scored[row["qrels"], row["measure"], row[f"run_{side}"]]
            assert abs(float(row[f"value_{side}"]) - expected) < 1e-9 + 1e-12 * abs(expected), row
        assert float(row["difference"]) == float(row["value_a"]) - float(row["value_b"])
        assert sum(int(row[f"n_{name}"]) for name in ("better", "worse", "equal")) == 100
        if row["measure"] != "MedR" and row["low"] != "nan":
            assert float(row["low"]) < float(row["high"])


def test_orders_and_reusability(sample: Fire) -> None:
    labellings = ("--qrels", "original=qrels.txt", "--qrels", "augmented=augmented.txt")
    found = rows(sample("orders", *RUNS, *labellings, *MEASURES, "--format", "csv"))
    assert {row["measure"] for row in found} == set(EXAMPLES)
    told = rows(sample("score", *RUNS, "--qrels", "augmented.txt", *MEASURES, "--format", "csv"))
    scored = {(row["measure"], row["run_id"]): float(row["value"]) for row in told}
    for row in rows(sample("reuse", *RUNS, *BOTH, "--pool-sources", ".", *MEASURES, "--format", "csv")):
        expected = scored[row["measure"], row["run_id"]]
        assert abs(float(row["all"]) - expected) < 1e-9 + 1e-12 * abs(expected), row
    files = (*RUNS, *BOTH[:2], "--judgments", "judgments.csv")
    found = rows(sample("influence", *files, *MEASURES, "--format", "csv"))
    assert {row["measure"] for row in found} == set(EXAMPLES)
    assert all(row["run_id"] for row in found)


def test_reports(sample: Fire) -> None:
    for name, more in (
        ("table1", ()),
        ("table4", ("--pool-sources", "pool_sources.csv")),
        ("length", ("--queries", "queries.tsv")),
    ):
        found = rows(sample("report", name, *RUNS, *BOTH, *more, *MEASURES, "--format", "csv"))
        assert {row["measure"] for row in found} >= set(EXAMPLES), name


def test_coverage_takes_those_with_bounds_and_refuses_the_others_with_the_reason(sample: Fire) -> None:
    run, original, augmented = fire.run(RUNS[0]), fire.qrels("qrels.txt"), fire.qrels("augmented.txt")

    bounded = [each.example for each in list_measures() if each.bounds == "monotone"]
    table = fire.coverage([run], original, augmented, measures=bounded).table
    assert set(table["measure"]) == set(bounded)
    assert (table["lower"] <= table["upper"]).all()
    for definition in list_measures():
        if definition.bounds == "monotone":
            continue
        with pytest.raises(UsageError) as refused:
            fire.coverage([run], original, augmented, measures=[definition.example])
        assert f"{definition.example} has " in str(refused.value)
        if definition.bounds == "none":
            assert f"{definition.example} has no bounds; it {definition.no_bounds}" in str(refused.value)
