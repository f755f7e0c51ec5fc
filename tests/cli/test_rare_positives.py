"""Samples that hold few positives or none: the design decides what `score --honest` prints."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Fire, write_run

N = 60
COLUMNS = ("run_id", "measure", "estimate", "estimate_low", "estimate_high", "estimate_method")
FILES = ("a.run", "b.run", "--qrels", "o.txt")
BOTH = (*FILES, "--augmented", "out/qrels.txt", "--format", "json")
HONEST = ("score", "--honest", *BOTH)


@pytest.fixture
def runs(folder: Path) -> Path:
    """Two runs of ten docs a query, and each query's original positive, first in a and third in b."""
    for name, step in (("a", 1), ("b", 3)):
        docs = [f"d{(rank * step + (step - 1)) % 14}" for rank in range(10)]
        write_run(folder / f"{name}.run", dict.fromkeys([f"q{query:02}" for query in range(N)], docs))
    (folder / "o.txt").write_text("".join(f"q{query:02} 0 d0 1\n" for query in range(N)))
    (folder / "labels").mkdir()
    return folder


def judge(folder: Path, n_positive: int, stratum: str) -> int:
    """Label all pairs of the pool, the first so many of a stratum relevant; return how many it has."""
    pool = pd.read_csv(folder / "pool/pool.csv", dtype=str)
    relevance = np.zeros(len(pool), dtype=int)
    drawn = np.flatnonzero(pool["stratum"] == stratum)
    relevance[drawn[:n_positive]] = 1
    labels = pool[["query_id", "doc_id"]].assign(label="x", relevance=relevance)
    labels.to_csv(folder / "labels/labels.csv", index=False)
    return len(drawn)


def honest(fire: Fire, *measures: str) -> dict[tuple[str, str], dict[str, Any]]:
    options = [part for measure in measures for part in ("-m", measure)]
    augmented(fire)
    found = json.loads(fire(*HONEST, *options).stdout)
    return {(row["run_id"], row["measure"]): {name: row[name] for name in COLUMNS} for row in found}


def test_pairs_drawn_give_an_estimate_however_few_of_them_are_relevant(fire: Fire, runs: Path) -> None:
    fire("pool", *FILES, "--depth", 10, "--strategy", "strata(1:2:1,3:10:.4)", "--out", "pool")
    printed = []
    for n_positive in (0, 3, 9, 60):
        n_drawn = judge(runs, n_positive, "3:10:0.4")
        assert n_drawn > 100
        rows = honest(fire, "P@10", "P@2", "C@10")
        for run_id in "ab":
            row = rows[run_id, "P@10"]
            assert row["estimate_method"] == "Horvitz–Thompson"
            assert row["estimate_low"] < row["estimate_high"]
            assert row["estimate_low"] - 1e-9 <= row["estimate"] <= row["estimate_high"]
        if n_positive == 0:  # what was known and nothing more: one positive in ten a query
            assert rows["a", "P@10"]["estimate"] == pytest.approx(0.1)
            assert rows["a", "P@10"]["estimate_low"] == pytest.approx(0.1)
        printed.append({key: row["estimate_method"] for key, row in rows.items()})
        differ = fire("difference", *BOTH, "-m", "P@10")
        (row,) = [each for each in json.loads(differ.stdout) if each["qrels"] == "augmented"]
        assert row["estimate_low"] < row["estimate_high"]
        told = fire(*HONEST, "-m", "P@10", "-m", "P@2").stderr
        words = "estimates of P@10 rest on fewer than 15 positives that the draw brought; their intervals"
        assert [words in said for said in (told, differ.stderr)] == [n_positive < 15, True]
    assert printed[1:] == printed[:-1]


def augmented(fire: Fire) -> None:
    fire("augment", "--labels", "labels", "--pool", "pool", "--qrels", "o.txt", "--out", "out/qrels.txt")


def test_too_few_pairs_drawn_are_refused_however_many_of_them_are_relevant(fire: Fire, runs: Path) -> None:
    fire("pool", *FILES, "--depth", 10, "--strategy", "strata(1:2:1,3:10:.1)", "--out", "pool")
    for n_positive in (0, 30):
        assert judge(runs, n_positive, "3:10:0.1") < 100
        rows = honest(fire, "P@10", "P@2")
        why = "of the pairs in its top 10 were drawn by chance, and an interval needs 100; draw more pairs"
        assert why in str(rows["a", "P@10"]["estimate_method"])
        assert rows["a", "P@2"]["estimate_low"] == rows["a", "P@2"]["estimate_high"]  # ranks judged whole


def test_queries_judged_deep_give_an_estimate_whether_or_not_a_score_changes(fire: Fire, runs: Path) -> None:
    fire("pool", *FILES, "--depth", 2, "--deep-queries", 0.7, "--deep-depth", 10, "--out", "pool")
    for n_positive in (0, 1, 8, 200):
        assert judge(runs, n_positive, "deep") > 200
        rows = honest(fire, "R@10", "AP", "C@10")
        for key in (("a", "R@10"), ("a", "AP"), ("b", "AP")):
            assert rows[key]["estimate_method"] == "two-phase difference"
            assert rows[key]["estimate_low"] < rows[key]["estimate_high"]
        assert str(rows["a", "C@10"]["estimate_method"]).startswith("refused: the first positive decides it")
