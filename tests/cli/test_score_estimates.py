"""`score` where queries were judged deep: the estimate beside the score, and what is said below it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Fire, write_run

ORIGINAL = ("--qrels", "o.txt")
N = 80


@pytest.fixture
def deep(fire: Fire, folder: Path) -> Path:
    """Two docs a query, the first judged for all, the second for every other query, and their qrels."""
    queries, numbers = [f"q{number:02}" for number in range(N)], np.arange(N)
    first = pd.DataFrame({"query_id": queries, "doc_id": "a", "stratum": "shallow", "relevance": 0})
    second = first.assign(doc_id="b", stratum="deep", relevance=(numbers % 3 < 2).astype(int))[::2]
    pairs = pd.concat([first.assign(relevance=(numbers % 4 < 2).astype(int)), second])
    drawn = {"shallow": 1.0, "deep": 0.5}
    pairs = pairs.assign(label="x", inclusion_probability=pairs["stratum"].map(drawn), run_id="m", rank=1)
    design = pd.DataFrame({"query_id": queries, "depth": [2, 1] * 40, "is_sampled": [True, False] * 40})
    (folder / "pool").mkdir()
    (folder / "labels").mkdir()
    for place, table, columns in (
        ("pool/pool", pairs, ["stratum", "inclusion_probability"]),
        ("pool/pool_sources", pairs, ["run_id", "rank"]),
        ("labels/labels", pairs, ["label", "relevance"]),
    ):
        table[["query_id", "doc_id", *columns]].to_csv(folder / f"{place}.csv", index=False)
    design = design.assign(inclusion_probability=0.5, seed=0)
    design.to_csv(folder / "pool/query_design.csv", index=False)
    (folder / "o.txt").write_text("".join(f"{query} 0 c 1\n" for query in queries) + "q00 0 a 1\n")
    write_run(folder / "m.run", dict.fromkeys(queries, "ab"))
    fire("augment", "--labels", "labels", *ORIGINAL, "--out", "qrels/qrels.txt")
    return folder


def test_score_honest_shows_and_keeps_the_estimate_beside_the_score(fire: Fire, deep: Path) -> None:
    fire("augment", "--labels", "labels", "--pool", "pool", *ORIGINAL, "--out", "deep/qrels.txt")
    files = (*ORIGINAL, "--augmented", "deep/qrels.txt")
    honest = ("score", "m.run", "--honest", *files, "-m", "R@1")
    shown = fire(*honest)
    assert shown.stdout.splitlines()[0].split()[-3:] == ["est.", "never", "judged"]
    assert "note: est.: of the depth-2 union; 40 of 80 queries judged deep" in shown.stderr
    printed = fire(*honest, "-m", "C@1", "--format", "latex").stdout
    assert "% note: est. of R@1: of the depth-2 union; 40 of 80 queries judged deep" in printed
    row = json.loads(fire(*honest, "--format", "json").stdout)[0]
    assert row["estimate_method"] == "two-phase difference"
    assert row["estimate_low"] < row["estimate"] < row["estimate_high"] < row["augmented"]
    assert f"{100 * row['estimate']:.1f} (" in shown.stdout
    assert f"{100 * row['augmented']:.1f} (" in shown.stdout


def test_score_says_below_the_table_by_how_much_a_measure_is_off(fire: Fire, deep: Path) -> None:
    both = ("score", "m.run", *ORIGINAL, "--augmented", "qrels/qrels.txt")
    unknown = "R@1: relevant docs that nobody judged push it up, wrong new positives push it down"
    assert f"note: {unknown}" in fire(*both, "-m", "R@1", "-m", "C@1").stderr
    assert "% note: R@1: relevant docs" in fire(*both, "-m", "R@1", "--format", "latex").stdout
    for safe in (fire(*both, "-m", "C@1"), fire("score", "m.run", *ORIGINAL, "-m", "R@1")):
        assert "never pooled" not in safe.stderr + safe.stdout
    fire("augment", "--labels", "labels", "--pool", "pool", *ORIGINAL, "--out", "qrels/qrels.txt")
    known = fire(*both, "-m", "R@1", "--format", "markdown").stdout
    assert "\nNote: R@1: about 31% of positives (" in known
    assert "by these labels R@1 is too high by an estimated" in known
    (deep / "qrels/evidence.csv").unlink()
    refused = fire(*both, "-m", "R@1", code=1)
    assert "error: qrels/evidence.csv: no such file, and scores read it beside qrels" in refused.stderr


def test_a_printed_table_of_differences_says_what_the_estimate_is_of(fire: Fire, deep: Path) -> None:
    fire("augment", "--labels", "labels", "--pool", "pool", *ORIGINAL, "--out", "deep/qrels.txt")
    write_run(deep / "n.run", {f"q{number:02}": "ba" for number in range(N)})
    both = ("difference", "m.run", "n.run", *ORIGINAL, "--augmented", "deep/qrels.txt", "-m", "R@1")
    shown = fire(*both, "--format", "latex").stdout
    assert "est. a - b" in shown.splitlines()[2]
    assert "% note: est. a - b: from the queries judged deep" in shown
