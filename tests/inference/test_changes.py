"""Changes of scores from one labelling to another, with paired intervals."""

import numpy as np
import pandas as pd
import pytest
from small_world import make_run, qrels_of

from fire_toolkit.inference.differences import changes_of_scores
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.tables import Qrels

RNG = np.random.default_rng(5)
QUERIES = [f"q{n:03}" for n in range(200)]
DOCS = ["a", "b", "c"]
SCORES = RNG.random((200, 3))
BEFORE = RNG.random((200, 3)) < 0.3
BEFORE[:, 0] = True
AFTER = BEFORE | (RNG.random((200, 3)) < 0.3)


RUN = make_run({q: dict(zip(DOCS, row, strict=True)) for q, row in zip(QUERIES, SCORES, strict=True)}, "clip")


def qrels(relevant: np.ndarray) -> Qrels:
    return qrels_of({(QUERIES[n], DOCS[m]): 1 for n, m in np.argwhere(relevant)})


def changes() -> pd.DataFrame:
    before, after = qrels(BEFORE), qrels(AFTER)
    joined = join_runs(RUN, before, after)
    return changes_of_scores(joined, before, after, ["C@1", "R@2"], run_ids=["clip"])


def by_hand(labels: np.ndarray) -> np.ndarray:
    """C@1 and R@2 of each query, from the matrices alone."""
    order = np.argsort(-SCORES, axis=1)
    ranked = np.take_along_axis(labels, order, axis=1)
    return np.column_stack([ranked[:, 0], ranked[:, :2].sum(axis=1) / labels.sum(axis=1)])


def test_the_change_and_its_interval_are_those_of_the_queries_own_changes() -> None:
    found = changes()
    of_queries = by_hand(AFTER) - by_hand(BEFORE)
    assert found["change"].to_numpy() == pytest.approx(of_queries.mean(axis=0), abs=1e-12)
    # t(.975, 199) is 1.97196 in any table; C@1 has the score interval, which is near it
    half = 1.97196 * of_queries.std(axis=0, ddof=1) / np.sqrt(200)
    assert found["low"].to_numpy() == pytest.approx(of_queries.mean(axis=0) - half, abs=0.009)
    assert found["high"].to_numpy() == pytest.approx(of_queries.mean(axis=0) + half, abs=0.009)
    assert found["low"][1] == pytest.approx(of_queries[:, 1].mean() - half[1], abs=1e-6)
    # the interval of two unpaired samples of queries would be wider
    unpaired = np.sqrt(by_hand(AFTER).var(axis=0) + by_hand(BEFORE).var(axis=0)) * 1.96 / np.sqrt(200)
    assert (found["high"] - found["low"] < 2 * 0.9 * unpaired).all()


def test_no_run_gives_an_empty_table() -> None:
    before = qrels(BEFORE)
    found = changes_of_scores(join_runs(RUN, before), before, before, ["C@1"], run_ids=[])
    assert list(found.columns) == ["run_id", "measure", "before", "after", "change", "low", "high"]
    assert len(found) == 0
