"""The two-phase difference: by hand, against a reference sample of COCO captions, and what it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.two_phase import TwoPhase
from fire_toolkit.measures import parse_measures
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.tables import Qrels, check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

RUNS = ("bm25", "tfidf_char", "tfidf_word_sum", "lsa300", "tfidf_word")
# S is every tenth query of queries.tsv from the first; from a program that shares no code with this one.
REFERENCE = {
    "AP": (0.6895, (0.4034, 0.2975, 0.2626, 0.2694, 0.1910), (0.0110, 0.0085, 0.0068, 0.0063, 0.0053)),
    "AP@10": (0.6500, (0.3179, 0.2295, 0.1940, 0.1892, 0.1433), (0.0109, 0.0083, 0.0062, 0.0069, 0.0047)),
    "nDCG@10": (0.7722, (0.4814, 0.3754, 0.3293, 0.3210, 0.2594), (0.0100, 0.0079, 0.0062, 0.0066, 0.0049)),
    "R@10": (0.6134, (0.4600, 0.3575, 0.3149, 0.3178, 0.2475), (0.0131, 0.0109, 0.0103, 0.0108, 0.0072)),
    "R@50": (0.6895, (0.8431, 0.7246, 0.6903, 0.7382, 0.5638), (0.0129, 0.0142, 0.0145, 0.0131, 0.0140)),
}


def by_hand() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 80 queries, every second of them deep, of two runs; the second found nothing shallow."""
    x = np.repeat([0.0, 1.0], 40)
    y = np.repeat([0.0, 0.5, 1.0, 0.5], 10)
    return np.column_stack([x, 0 * x]), np.column_stack([y, y == 1]).astype(float), np.arange(0, 80, 2)


def test_estimates_are_those_computed_by_hand() -> None:
    found = TwoPhase(*by_hand())
    # Sxx = 40/4 and 0, Sxy = 5 and 0; residuals ±.25 with h = .05, and .75 or -.25 with h = 1/40
    assert found.slope == pytest.approx(0.5)
    assert found.means.tolist() == pytest.approx([0.5, 0.25])
    first = found.of(0)
    variances = [0.5 * 40 * (0.25 / 0.95) ** 2 / 40**2, 0.5 * 7.5 / (39 / 40) ** 2 / 40**2]
    assert [found.of(run).se ** 2 for run in (0, 1)] == pytest.approx(variances)
    # 20 of 40 scores are changed, and two more; (.5 − θ)² = t² w θ (1 − θ), w with .09 of half a query
    room = 0.25 + 0.09 * 0.5 / 80
    spread = 2.024394**2 * (variances[0] * 22 / 20 + 0.09 * (0.5 / 80) ** 2) / room
    limits = np.roots([1 + spread, -(1 + spread), 0.25])
    assert sorted(limits) == pytest.approx([first.low, first.high])


def test_a_pair_of_runs_is_compared_by_the_differences_of_residuals() -> None:
    difference, low, high, se = TwoPhase(*by_hand()).of(0, 1)[:4]
    # g_a − g_b of ten queries each; e is ∓.25 and ±.25 in the one run, and −.25 or .75 in the other
    a, b = 0.25 / 0.95, 40 / 39
    parts = (-a + 0.25 * b, a + 0.25 * b, a - 0.75 * b, -a + 0.25 * b)
    assert difference == pytest.approx(0.25)
    assert se**2 == pytest.approx(0.5 * 10 * sum(part**2 for part in parts) / 40**2)
    assert (low + high) / 2 == pytest.approx(0.25)


def test_the_number_of_queries_alone_decides_whether_there_is_an_estimate() -> None:
    shallow, deep, sample = by_hand()
    few = TwoPhase(shallow, deep[1:], sample[1:])
    for each in (few.of(0), few.of(0, 1)):
        assert "39 queries were judged deep" in each.refused
        assert np.isnan(each[:4]).all()
    same = TwoPhase(shallow, shallow[sample], sample)  # no score is changed
    assert not same.of(0).refused
    assert same.means.tolist() == pytest.approx([0.5, 0])
    for each in (same.of(0), same.of(1), same.of(0, 1)):
        assert each.high - each.low > 0.01
    alone = np.zeros((80, 1))
    alone[sample[3]] = 1.0  # one query alone has a score: its leverage would be 1
    whole = TwoPhase(alone, deep[:, :1] * 0.9, sample).of(0)
    assert 0 <= whole.low < whole.estimate < whole.high <= 1


def labelled(original: Qrels, truth: Qrels, pool: pd.DataFrame) -> Qrels:
    """Return the originals and the pool's other pairs as the truth has them."""
    relevance = np.append(truth["relevance"].to_numpy(), 0)[pair_rows(pool, truth)]
    new = pool[PAIR].assign(relevance=relevance)[pair_rows(pool, original) < 0]
    return check_qrels(pd.concat([original[[*PAIR, "relevance"]], new]))


@pytest.mark.slow
def test_the_reference_sample_of_coco_captions_is_met_to_the_fourth_digit(coco_eccv: Path) -> None:
    runs = [read_run(coco_eccv / "runs" / f"{name}.run.gz") for name in RUNS]
    original, truth = (read_qrels(coco_eccv / f"qrels.{name}.txt") for name in ("orig", "eccv"))
    qrels = [labelled(original, truth, pool_runs(runs, depth=depth).pool) for depth in (10, 50)]
    joined = join_runs(runs, original, *qrels)
    measures = parse_measures(list(REFERENCE))
    x, y = (
        np.stack([joined.values(name, joined.label(each), measures) for name in RUNS], axis=-1)
        for each in qrels
    )
    queries = pd.read_csv(coco_eccv / "queries.tsv", sep="\t", dtype=str)["query_id"]
    sample = joined.queries.get_indexer(queries[::10])
    for place, (name, (slope, estimates, errors)) in enumerate(REFERENCE.items()):
        found = TwoPhase(x[:, place], y[sample, place], sample)
        assert (name, slope) == (name, round(found.slope, 4))
        assert list(estimates) == found.means.round(4).tolist()
        assert list(errors) == [round(found.of(run).se, 4) for run in range(len(RUNS))]
        if name == "AP":
            difference = found.of(0, 1)
            assert [round(difference.estimate, 4), round(difference.se, 4)] == [0.1059, 0.0068]
