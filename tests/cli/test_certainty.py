"""The commands on certainty, run on the sample pool."""

import json
from pathlib import Path

import pytest
from command import Fire, rows, write_run

RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
BENCHMARK = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")
WHOLE = ["75", "17", "1", "7"]  # what became of the 100 original positives


def test_an_honest_score_says_what_is_uncertain_and_shows_each_policy(sample: Fire) -> None:
    measures = ("-m", "C@1", "-m", "AP@10")
    found = rows(sample("score", "--honest", *RUNS, *BENCHMARK, *measures, "--format", "csv"))
    order = [" ".join((row["run_id"], row["measure"])) for row in found]
    assert order[:3] == ["fused C@1", "fused AP@10", "motion-track C@1"]
    for row in found:
        assert float(row["augmented"]) <= float(row["upper"])
        assert (row["lower"] == "nan") == (row["measure"] == "AP@10")  # which has an upper bound alone
        assert row["lower"] == "nan" or float(row["lower"]) <= float(row["augmented"])
        assert float(row["low"]) <= float(row["augmented"]) <= float(row["high"])
        assert [row[name] for name in ("confirmed", "rejected", "disputed", "never_judged")] == WHOLE
    table = sample("score", "--honest", *RUNS, *BENCHMARK, *measures).output
    assert "74.0 (39.0 + 35.0)" in table
    assert "of the original positives 75 confirmed, 17 rejected, 1 in dispute, 7 never judged; 313" in table
    policies = [word for policy in ("union", "override", "drop") for word in ("--policy", policy)]
    found = rows(sample("score", "--honest", RUNS[0], *BENCHMARK, *policies, "-m", "C@1", "--format", "csv"))
    by_policy = {row["policy"]: row["augmented"] for row in found}
    assert by_policy == {"union": "0.74", "override": "0.68", "drop": "0.68"}


def test_clusters_are_a_column_of_the_queries(sample: Fire) -> None:
    arguments = ("score", "--honest", RUNS[0], *BENCHMARK, "-m", "C@1", "--queries", "queries.tsv")
    found = json.loads(sample(*arguments, "--cluster", "level", "--format", "json").stdout)
    assert found[0]["interval"] == "score"
    refused = sample(*arguments, "--cluster", "video", code=1)
    assert "queries have no column 'video'; found query_id, text, level" in refused.output


def test_differences_come_with_tests_and_intervals(sample: Fire) -> None:
    files = (*RUNS, *BENCHMARK)
    found = rows(sample("difference", *files, "-m", "C@1", "-m", "AP@20", "--format", "csv"))
    assert len(found) == 3 * 3 * 2
    by_key = {(row["qrels"], row["measure"], row["run_b"]): row for row in found if row["run_a"] == "fused"}
    row = by_key["augmented", "C@1", "motion-track"]
    assert (row["test"], float(row["difference"])) == ("score", pytest.approx(0.21))
    assert float(row["low"]) < 0.21 < float(row["high"])
    assert "fused & motion-track" in sample("difference", *files, "-m", "C@1").stdout
    for command in ("difference", *files, "-m", "C@1"), ("compare", *RUNS):
        assert r" fused \& motion-track " in sample(*command, "--format", "latex").stdout


def test_orders_are_compared_between_labellings(sample: Fire) -> None:
    qrels = ("--qrels", "original=qrels.txt", "--qrels", "augmented.txt", "-m", "C@1")
    found = rows(sample("orders", *RUNS, *qrels, "--format", "csv"))
    (row,) = found
    assert (row["labelling_a"], row["labelling_b"], row["tau_p"]) == ("original", "augmented.txt", "nan")
    swaps = rows(sample("orders", *RUNS, *qrels, "--show", "swaps", "--format", "csv"))
    assert len(swaps) == 3
    assert all(0 <= float(row["p_swap"]) <= 1 for row in swaps)
    assert "3 runs are too few for a p-value of tau" in sample("orders", *RUNS, *qrels).output
    of_folder = ("--qrels", "original=.", *qrels[2:])  # as of a release
    assert rows(sample("orders", *RUNS, *of_folder, "--format", "csv")) == found
    assert "no such file" in sample("orders", *RUNS, "--qrels", "original=", *qrels[2:], code=1).stderr


def test_contributions_count_what_each_run_found(sample: Fire) -> None:
    files = ("--pool-sources", "pool_sources.csv", "--labels", "labels", "--qrels", "qrels.txt")
    found = rows(sample("own", *files, "--format", "csv"))
    assert [row["run_id"] for row in found][:2] == ["colour-histogram", "fused"]
    assert {row["n_pooled"] for row in found} == {"1000"}
    sets = rows(sample("own", *files, "--show", "sets", "--format", "csv"))
    assert sum(int(row["n_pairs"]) for row in sets) == 2244
    assert sum(int(row["new"]) for row in sets) == 313


