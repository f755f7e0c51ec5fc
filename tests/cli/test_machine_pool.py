"""`pool --strategy machine` to `score --honest`: the sample travels, and a shared backbone is said."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Fire

N = 60
POOL = ("pool", "--depth", "4", "--strategy", "machine(judge=j, random=170)", "--budget", "210")
SCORE = ("score", "--honest", "-m", "P@4")


@pytest.fixture
def judged(fire: Fire, folder: Path) -> Path:
    """Return a workspace whose pool was drawn by a judge's score, with labels of all of its pairs."""
    assert fire("init", ".").exit_code == 0
    rng = np.random.default_rng(2)
    pairs = pd.DataFrame(
        [(f"q{q}", f"d{d}") for q in range(N) for d in range(8)], columns=["query_id", "doc_id"]
    )
    for place in ("collection", "runs", "machine/j", "labels"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    ids = sorted(pairs["query_id"].unique())
    (folder / "collection/queries.tsv").write_text("query_id\ttext\n" + "".join(f"{q}\ta cat\n" for q in ids))
    (folder / "collection/qrels.txt").write_text("".join(f"{q} 0 d0 1\n" for q in ids))
    for name in ("a", "b"):
        table = pairs.assign(score=rng.random(len(pairs)))
        lines = [f"{q} Q0 {d} 1 {s:.6f} {name}\n" for q, d, s in table.itertuples(index=False)]
        (folder / f"runs/{name}.run").write_text("".join(lines))
    positive = rng.random(len(pairs)) < 0.5
    answers = pairs.assign(judge_id="j", score=np.where(positive, 0.8, 0.3), backbone="clip")
    answers.to_csv(folder / "machine/j/machine.csv", index=False)
    (folder / "fire.toml").write_text('[runs.a]\nbackbone = "bm25"\n[runs.b]\nbackbone = "CLIP"\n')
    assert fire(*POOL).exit_code == 0
    found = pd.read_csv(folder / "pool/pool.csv", dtype=str)
    known = pairs.assign(relevance=positive.astype(int), label="x")
    found[["query_id", "doc_id"]].merge(known).to_csv(folder / "labels/labels.csv", index=False)
    return folder


def test_the_sample_stands_beside_the_qrels_and_a_shared_backbone_is_said(fire: Fire, judged: Path) -> None:
    sample = (judged / "pool/machine_sample.csv").read_bytes()
    assert fire("augment").exit_code == 0
    assert (judged / "augmented/machine_sample.csv").read_bytes() == sample
    # strata of the sample are no strata of the qrels: other labels stand among them
    assert {len(line.split()) for line in (judged / "augmented/qrels.txt").read_text().splitlines()} == {4}
    shown = fire(*SCORE)
    assert "judge j may share errors with b (judge j and run b share the backbone clip)" in shown.stderr
    (judged / "fire.toml").write_text('[runs.b]\nbackbone = "Vicuna, CLIP"\n')
    assert "with a, b (the backbone of run a is not named)" in fire(*SCORE).stderr
    answers = pd.read_csv(judged / "machine/j/machine.csv").drop(columns="backbone")
    answers.to_csv(judged / "machine/j/machine.csv", index=False)
    assert "out of date: augment (machine/j/machine.csv has changed)" in fire(*SCORE).stderr
    assert fire("augment").exit_code == 0
    assert "with a, b (the backbone of judge j is not named)" in fire(*SCORE).stderr
    rows = {row["run_id"]: row for row in json.loads(fire(*SCORE, "--format", "json").stdout)}
    assert {row["estimate_method"] for row in rows.values()} == {"prediction-powered, judge j"}


def test_an_unknown_judge_is_named(fire: Fire, judged: Path) -> None:
    pool = ("pool", "--strategy", "machine(judge=k)", "--per-query", "2")
    other = fire(*pool, code=1)
    assert "judge 'k': no machine/k; run `machine run` or `machine import`" in other.stderr
    (judged / "machine/j").rename(judged / "machine/k")
    named = fire(*pool, code=1)
    assert "no answer of a judge 'k', found 'j'" in named.stderr
