"""The whole loop on COCO captions whose corrected positives are known (ECCV Caption)."""

import subprocess
import sys
from pathlib import Path

import pytest

from fire_toolkit import score
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.pooling import pool_runs
from fire_toolkit.tables import Run

ROOT = Path(__file__).resolve().parent.parent
MEASURES = ["C@1", "C@5", "C@10", "R@10", "AP@50", "nDCG@10"]
# Means over all 1,332 queries, computed with pytrec_eval (the README of the data set has the table).
EXPECTED = {
    ("bm25", "original"): (0.3491, 0.5841, 0.7012, 0.7012, 0.4590, 0.5097),
    ("bm25", "augmented"): (0.6562, 0.9242, 0.9602, 0.3807, 0.3411, 0.4353),
    ("tfidf_char", "original"): (0.2447, 0.4489, 0.5593, 0.5593, 0.3469, 0.3883),
    ("tfidf_char", "augmented"): (0.5075, 0.8326, 0.9032, 0.2980, 0.2538, 0.3387),
    ("tfidf_word_sum", "original"): (0.1441, 0.3431, 0.4422, 0.4422, 0.2421, 0.2786),
    ("tfidf_word_sum", "augmented"): (0.4039, 0.7665, 0.8634, 0.2695, 0.2218, 0.2975),
    ("lsa300", "original"): (0.0571, 0.1952, 0.3131, 0.3131, 0.1373, 0.1653),
    ("lsa300", "augmented"): (0.3821, 0.7290, 0.8318, 0.2752, 0.2335, 0.2963),
    ("tfidf_word", "original"): (0.1471, 0.3026, 0.4024, 0.4024, 0.2310, 0.2609),
    ("tfidf_word", "augmented"): (0.3446, 0.6674, 0.7740, 0.2038, 0.1614, 0.2314),
}


@pytest.fixture(scope="module")
def runs(coco_eccv: Path) -> list[Run]:
    return [read_run(path) for path in sorted((coco_eccv / "runs").glob("*.run.gz"))]


def test_scores_equal_those_of_trec_eval_to_four_decimals(runs: list[Run], coco_eccv: Path) -> None:
    qrels = [read_qrels(coco_eccv / f"qrels.{name}.txt") for name in ("orig", "eccv")]
    scores = score(runs, qrels[0], qrels[1], measures=MEASURES).scores
    found = scores.set_index(["run_id", "qrels", "measure"])["value"]
    for (run_id, name), values in EXPECTED.items():
        rounded = tuple(round(float(found[run_id, name, measure]), 4) for measure in MEASURES)
        assert values == rounded, (run_id, name)


def test_the_pool_has_35595_pairs_of_which_5521_are_relevant(runs: list[Run], coco_eccv: Path) -> None:
    pool = pool_runs(runs, depth=10).pool
    assert len(pool) == 35_595
    eccv = read_qrels(coco_eccv / "qrels.eccv.txt")
    relevant = eccv.loc[eccv["relevance"] >= 1, ["query_id", "doc_id"]]
    assert len(pool.merge(relevant)) == 5_521


@pytest.mark.slow
def test_the_loop_gives_exactly_original_and_pooled_relevant_pairs(coco_eccv: Path, tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "examples" / "coco_eccv.py", coco_eccv, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("35,595 pairs judged; the 5,847 positives are original ∪")