def test_reusability_leaves_each_run_out(sample: Fire) -> None:
    files = (*sorted(Path("runs").glob("*.run")), *BENCHMARK, "--pool-sources", "pool_sources.csv")
    arguments = ("reuse", *files, "-m", "C@10", "-m", "bpref", "--format", "csv")
    own = rows(sample(*arguments))
    assert len(own) == 5 * 2
    assert all(row["left_out"] == row["run_id"] for row in own)
    without = {(row["run_id"], row["measure"]): row["without"] for row in own}
    assert without["learned-ridge", "C@10"] == "0.91"
    orders = rows(sample(*arguments, "--show", "orders", "--family", "late=fused,learned-ridge"))
    left_out = ["colour-histogram", "late", "motion-track", "shape-contour"]
    assert [row["left_out"] for row in orders][::2] == left_out


def test_coverage_writes_the_pairs_that_would_settle_a_run(sample: Fire) -> None:
    files = (*BENCHMARK, "--judgments", "judgments.csv")
    result = sample("coverage", RUNS[0], *files, "-m", "P@15", "--format", "csv", "--out", "settle/pool.csv")
    row = rows(result)[0]
    assert float(row["lower"]) < float(row["upper"])
    assert float(row["hours"]) > 0
    pool = rows(Path("settle/pool.csv"))
    assert len(pool) == int(row["n_pairs"])
    assert "fused: judged" in result.output
    tasks = ("--queries", "queries.tsv", "--items", "items.tsv", "--guideline", "caption-relevance-v1")
    sample("tasks", "settle/pool.csv", *tasks, "--overlap", 0, "--out", "tasks.json")
    assert len(json.loads(Path("tasks.json").read_text())) == len(pool)


def a_benchmark(fire: Fire, n_queries: int, n_labels: int) -> None:
    """Queries whose positive two equal runs find first, and labels of docs that are not relevant."""
    queries = range(n_queries)
    Path("qrels.txt").write_text("".join(f"q{q:03} 0 a 1\n" for q in queries))
    for name in ("one", "two"):
        write_run(Path(f"{name}.run"), {f"q{q:03}": "abc" for q in queries})
    labels = "".join(f"q{q:03},b,irrelevant,0\n" for q in range(n_labels))
    Path("labels.csv").write_text("query_id,doc_id,label,relevance\n" + labels)
    fire("augment", "--qrels", "qrels.txt", "--labels", "labels.csv", "--out", "augmented.txt")


def test_a_gain_that_no_query_shows_has_an_interval(fire: Fire) -> None:
    """Of 100 queries none gains: a share of up to 1 − .025^(1/100) may; AP could also fall."""
    a_benchmark(fire, 100, n_labels=3)
    found = rows(fire("score", "--honest", "one.run", *BENCHMARK, "-m", "C@1", "-m", "AP", "--format", "csv"))
    hits, ap = found
    assert (hits["delta"], hits["delta_low"], hits["delta_interval"]) == ("0.0", "0.0", "exact")
    assert float(hits["delta_high"]) == pytest.approx(1 - 0.025**0.01)
    assert float(ap["delta_low"]) == pytest.approx(-(1.96**2) / (100 + 1.96**2), rel=1e-4)
    assert float(ap["delta_high"]) == -float(ap["delta_low"])
    shown = fire("score", "--honest", "one.run", *BENCHMARK, "-m", "C@1", "-m", "AP")
    assert "0.0 to 3.6" in shown.stdout
    assert "-3.7 to 3.7" in shown.stdout
    few = "AP: fewer than 15 queries differ in 1 row; there the interval of the gain or difference is"
    assert few in shown.stderr
    assert "resamples" not in shown.stderr


def test_what_one_query_cannot_tell_is_not_known(fire: Fire) -> None:
    a_benchmark(fire, 1, n_labels=1)
    asked = ("score", "--honest", "one.run", *BENCHMARK, "-m", "C@1", "-m", "AP", "-m", "MedR")
    hits, *others = rows(fire(*asked, "--format", "csv"))
    assert float(hits["low"]) == pytest.approx(0.025)  # Clopper and Pearson, 1 of 1
    for row in others:
        assert [row[name] for name in ("low", "high", "delta_low", "delta_high")] == ["nan"] * 4
    shown = fire(*asked)
    assert shown.stdout.count("not known") == 4
    assert "1 query: coverage was checked from 20 on" in shown.stderr
    both = ("difference", "one.run", "two.run", "--qrels", "qrels.txt", "-m", "AP")
    assert "not known" in fire(*both).stdout
