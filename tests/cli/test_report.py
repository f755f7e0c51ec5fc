"""The tables of the FIRE paper, made of the sample pool."""

import json
import shutil
from pathlib import Path

import pytest
from command import Fire, rows

RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
QRELS = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")


SUMMED = ("--judgments", "judgments.csv", "--pool-sources", "pool_sources.csv")


@pytest.mark.parametrize("words", [("table2", *SUMMED), ("table3", *RUNS)], ids=["table2", "table3"])
def test_every_table_comes_as_text_csv_json_and_latex(sample: Fire, words: tuple[str, ...]) -> None:
    """Those of other words are held beside the commands on scores."""
    assert "----" in sample("report", *words).stdout
    assert r"\toprule" in sample("report", *words, "--format", "latex").stdout
    found = rows(sample("report", *words, "--format", "csv"))
    assert len(found) > 2
    assert len(json.loads(sample("report", *words, "--format", "json").stdout)) == len(found)


def test_table_1_is_in_the_form_of_the_paper(sample: Fire) -> None:
    text = sample("report", "table1", *RUNS, *QRELS).stdout
    assert "74.0 (39.0 + 35.0)" in text
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["C@1", "C@5", "C@10", "AP@20"]


def test_table_2_sums_up(sample: Fire) -> None:
    arguments = (*SUMMED, "--queries", "queries.tsv", "--by", "level", "--format", "csv")
    found = rows(sample("report", "table2", *arguments))
    whole = found[0]
    assert int(whole["pairs"]) == int(whole["resolved"]) + int(whole["disagreement"])
    assert int(whole["resolved"]) == int(whole["relevant"]) + int(whole["irrelevant"])
    parts = [row for row in found if row["group"].startswith("dataset")]
    assert sum(int(row["pairs"]) for row in parts) == int(whole["pairs"])
    assert sum(row["group"].startswith("run ") for row in found) == 5


def test_table_4_takes_a_run_s_own_judgments_away(sample: Fire) -> None:
    words = (*RUNS, *QRELS, "--pool-sources", "pool_sources.csv", "--format", "csv")
    for row in rows(sample("report", "table4", *words)):
        assert float(row["original"]) <= float(row["new"]) <= float(row["all"])
        assert float(row["change"]) == float(row["new"]) - float(row["all"])


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
