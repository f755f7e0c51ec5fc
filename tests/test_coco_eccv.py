"""The whole loop, its certainty and what designs cost, on COCO captions with known positives (ECCV)."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from planned import planned

from examples import cases
from fire_toolkit import score
from fire_toolkit.arrays import Bools
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.inference.bounds import coverage
from fire_toolkit.inference.honest import scores_with_uncertainty
from fire_toolkit.inference.leave_out import leave_out
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.outcomes import Cost, Outcome
from fire_toolkit.planning.relevance import Truths
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.results import Found
from fire_toolkit.tables import Labels, Qrels, Run, check_labels
from fire_toolkit.tables.columns import PAIR, pair_rows

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


@pytest.fixture(scope="module")
def original(coco_eccv: Path) -> Qrels:
    return read_qrels(coco_eccv / "qrels.orig.txt")


@pytest.fixture(scope="module")
def eccv(coco_eccv: Path) -> Qrels:
    return read_qrels(coco_eccv / "qrels.eccv.txt")


def output_of(folder: Path, *words: object) -> str:
    """Return what an example prints."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_scores_equal_trec_eval_s_to_four_decimals(runs: list[Run], original: Qrels, eccv: Qrels) -> None:
    scores = score(runs, original, eccv, measures=MEASURES).scores
    found = scores.set_index(["run_id", "qrels", "measure"])["value"]
    for (run_id, name), values in EXPECTED.items():
        rounded = tuple(round(float(found[run_id, name, measure]), 4) for measure in MEASURES)
        assert values == rounded, (run_id, name)


def test_the_pool_has_35595_pairs_of_which_5521_are_relevant(runs: list[Run], eccv: Qrels) -> None:
    pool = pool_runs(runs, depth=10).pool
    assert len(pool) == 35_595
    assert len(pool.merge(eccv.loc[eccv["relevance"] >= 1, PAIR])) == 5_521


def test_the_loop_gives_exactly_original_and_pooled_relevant_pairs(coco_eccv: Path, tmp_path: Path) -> None:
    printed = output_of(tmp_path, ROOT / "examples" / "coco_eccv.py", coco_eccv, tmp_path)
    assert printed.startswith("35,595 pairs judged; the 5,847 positives are original ∪")


def test_the_example_runs_on_the_sample_pool(tmp_path: Path) -> None:
    printed = output_of(tmp_path, ROOT / "examples" / "certainty.py")
    assert printed.count("$ fire-toolkit") == 19
    assert "74.0 (39.0 + 35.0)" in printed


@pytest.fixture(scope="module")
def pooling(runs: list[Run], original: Qrels) -> Found:
    """The pool of all runs but tfidf_word_sum."""
    return pool_runs(runs[:-1], depth=10, originals=original)


def labelled(pairs: pd.DataFrame, eccv: Qrels) -> Labels:
    found = pairs[PAIR].merge(eccv, on=PAIR, how="left")
    relevance = (found["relevance"] >= 1).astype(int)
    return check_labels(found[PAIR].assign(label="x", relevance=relevance))


def test_the_true_score_of_a_run_that_was_not_pooled_lies_within_its_bounds(
    runs: list[Run], original: Qrels, eccv: Qrels, pooling: Found
) -> None:
    labels, names = labelled(pooling.pool, eccv), ["C@1", "C@5", "C@10"]
    found = scores_with_uncertainty(runs, original, labels, names, sources=pooling.pool_sources).scores
    assert found["pooled"].tolist() == ["yes"] * 12 + ["no"] * 3
    new = found[found["pooled"] == "no"].set_index("measure")
    for measure, truth in zip(names, EXPECTED["tfidf_word_sum", "augmented"], strict=False):
        assert new.loc[measure, "augmented"] <= truth + 5e-5
        assert new.loc[measure, "lower"] - 5e-5 <= truth <= new.loc[measure, "upper"] + 5e-5
    pooled = found[found["pooled"] == "yes"]
    assert (pooled["lower"] == pooled["upper"]).all()


def test_judging_what_coverage_names_gives_the_true_score(
    runs: list[Run], original: Qrels, eccv: Qrels, pooling: Found
) -> None:
    first = labelled(pooling.pool, eccv)
    augmented, _ = augment_qrels(original, first)
    asked = coverage(runs[-1], original, augmented, ["C@10"])
    pairs = pd.concat([first[PAIR], asked.pairs[PAIR]])
    settled, _ = augment_qrels(original, labelled(pairs.drop_duplicates(), eccv))
    row = coverage(runs[-1], original, settled, ["C@10"]).summary.iloc[0]
    assert (row["n_open"], round(row["augmented"], 4)) == (0, 0.8634)


def test_leaving_a_run_out_is_pooling_the_others(runs: list[Run], original: Qrels, eccv: Qrels) -> None:
    """The pool made anew without lsa300, its pairs labelled alike, gives the scores of leaving it out."""

    def scores(pooled: list[Run]) -> pd.DataFrame:
        whole = pool_runs(pooled, depth=10, originals=original)
        augmented, _ = augment_qrels(original, labelled(whole.pool, eccv))
        measures = ["C@10", "nDCG@10", "bpref"]
        found = leave_out(runs, original, augmented, measures, sources=whole.pool_sources).scores
        return found.set_index(["measure", "run_id"])

    found, again = scores(runs), scores([run for run in runs if run["run_id"].iloc[0] != "lsa300"])
    expected = again.loc[again["left_out"] == "bm25", "all"].to_dict()
    without = found.loc[found["left_out"] == "lsa300", "without"].to_dict()
    assert expected == pytest.approx(without, abs=1e-12)


