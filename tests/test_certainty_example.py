"""Comparison and certainty on whole benchmarks: the sample pool, and COCO captions where they are."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.inference import coverage, leave_out, scores_with_uncertainty
from fire_toolkit.pooling import pool_runs
from fire_toolkit.tables import Labels, Qrels, Run, check_labels, check_qrels

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_example_runs_on_the_sample_pool(tmp_path: Path) -> None:
    script = ROOT / "examples" / "certainty.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("$ fire-toolkit") == 19
    assert "74.0 (39.0 + 35.0)" in done.stdout


@pytest.fixture(scope="module")
def runs(coco_eccv: Path) -> list[Run]:
    return [read_run(path) for path in sorted((coco_eccv / "runs").glob("*.run.gz"))]


@pytest.fixture(scope="module")
def corrected(coco_eccv: Path) -> Qrels:
    return read_qrels(coco_eccv / "qrels.eccv.txt")


def labelled(pairs: pd.DataFrame, corrected: Qrels) -> Labels:
    found = pairs[["query_id", "doc_id"]].merge(corrected, on=["query_id", "doc_id"], how="left")
    relevance = (found["relevance"] >= 1).astype(int)
    return check_labels(found[["query_id", "doc_id"]].assign(label="x", relevance=relevance))


def test_the_true_score_of_a_run_that_was_not_pooled_lies_within_its_bounds(
    coco_eccv: Path, runs: list[Run], corrected: Qrels
) -> None:
    original = read_qrels(coco_eccv / "qrels.orig.txt")
    pooling = pool_runs(runs[:-1], depth=10, originals=original)
    labels = labelled(pooling.pool, corrected)
    found = scores_with_uncertainty(
        runs, original, labels, ["C@1", "C@5", "C@10"], sources=pooling.sources
    ).scores
    assert found["pooled"].tolist() == ["yes"] * 12 + ["no"] * 3
    new = found[found["pooled"] == "no"].set_index("measure")
    # The whole corrected qrels give tfidf_word_sum .4039, .7665 and .8634 (the README of the data set).
    for measure, truth in (("C@1", 0.4039), ("C@5", 0.7665), ("C@10", 0.8634)):
        assert new.loc[measure, "augmented"] <= truth + 5e-5
        assert new.loc[measure, "lower"] - 5e-5 <= truth <= new.loc[measure, "upper"] + 5e-5
    pooled = found[found["pooled"] == "yes"]
    assert (pooled["lower"] == pooled["upper"]).all()


def test_judging_what_coverage_names_gives_the_true_score(
    coco_eccv: Path, runs: list[Run], corrected: Qrels
) -> None:
    original = read_qrels(coco_eccv / "qrels.orig.txt")
    pooling = pool_runs(runs[:-1], depth=10, originals=original)
    first = labelled(pooling.pool, corrected)
    augmented, _ = augment_qrels(original, first)
    asked = coverage(runs[-1], original, augmented, ["C@10"])
    pairs = pd.concat([first[["query_id", "doc_id"]], asked.pairs[["query_id", "doc_id"]]])
    settled, _ = augment_qrels(original, labelled(pairs.drop_duplicates(), corrected))
    row = coverage(runs[-1], original, settled, ["C@10"]).summary.iloc[0]
    assert (row["n_open"], round(row["augmented"], 4)) == (0, 0.8634)


def test_leaving_a_run_out_is_pooling_the_others(coco_eccv: Path, runs: list[Run], corrected: Qrels) -> None:
    """The pool made anew without lsa300, its pairs labelled alike, gives the scores of leaving it out."""
    original = read_qrels(coco_eccv / "qrels.orig.txt")
    whole = pool_runs(runs, depth=10, originals=original)
    augmented, _ = augment_qrels(original, labelled(whole.pool, corrected))
    measures = ["C@10", "nDCG@10", "bpref"]
    found = leave_out(runs, original, augmented, measures, sources=whole.sources).scores
    others = pool_runs(
        [run for run in runs if run["run_id"].iloc[0] != "lsa300"], depth=10, originals=original
    )
    anew, _ = augment_qrels(original, labelled(others.pool, corrected))
    again = leave_out(runs, original, check_qrels(anew), measures, sources=others.sources).scores
    expected = again[again["left_out"] == "bm25"].set_index(["measure", "run_id"])["all"]
    without = found[found["left_out"] == "lsa300"].set_index(["measure", "run_id"])["without"]
    assert expected.to_dict() == pytest.approx(without.to_dict(), abs=1e-12)
