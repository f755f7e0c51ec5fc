"""The tables of the FIRE paper, made of the sample pool."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import rows

from examples import some

Fire = Callable[..., Result]
RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
QRELS = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")


COMMANDS = {
    "table1": (*RUNS, *QRELS),
    "table2": ("--judgments", "judgments.csv", "--pool-sources", "pool_sources.csv"),
    "table3": RUNS,
    "table4": (*RUNS, *QRELS, "--pool-sources", "pool_sources.csv"),
    "length": (*RUNS, *QRELS, "--queries", "queries.tsv"),
    "saturation": (*RUNS, *QRELS),
    "similarity": (*RUNS, *QRELS, "--queries", "queries.tsv", "--train", "queries.tsv"),
}


@pytest.mark.parametrize("name", some(["table2", *(name for name in COMMANDS if name != "table2")], 1))
def test_every_table_comes_as_text_csv_json_and_latex(sample: Fire, name: str) -> None:
    arguments = COMMANDS[name]
    assert "----" in sample("report", name, *arguments).stdout
    assert r"\toprule" in sample("report", name, *arguments, "--format", "latex").stdout
    found = rows(sample("report", name, *arguments, "--format", "csv"))
    assert len(found) > 2
    assert len(json.loads(sample("report", name, *arguments, "--format", "json").stdout)) == len(found)


def test_table_1_is_in_the_form_of_the_paper(sample: Fire) -> None:
    text = sample("report", "table1", *RUNS, *QRELS).stdout
    assert "74.0 (39.0 + 35.0)" in text
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["C@1", "C@5", "C@10", "AP@20"]


def test_table_2_sums_up(sample: Fire) -> None:
    arguments = (*COMMANDS["table2"], "--queries", "queries.tsv", "--by", "level", "--format", "csv")
    found = rows(sample("report", "table2", *arguments))
    whole = found[0]
    assert int(whole["pairs"]) == int(whole["resolved"]) + int(whole["disagreement"])
    assert int(whole["resolved"]) == int(whole["relevant"]) + int(whole["irrelevant"])
    parts = [row for row in found if row["group"].startswith("dataset")]
    assert sum(int(row["pairs"]) for row in parts) == int(whole["pairs"])
    assert sum(row["group"].startswith("run ") for row in found) == 5


def test_table_4_takes_a_run_s_own_judgments_away(sample: Fire) -> None:
    for row in rows(sample("report", "table4", *COMMANDS["table4"], "--format", "csv")):
        assert float(row["original"]) <= float(row["new"]) <= float(row["all"])
        assert float(row["change"]) == float(row["new"]) - float(row["all"])


def test_augmented_qrels_are_needed(sample: Fire) -> None:
    assert "--augmented is needed" in sample("report", "table1", *RUNS, "--qrels", "qrels.txt", code=2).output


def test_honest_rows_of_a_workspace_are_of_its_runs_and_measures(sample: Fire) -> None:
    collection = '[collection]\nqueries = "queries.tsv"\nqrels = "qrels.txt"\n'
    Path("fire.toml").write_text(collection + '[score]\nmeasures = ["C@1", "AP@10"]\n')
    Path("pool").mkdir()
    for name in ("pool.csv", "pool_sources.csv", "manifest.json"):
        shutil.copy(name, Path("pool") / name)
    sample("augment")
    found = rows(sample("score", "--honest", "--format", "csv"))
    assert len(found) == 5 * 2
    assert {row["pooled"] for row in found} == {"yes"}
    assert Path("scores/honest.csv").is_file()
