"""A plan's parts beside what is known of COCO captions and ECCV Caption's positives."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fire_toolkit import read_qrels, read_run
from fire_toolkit.arrays import Bools
from fire_toolkit.measures import parse_measures
from fire_toolkit.planning.answers import answer, draw_votes
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.relevance import RelevanceModel
from fire_toolkit.planning.simulate import Outcome, simulate
from fire_toolkit.tables.columns import PAIR, pair_rows

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
BM25, CHAR, WORD = 0, 2, 3  # places among the runs by name


@pytest.fixture(scope="module")
def lists(coco_eccv: Path) -> Lists:
    runs = [read_run(path) for path in sorted((coco_eccv / "runs").glob("*.run.gz"))]
    return lists_of(runs, read_qrels(coco_eccv / "qrels.orig.txt"), depth=50, most_queries=2000, seed=0)


@pytest.fixture(scope="module")
def truth(lists: Lists, coco_eccv: Path) -> Bools:
    eccv = read_qrels(coco_eccv / "qrels.eccv.txt")
    positives = eccv.loc[eccv["relevance"] >= 1, PAIR].reset_index(drop=True)
    return pair_rows(lists.pairs, positives) >= 0


def simulated(
    lists: Lists, truth: Bools, designs: list[Design], names: list[str], rates: tuple[float, float]
) -> list[Outcome]:
    model = RelevanceModel(0.0, np.zeros(5), true_positive_rate=rates[0], false_positive_rate=rates[1])
    return simulate(lists, designs, parse_measures(names), model, n_repeats=10, seed=3, truth=truth)


def test_pairs_and_positives_by_depth(lists: Lists, truth: Bools) -> None:
    found = [lists.best_rank <= depth for depth in (1, 5, 10, 20)]
    assert [int(pool.sum()) for pool in found] == [4_338, 19_036, 35_595, 66_318]
    within = [lists.best_rank <= depth for depth in (5, 10, 20, 50)]
    assert [int(truth[pool].sum()) for pool in within] == [4_056, 5_521, 7_069, 9_017]


# Simulated apart from this project: cost, bias of C@10 and of C@1, the gap bm25 − tfidf_word (true .186).
@pytest.mark.parametrize(
    ("policy", "cost", "c_10", "c_1", "gap"),
    [
        ("one", 1.0, 0.038, 0.001, 0.130),
        ("verify", 1.22, -0.006, -0.022, 0.193),
        ("until-confirmed", 1.08, -0.006, -0.022, 0.193),
        ("doubled", 2.09, 0.004, -0.002, 0.181),
    ],
)
def test_votes_that_err(
    policy: str, cost: float, c_10: float, c_1: float, gap: float, lists: Lists, truth: Bools
) -> None:
    design = Design(depth=10, policy=policy, overlap=0)
    (found,) = simulated(lists, truth, [design], ["C@1", "C@10"], (0.92, 0.04))
    assert found.n_votes / found.n_asked == pytest.approx(cost, abs=0.01)
    assert found.bias[:2].mean(axis=1) == pytest.approx([c_1, c_10], abs=0.004)
    assert 0.186 + found.bias[1, BM25] - found.bias[1, WORD] == pytest.approx(gap, abs=0.008)


# Of the two-phase difference, 133 of 1,332 queries judged deep: RMSE over the runs, right labels.
def test_errors_of_a_tenth_of_the_queries_judged_deep(lists: Lists, truth: Bools) -> None:
    design = Design(overlap=0, deep_share=133 / 1332)
    names = ["AP", "AP@10", "nDCG@10", "R@10", "R@50"]
    (found,) = simulated(lists, truth, [design], names, (1.0, 0.0))
    rmse = np.sqrt((found.error**2).mean(axis=1))
    assert rmse == pytest.approx([0.0074, 0.0075, 0.0071, 0.0107, 0.0126], rel=0.06)
    assert found.n_asked - 35_595 == pytest.approx(11_400, rel=0.02)


def test_a_shallow_pool_inflates_what_counts_all_positives(lists: Lists, truth: Bools) -> None:
    (found,) = simulated(
        lists, truth, [Design(overlap=0)], ["AP", "AP@10", "nDCG@10", "R@10", "R@50"], (1.0, 0.0)
    )
    assert found.bias.max(axis=1) == pytest.approx([0.122, 0.155, 0.138, 0.230, 0.141], abs=0.0006)


# Corrected for errors of votes, rates from the votes: RMSE of C@1, C@5, C@10, P@10, simulated apart.
@pytest.mark.parametrize(
    ("policy", "overlap", "rmse"),
    [
        ("one", 0.15, [0.006, 0.008, 0.008, 0.003]),
        ("verify", 0.0, [0.005, 0.005, 0.004, 0.002]),
        ("until-confirmed", 0.0, [0.005, 0.005, 0.005, 0.003]),
        ("doubled", 0.0, [0.003, 0.003, 0.003, 0.001]),
    ],
)
def test_corrected_scores(policy: str, overlap: float, rmse: list[float], lists: Lists, truth: Bools) -> None:
    design = Design(policy=policy, overlap=overlap)
    (found,) = simulated(lists, truth, [design], ["C@1", "C@5", "C@10", "P@10"], (0.92, 0.04))
    rows = [place for place, (_, name) in enumerate(found.estimates) if name == "corrected"]
    assert np.sqrt((found.error[rows] ** 2).mean(axis=1)) == pytest.approx(rmse, abs=0.0015)
    assert np.abs(found.bias[rows].mean(axis=1)).max() < 0.002


# 9,143 where the order changes with each answer; settled scores are exact.
def test_settling_c_10_asks_a_quarter(lists: Lists, truth: Bools) -> None:
    votes = draw_votes(truth, (1.0, 0.0), np.random.default_rng(0))
    asked = [answer(lists, Design(f"settle(C@{k})", overlap=0), votes).is_asked.sum() for k in (1, 5, 10)]
    assert asked == pytest.approx([3_798, 7_624, 9_143], rel=0.005)


# RMSE of the difference bm25 − tfidf_char for 9,950 judgments, queries drawn from many like them.
@pytest.mark.parametrize(
    ("depth", "n_queries", "rmse"), [(3, 1110, 0.0088), (10, 372, 0.0149), (50, 88, 0.0302)]
)
def test_many_shallow_or_few_deep(
    depth: int, n_queries: int, rmse: float, lists: Lists, truth: Bools
) -> None:
    design = Design(depth=depth, overlap=0, queries=n_queries / 1332)
    (found,) = simulated(lists, truth, [design], ["C@10"], (1.0, 0.0))
    assert found.n_asked == pytest.approx(9_950, rel=0.03)
    bias = found.bias[0, BM25] - found.bias[0, CHAR]
    sampled = found.spread[0, 1] ** 2 / n_queries  # bm25 and tfidf_char are the second pair
    assert np.sqrt(bias**2 + sampled) == pytest.approx(rmse, rel=0.1)


def test_the_example_prints_what_holds(coco_eccv: Path, tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "examples" / "plan_coco.py", coco_eccv, "1", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    orders = done.stdout.split("rank correlation: ")[1].splitlines()[0].split()  # of people's labels
    assert dict(zip(orders[::2], map(float, orders[1::2]), strict=True))["AP"] > 0.8
