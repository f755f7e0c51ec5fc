"""The demo that the wheel made: what it wrote and printed, and its models; run by check_wheel.py."""

import json
import os
import re
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run

from fire_toolkit import read_pool
from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.demo.world import make_world
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import read_judgments

MODELS = ("colour-histogram", "motion-track", "shape-contour", "seen-before", "fused")
SINGLE = MODELS[:3]


@pytest.fixture(scope="module")
def made():
    return Path(os.environ["FIRE_MADE_DEMO"])


@pytest.fixture(scope="module")
def printed(made):
    return (made.parent / "printed.txt").read_text()


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def similarities(made):
    return {name: np.load(made / f"runs/{name}.npz")["sims"] for name in MODELS}


def positives(path: Path) -> set[tuple[str, str]]:
    qrels = read_qrels(path)
    return pairs_of(qrels[qrels["relevance"] >= 1])


def pairs_of(table: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(table["query_id"], table["doc_id"], strict=True))


def test_it_ends_in_the_corrected_table_and_the_truth(printed):
    assert re.search(r"^C@1 +\d+\.\d \(\d+\.\d \+ \d+\.\d\)", printed, re.M)
    assert re.search(r"[\d,]+ of [\d,]+ labels are right \(9\d\.\d%\)", printed)
    assert "alpha" in printed


def test_original_positives_stay_and_new_ones_were_judged_relevant(made):
    original, augmented = (positives(made / f"{folder}/qrels.txt") for folder in ("collection", "augmented"))
    labels = pd.read_csv(made / "labels/labels.csv", dtype=str)
    assert augmented == original | pairs_of(labels[labels["relevance"] == "1"])
    assert len(augmented) > 2 * len(original)


def test_every_pooled_pair_was_asked_once_and_the_doubled_by_two_people(made):
    pool = read_pool(made / "pool")
    asked = [task["data"]["pair_id"] for task in json.loads((made / "tasks/tasks.json").read_text())]
    assert pairs_of(pool) == {split_pair_id(key) for key in asked}
    assert len(asked) == len(pool)
    assert (made / "tasks/round-2/tasks.json").is_file()  # of disputes, where `status` looks
    judgments = read_judgments(made / "judgments/judgments.csv")
    assert judgments.groupby(["query_id", "doc_id"])["annotator_id"].nunique().max() >= 2


def test_the_clips_are_there_for_people_to_play(made):
    items = pd.read_csv(made / "collection/items.tsv", sep="\t", dtype=str)
    assert all((made / name).stat().st_size > 500 for name in items["media_url"])


def test_its_commands_can_be_given_again_in_its_folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    Path("labels/labels.csv").unlink()
    Path("agreement/agreement.csv").unlink()
    assert "redone: agree, resolve" in run("refresh").stderr
    run("score")


def grid(world, qrels):
    """Return qrels as queries × docs, in the order of the world's tables."""
    pairs, docs = pairs_of(qrels), [clip.doc_id for clip in world.clips]
    return np.array([[(query, doc) in pairs for doc in docs] for query in world.queries["query_id"]])


def correct_at(similarities, relevant, depth):
    best = np.argsort(-similarities, axis=1, kind="stable")[:, :depth]
    return float(np.take_along_axis(relevant, best, axis=1).any(axis=1).mean())


def best(similarities, depth):
    return np.argsort(np.argsort(-similarities, axis=1, kind="stable"), axis=1) < depth


def test_five_finite_matrices_of_queries_by_docs_without_floods_of_ties(similarities):
    for matrix in similarities.values():
        assert ((100, 60), np.dtype(np.float32)) == (matrix.shape, matrix.dtype)
        assert np.isfinite(matrix).all()
        assert min(len(np.unique(row)) for row in matrix) >= 50


# Chance: 1/60 for the original, 4.8/60 = .08 for the truth (480 positives of 100 queries).
def test_each_model_beats_chance_and_none_is_perfect(world, similarities):
    original, truth = grid(world, world.original), grid(world, world.truth)
    for matrix in similarities.values():
        assert 0.1 < correct_at(matrix, original, 1) < 0.6
        assert 0.25 < correct_at(matrix, truth, 1) < 0.9
        assert correct_at(matrix, original, 1) < correct_at(matrix, truth, 1)
    is_first = {name: correct_at(each, original, 1) for name, each in similarities.items()}
    assert 0.45 < is_first["seen-before"] < 0.6
    assert is_first["seen-before"] > is_first["fused"]


def test_the_change_of_order_that_it_tells_of_holds(made, printed, world, similarities):
    """One model leads by the original labels, another by the truth, in 19 of 20 resamples of the queries."""
    drawn = np.random.default_rng(0).integers(100, size=(4_000, 100))
    gains = []
    for qrels in (world.original, world.truth):
        tops = [similarities[name].argmax(axis=1)[:, None] for name in ("seen-before", "fused")]
        first, second = (
            np.take_along_axis(grid(world, qrels), top, axis=1)[:, 0].astype(int) for top in tops
        )
        gains.append((first - second)[drawn].mean(axis=1))
    assert ((gains[0] > 0) & (gains[1] < 0)).mean() >= 0.95
    told = "2 pairs of models change places</b>; 1 of these changes holds."
    assert told in (made / "report.html").read_text()
    assert re.search(r"^seen-before +o-*# +\d\d\.\d \(\d\d\.\d\)$", printed, re.M)


def test_pool_of_models_is_some_two_thousand_pairs_and_misses_positives(world, similarities):
    pool = np.any([best(matrix, 10) for run, matrix in similarities.items() if run != "fused"], axis=0)
    truth = grid(world, world.truth)
    assert 1500 < pool.sum() < 2700
    assert 0.7 < (pool & truth).sum() / truth.sum() < 0.95


def test_models_differ_in_what_they_rank_highly(similarities):
    tops = [best(matrix, 10) for run_id, matrix in similarities.items() if run_id != "fused"]
    shared = [(one & other).sum() / 1000 for one, other in combinations(tops, 2)]
    assert max(shared) < 0.7


def test_captions_of_motion_alone_are_known_to_the_motion_model_and_of_form_to_the_form_model(
    world, similarities
):
    truth = grid(world, world.truth)
    asked = [{aspect for aspect, _ in world.conditions[query_id]} for query_id in world.queries["query_id"]]
    for aspect, expert in (("motion", "motion-track"), ("shape", "shape-contour")):
        rows = np.array([aspects == {aspect} for aspects in asked])
        known = {run_id: correct_at(similarities[run_id][rows], truth[rows], 1) for run_id in SINGLE}
        assert expert == max(known, key=known.get)
