"""Pools of five real runs (COCO captions, ECCV Caption's positives), beside pandas and known counts."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_qrels

pytestmark = pytest.mark.slow
PAIR = ["query_id", "doc_id"]


@pytest.fixture(scope="module")
def truth(coco_eccv: Path) -> Qrels:
    return read_qrels(coco_eccv / "qrels.eccv.txt")


@pytest.fixture(scope="module")
def runs(coco_eccv: Path) -> list[Run]:
    return [read_run(path, depth=50) for path in sorted((coco_eccv / "runs").glob("*.run.gz"))]


def test_unions_and_positives_by_depth_are_the_known_ones(runs: list[Run], truth: Qrels) -> None:
    positives = pd.MultiIndex.from_frame(truth.loc[truth["relevance"] >= 1, PAIR])
    pools = {depth: pool_runs(runs, depth=depth).pool for depth in (1, 5, 10, 20, 50)}
    n_pairs = {1: 4_338, 5: 19_036, 10: 35_595, 20: 66_318, 50: 149_998}
    assert {depth: len(pool) for depth, pool in pools.items()} == n_pairs
    found = {
        depth: int(pd.MultiIndex.from_frame(pools[depth][PAIR]).isin(positives).sum())
        for depth in (5, 10, 20, 50)
    }
    assert found == {5: 4_056, 10: 5_521, 20: 7_069, 50: 9_017}


def test_a_shallow_pool_makes_ap_and_ndcg_worse_than_the_original_labels(
    runs: list[Run], truth: Qrels, coco_eccv: Path
) -> None:
    """Mean absolute error over the runs, in points, of right labels; counted by another program."""
    original = read_qrels(coco_eccv / "qrels.orig.txt")
    measures = ["C@10", "P@10", "AP", "nDCG@10"]

    def values(qrels: Qrels) -> np.ndarray:
        scores = score_runs(runs, qrels, measures).scores
        return scores.pivot(index="measure", columns="run_id", values="value").loc[measures].to_numpy()

    def off(pool: pd.DataFrame) -> list[float]:
        known = pd.concat([original, truth.merge(pool[PAIR], on=PAIR)])[[*PAIR, "relevance"]]
        found = values(check_qrels(known.drop_duplicates(PAIR))) - values(truth)
        return (100 * np.abs(found).mean(axis=1)).round(1).tolist()

    assert off(original) == [38.3, 17.9, 7.9, 6.1]
    ten, most = (off(pool_runs(runs, depth=50, per_query=n).pool) for n in (10, 27))
    assert ten == pytest.approx([3.9, 4.7, 17.5, 17.8], abs=0.11)
    assert most == pytest.approx([0.2, 0.2, 13.0, 12.8], abs=0.11)
    assert off(pool_runs(runs, depth=10).pool) == [0.0, 0.0, 13.2, 13.4]


def test_a_judge_with_fusion_finds_twice_the_positives_of_fusion(runs: list[Run], truth: Qrels) -> None:
    """At 6 pairs a query; a calibrated judge of AUC .924, simulated."""
    whole = pool_runs(runs, depth=50).pool[PAIR]
    positive = whole.merge(truth[truth["relevance"] >= 1][PAIR].assign(is_positive=1.0), how="left")
    y = positive["is_positive"].fillna(0).to_numpy()
    gap, share = 1.4325 * 2**0.5, y.mean()
    shown = np.random.default_rng(18).normal(size=len(y)) + gap * y
    score = 1 / (1 + np.exp(gap**2 / 2 - gap * shown - np.log(share / (1 - share))))
    found = {}
    for strategy in ("rrf", "machine(judge=j)", "machine(judge=j,fusion=0)", "machine(judge=j,share=best)"):
        budget = {"budget": 6 * 1332} if "best" in strategy else {"per_query": 6}
        pool = pool_runs(runs, depth=50, strategy=strategy, machine=whole.assign(score=score), **budget).pool
        assert len(pool) == 6 * 1332
        found[strategy] = int(pool.merge(truth[truth["relevance"] >= 1]).shape[0])
    assert found["rrf"] == 2606
    # even shares: as many pairs of each query; `best`: 6 a query on average
    assert found["machine(judge=j,fusion=0)"] == pytest.approx(4400, rel=0.02)
    assert found["machine(judge=j)"] == pytest.approx(4950, rel=0.02)
    assert found["machine(judge=j,share=best)"] == pytest.approx(5280, rel=0.03)
