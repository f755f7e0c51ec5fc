"""What a release has of runs gives its scores again, by pandas and by files that anybody reads."""

import numpy as np
import pandas as pd
import pytest
from small_world import make_run

from examples import some
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.release.rankings import (
    Rankings,
    differing,
    out_of_order,
    rankings_of,
    scores_again,
    tops_in,
)
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_qrels, check_run

MEASURES = ["AP", "nDCG", "nDCG@10", "C@1", "RR", "R@20", "P@10"]
N_QUERIES, N_DOCS = 12, 40
QUERIES, DOCS = (np.array([f"{side}{n:02}" for n in range(size)]) for side, size in (("q", 12), ("d", 40)))
World = tuple[list[Run], Qrels, Qrels]


def qrels_of(relevant: np.ndarray, judged: np.ndarray) -> Qrels:
    query, doc = np.nonzero(judged)
    ids = {"query_id": QUERIES[query], "doc_id": DOCS[doc]}
    return check_qrels(pd.DataFrame({**ids, "relevance": relevant[query, doc].astype(int)}))


@pytest.fixture
def world() -> World:
    """Runs with ties: a whole one, one that has its top 9, one with original positives below its top 6."""
    random = np.random.default_rng(4)
    relevant = random.random((N_QUERIES, N_DOCS)) < 0.1
    original = relevant & (random.random(relevant.shape) < 0.5)
    original[:-1, 0] = True  # the last query has none
    judged = original | (random.random(relevant.shape) < 0.4)
    runs = []
    for name, depth in (("whole", N_DOCS), ("top", 9), ("gapped", N_DOCS)):
        scores = np.round(random.normal(relevant * 1.0), 1)
        ids = pd.MultiIndex.from_product([QUERIES, DOCS], names=["query_id", "doc_id"])
        run = rank_run(pd.DataFrame({"run_id": name, "score": scores.ravel()}, ids).reset_index())
        kept = run["rank"] <= depth
        if name == "gapped":
            is_original = original[run["query_id"].str[1:].astype(int), run["doc_id"].str[1:].astype(int)]
            kept = (run["rank"] <= 6) | is_original
        runs.append(check_run(run[kept].reset_index(drop=True)))
    return runs, qrels_of(np.ones_like(original), original), qrels_of(relevant | original, judged)


def read_again(found: Rankings) -> pd.DataFrame:
    return tops_in(found.files())


@pytest.mark.parametrize("depth", some([1, 7, 100, 6, 9], 3))
def test_scores_follow_from_tops_and_ranks_at_any_depth(world: World, depth: int) -> None:
    runs, original, corrected = world
    told = score_runs(runs, original, MEASURES, augmented=corrected).scores
    found = rankings_of(runs, depth, original, corrected, told)
    assert found.lost == []
    again = scores_again(read_again(found), found.ranks, original, corrected, MEASURES)
    assert len(again) == len(runs) * len(MEASURES) * 2
    assert differing(told, again).empty
    assert out_of_order(read_again(found)).empty


def test_ids_with_quotes_and_ids_that_look_like_nothing_come_back() -> None:
    ids = ['"a', 'b"c', "NA", "007", "#1", "1e5"]
    scores = [0.1 + 0.2, 1, 2, 3, 4, 5]
    run = make_run({q: {d: score} for q, d, score in zip(ids, ids[::-1], scores, strict=True)}, 'm"1')
    qrels = check_qrels(pd.DataFrame({"query_id": ids, "doc_id": ids[::-1], "relevance": 1}))
    told = score_runs(run, qrels, ["AP"], augmented=qrels).scores
    found = rankings_of([run], 1, qrels, qrels, told)
    again = read_again(found)
    assert sorted(zip(again["query_id"], again["doc_id"], again["score"], strict=True)) == sorted(
        zip(run["query_id"], run["doc_id"], run["score"], strict=True)
    )
    assert found.lost == []


def test_measures_that_read_whole_lists_are_named_and_a_query_that_left_counts(world: World) -> None:
    runs, original, corrected = world
    measures = ["AP", "set_P"]
    told = score_runs(runs, original, measures, augmented=corrected).scores
    assert rankings_of(runs, 3, original, corrected, told).lost == ["set_P"]
    assert rankings_of(runs[:2], N_DOCS, original, corrected, told[told["run_id"] != "gapped"]).lost == []
    fewer = check_qrels(corrected[corrected["query_id"] != "q03"].reset_index(drop=True))
    told = score_runs(runs, original, ["AP"], augmented=fewer).scores
    assert rankings_of(runs, 2, original, fewer, told).lost == []