pytestmark = pytest.mark.slow
BM25, CHAR, WORD = 0, 2, 3  # places among the runs by name


@pytest.fixture(scope="module")
def lists(runs: list[Run], original: Qrels) -> Lists:
    return lists_of(runs, original, depth=50, most_queries=2000, seed=0)


@pytest.fixture(scope="module")
def truth(lists: Lists, eccv: Qrels) -> Bools:
    positives = eccv.loc[eccv["relevance"] >= 1, PAIR].reset_index(drop=True)
    return pair_rows(lists.pairs, positives) >= 0


def simulated(
    lists: Lists, truth: Bools, design: Design, names: list[str], rates: tuple[float, float]
) -> tuple[Cost, dict[tuple[str, str], Outcome]]:
    """Return a design's cost and outcomes, by measure and estimate, where the truth is known."""
    positive = (truth | lists.is_original)[lists.best_rank <= design.depth]
    truths = Truths(np.tile(positive, (4, 1)), np.tile(np.reshape(rates, (2, 1, 1)), (1, 4, 1)))
    return planned(lists.top(design.depth), lists, design, truths, *names, seed=3)


def test_pairs_and_positives_by_depth(lists: Lists, truth: Bools) -> None:
    found = [lists.best_rank <= depth for depth in (1, 5, 10, 20)]
    assert [int(pool.sum()) for pool in found] == [4_338, 19_036, 35_595, 66_318]
    within = [lists.best_rank <= depth for depth in (5, 10, 20, 50)]
    assert [int(truth[pool].sum()) for pool in within] == [4_056, 5_521, 7_069, 9_017]


# Simulated apart from this project: cost, bias of C@10 and of C@1, the gap bm25 − tfidf_word (true .186).
@cases("policy", "cost", "c_10", "c_1", "gap")
def test_votes_that_err(
    policy: str, cost: float, c_10: float, c_1: float, gap: float, lists: Lists, truth: Bools
) -> None:
    design = Design(depth=10, policy=policy, overlap=0)
    spent, found = simulated(lists, truth, design, ["C@1", "C@10"], (0.92, 0.04))
    assert spent.n_judgments / spent.n_pairs == pytest.approx(cost, abs=0.01)
    by_labels = found["C@10", "labelled"].bias[0]
    assert found["C@1", "labelled"].bias[0].mean() == pytest.approx(c_1, abs=0.004)
    assert by_labels.mean() == pytest.approx(c_10, abs=0.004)
    assert 0.186 + by_labels[BM25] - by_labels[WORD] == pytest.approx(gap, abs=0.008)


# Corrected for errors of votes, rates from the votes: RMSE of C@1, C@5, C@10, P@10, simulated apart.
@cases("policy", "overlap", "rmse")
def test_corrected_scores(policy: str, overlap: float, rmse: list[float], lists: Lists, truth: Bools) -> None:
    names = ["C@1", "C@5", "C@10", "P@10"]
    design = Design(depth=10, policy=policy, overlap=overlap)
    _, found = simulated(lists, truth, design, names, (0.92, 0.04))
    of = [found[name, "corrected"] for name in names]
    assert [float(np.sqrt((each.noise**2).mean())) for each in of] == pytest.approx(rmse, abs=0.0015)
    assert max(float(np.abs(each.bias).max()) for each in of) < 1e-9


# 9,143 where the order changes with each answer; settled scores are exact.
def test_settling_c_10_asks_a_quarter(lists: Lists, truth: Bools) -> None:
    designs = [Design(k, "verify", is_settled=True, overlap=0) for k in (1, 5, 10)]
    asked = [simulated(lists, truth, design, ["C@1"], (1.0, 0.0))[0].n_pairs for design in designs]
    assert asked == pytest.approx([3_798, 7_624, 9_143], rel=0.005)


# Judged to rank 50, a tenth of the queries: 11.4 thousand pairs beside the depth-10 pool.
def test_a_tenth_of_the_queries_judged_deep(lists: Lists, truth: Bools) -> None:
    cost, found = simulated(lists, truth, Design(10, n_deep=133), ["C@10"], (0.92, 0.04))
    assert cost.n_pairs - 35_595 == pytest.approx(11_400, rel=0.01)
    assert set(found) == {("C@10", "labelled"), ("C@10", "corrected")}


# RMSE of the difference bm25 − tfidf_char for 9,950 judgments, queries drawn from many like them.
@pytest.mark.parametrize(("depth", "n_queries", "rmse"), [(10, 372, 0.0149)])
def test_a_sample_of_queries(depth: int, n_queries: int, rmse: float, lists: Lists, truth: Bools) -> None:
    design = Design(depth=depth, overlap=0, queries=n_queries / 1332)
    _, found = simulated(lists, truth, design, ["C@10"], (1.0, 0.0))
    spread = found["C@10", "labelled"].spread[1]  # bm25 and tfidf_char are the second pair
    assert spread / np.sqrt(n_queries) == pytest.approx(rmse, rel=0.1)


def test_the_example_prints_what_holds(coco_eccv: Path, tmp_path: Path) -> None:
    printed = output_of(tmp_path, ROOT / "examples" / "plan_coco.py", coco_eccv, "2", "4")
    lines = [line.split() for line in printed.splitlines()]
    assert [line[0] for line in lines[1:]] == ["C@1", "C@10", "P@10"]
    assert all(0 <= float(line[-1].rstrip("%")) <= 100 for line in lines[1:])
