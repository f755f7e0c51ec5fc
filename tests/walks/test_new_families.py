"""Sounds, segments, fashion, passages and news: from the benchmark's own files to scores, by numpy."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import rows, run

from examples import cases

GOLDEN = Path(__file__).parents[1] / "golden" / "collections"


@cases("case", "options", "guideline", "kind", few=2)
def test_from_files_to_scores(case: str, options: list[str], guideline: str, kind: str, here: Path) -> None:
    shutil.copytree(GOLDEN / case / "input", here / "downloads")
    lines = [line.split() for line in (GOLDEN / case / "expected/qrels.txt").read_text().splitlines()]
    positives = {(query, doc) for query, _, doc, grade in lines if int(grade) > 0}
    run("init", "--guideline", guideline)
    run("add-collection", "downloads", *options)
    docs = [row["doc_id"] for row in rows(Path("collection/items.tsv"), "\t")]
    queries = [row["query_id"] for row in rows(Path("collection/queries.tsv"), "\t")]
    scores = np.random.default_rng(3).random((len(queries), len(docs)))
    is_positive = np.array([[(query, doc) in positives for doc in docs] for query in queries])
    assert is_positive.any(axis=1).all()
    assert is_positive.sum() == len(positives)
    np.save("model.npy", scores)
    ids = ("--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv")
    run("add-run", "model.npy", *ids, "--orientation", "queries-rows")
    best = np.where(is_positive, scores, -1).max(axis=1)
    ranks = 1 + (scores > best[:, None]).sum(axis=1)
    printed = rows(run("score", "-m", "C@1", "-m", "C@2", "-m", "MedR", "--format", "csv"))
    found = {row["measure"]: float(row["value"]) for row in printed if row["query_id"] == "all"}
    expected = {"C@1": np.mean(ranks <= 1), "C@2": np.mean(ranks <= 2), "MedR": np.median(ranks)}
    assert found == pytest.approx(expected, abs=1e-9)
    run("pool", "--depth", "2")
    run("tasks")
    file = next(path for path in sorted(Path("tasks").rglob("*.json")) if "manifest" not in path.name)
    assert {"caption", kind, "pair_id"} <= {*json.loads(file.read_text())[0]["data"]}
