"""The tables of the FIRE paper, made of the sample pool, and its paragraphs from a workspace's files."""

import json
import shutil
from pathlib import Path

import pytest
from command import Fire, rows
from exports import answered

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


def test_table_1_has_the_form_of_the_paper_and_table_4_takes_own_judgments_away(sample: Fire) -> None:
    text = sample("report", "table1", *RUNS, *QRELS).stdout
    assert "74.0 (39.0 + 35.0)" in text
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["C@1", "C@5", "C@10", "AP@20"]
    words = (*RUNS, *QRELS, "--pool-sources", "pool_sources.csv")
    assert sample("report", "table4", *words).stdout.splitlines()[2].split()[3:5] == ["39.0", "74.0"]
    for row in rows(sample("report", "table4", *words, "--format", "csv")):
        assert float(row["original"]) <= float(row["new"]) <= float(row["all"])
        assert float(row["change"]) == float(row["new"]) - float(row["all"])


def test_table_2_sums_up(sample: Fire) -> None:
    arguments = (*SUMMED, "--queries", "queries.tsv", "--by", "level", "--format", "csv")
    found = rows(sample("report", "table2", *arguments))
    whole = found[0]
    assert int(whole["pairs"]) == int(whole["resolved"]) + int(whole["disagreement"])
    assert int(whole["resolved"]) == int(whole["relevant"]) + int(whole["irrelevant"])
    parts = [row for row in found if row["group"].startswith("dataset")]
    assert sum(int(row["pairs"]) for row in parts) == int(whole["pairs"])
    assert sum(row["group"].startswith("run ") for row in found) == 5


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


def answer_all(root: Path) -> int:
    """Two people answer every task, the second one skips the first; return how many tasks there are."""
    for person in (1, 2):
        said = lambda _, doc, n=person: "relevant" if (ord(doc[0]) + n) % 3 else "irrelevant"  # noqa: E731
        how = {"account": person, "at": f"2026-0{person}-01T00:00:00Z", "lead_time": 4.0}
        found = answered(root / "tasks/tasks.json", said, **how)
        found[0]["annotations"][0]["was_cancelled"] = person == 2
        (root / f"exports/{person}.json").write_text(json.dumps(found))
    return len(found)


def test_paragraphs_come_from_manifests_judgments_and_settings(fire: Fire, workspace: Path) -> None:
    text = (workspace / "fire.toml").read_text()
    (workspace / "fire.toml").write_text(text.replace('pay = ""', 'pay = "Paid 14 & more an hour"'))
    fire("pool")
    fire("tasks")
    n = answer_all(workspace)
    for command in ("import", "resolve", "augment"):
        fire(command)
    found = fire("report", "methods")
    pairs = json.loads((workspace / "pool/manifest.json").read_text())["counts"]["pairs"]
    assert f"from the top 10 of 2 runs: {pairs:,} pairs of 2 queries" in found.stdout
    assert f"2 annotators gave {2 * n - 1} judgments of {n} pairs" in found.stdout
    assert "They worked from 2026-01-01 to 2026-02-01." in found.stdout
    assert "4.0 seconds in the median" in found.stdout
    assert f"First answers gave 1 pair one vote and {n - 1} two or more" in found.stdout
    assert "1 answer did not count: 1 skipped." in found.stdout
    assert "Krippendorff's alpha is " in found.stdout
    assert "Share of positive votes is 0." in found.stdout
    assert "Labels are by rule fire" in found.stdout
    assert "under policy union" in found.stdout
    assert "enter neither" not in found.stdout
    fire("resolve", "--exclude", "2", "--reason", "failed the controls")
    without = fire("report", "methods").stdout
    assert "The answers of annotator 2 enter neither agreement nor labels (failed the controls)." in without
    assert f"2 annotators gave {2 * n - 1} judgments of {n} pairs" in without
    assert f"First answers gave {n} pairs one vote and 0 two or more" in without
    assert "[recruitment: not stated]" in found.stdout
    assert "not stated: recruitment, qualification, consent, ethics;" in found.stderr
    paper = fire("report", "methods", "--format", "latex").stdout
    assert paper.count("\\paragraph{") == 6
    assert "Paid 14 \\& more an hour." in paper


def test_a_workspace_in_which_nothing_was_done_has_blanks(fire: Fire, workspace: Path) -> None:
    found = fire("report", "methods")
    for name in ("pool", "judgments", "exclusions", "agreement", "rule", "policy"):
        assert f"[{name}: not stated]" in found.stdout
