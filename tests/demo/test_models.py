"""The models: they look and read, each knows something, none knows all, and they differ."""

import ast
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import fire_toolkit.demo.models as models
from fire_toolkit.demo.models import colour, learned, motion, score_clips, shape

SINGLE = {"colour-histogram": colour, "motion-track": motion, "shape-contour": shape}


def grid(world, qrels):
    """Return qrels as queries × docs, in the order of the world's tables."""
    pairs = set(zip(qrels["query_id"], qrels["doc_id"], strict=True))
    docs = [clip.doc_id for clip in world.clips]
    return np.array(
        [[(query_id, doc_id) in pairs for doc_id in docs] for query_id in world.queries["query_id"]]
    )


def correct_at(similarities, relevant, depth):
    best = np.argsort(-similarities, axis=1, kind="stable")[:, :depth]
    return float(np.take_along_axis(relevant, best, axis=1).any(axis=1).mean())


def average_precision(similarities, relevant):
    found = np.take_along_axis(relevant, np.argsort(-similarities, axis=1, kind="stable"), axis=1)
    precision = found.cumsum(axis=1) / np.arange(1, found.shape[1] + 1)
    return float(((precision * found).sum(axis=1) / found.sum(axis=1)).mean())


def best(similarities, depth):
    return np.argsort(np.argsort(-similarities, axis=1, kind="stable"), axis=1) < depth


def test_five_finite_matrices_of_queries_by_docs(similarities):
    assert list(similarities) == [
        "colour-histogram",
        "motion-track",
        "shape-contour",
        "learned-ridge",
        "fused",
    ]
    for matrix in similarities.values():
        assert ((100, 60), np.dtype(np.float32)) == (matrix.shape, matrix.dtype)
        assert np.isfinite(matrix).all()


def test_no_floods_of_ties(similarities):
    for matrix in similarities.values():
        assert min(len(np.unique(row)) for row in matrix) >= 50


# Chance: 1/60 for the original, 4.8/60 = .08 for the truth (480 positives of 100 queries).
def test_each_model_beats_chance_and_none_is_perfect(world, similarities):
    original, truth = grid(world, world.original), grid(world, world.truth)
    for matrix in similarities.values():
        assert 0.1 < correct_at(matrix, original, 1) < 0.6
        assert 0.25 < correct_at(matrix, truth, 1) < 0.9
        assert correct_at(matrix, original, 1) < correct_at(matrix, truth, 1)


def test_correcting_the_labels_turns_the_order_of_two_models_round(world, similarities):
    original, truth = grid(world, world.original), grid(world, world.truth)
    track, ridge = similarities["motion-track"], similarities["learned-ridge"]
    assert average_precision(track, original) > average_precision(ridge, original)
    assert average_precision(track, truth) + 0.02 < average_precision(ridge, truth)


def test_pool_of_four_models_is_some_two_thousand_pairs_and_misses_positives(world, similarities):
    pool = np.any([best(matrix, 10) for run, matrix in similarities.items() if run != "fused"], axis=0)
    truth = grid(world, world.truth)
    assert 1500 < pool.sum() < 2500
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


@pytest.mark.parametrize("run_id", SINGLE)
def test_shuffled_clips_give_shuffled_columns(run_id, texts, frames, similarities):
    order = np.random.default_rng(1).permutation(len(frames))
    shuffled = SINGLE[run_id].rank_clips(texts[:20], [frames[place] for place in order])
    np.testing.assert_allclose(similarities[run_id][:20, order], shuffled, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("run_id", SINGLE)
def test_shuffled_captions_give_shuffled_rows(run_id, texts, frames):
    order = np.random.default_rng(2).permutation(len(texts))
    straight = SINGLE[run_id].rank_clips(texts, frames[:6])
    shuffled = SINGLE[run_id].rank_clips([texts[place] for place in order], frames[:6])
    np.testing.assert_array_equal(straight[order], shuffled)


def test_learned_model_is_the_same_each_time_and_follows_the_frames(monkeypatch, texts, frames):
    monkeypatch.setattr(models, "TRAINING_CLIPS", 30)
    monkeypatch.setattr(models, "TRAINING_CAPTIONS", 150)
    texts, frames = texts[:20], frames[:4]
    first = score_clips(texts, frames, seed=3)
    again = score_clips(texts, frames, seed=3)
    for run_id, matrix in first.items():
        assert matrix.tobytes() == again[run_id].tobytes()
    other = models.train_learned(seed=4)(texts, frames)
    assert not np.array_equal(first["learned-ridge"], other)
    turned = models.train_learned(seed=3)(texts, frames[::-1])
    np.testing.assert_allclose(first["learned-ridge"][:, ::-1], turned, rtol=1e-4, atol=1e-5)


def test_inputs_are_not_changed(texts, frames):
    before = frames[0].tobytes(), frames[1].tobytes()
    for model in SINGLE.values():
        model.rank_clips(texts[:2], frames[:2])
    learned.describe(frames[0])
    assert before == (frames[0].tobytes(), frames[1].tobytes())


@pytest.mark.parametrize("name", ["colour", "motion", "shape", "learned", "fused", "vision"])
def test_models_import_nothing_that_knows_the_attributes(name):
    tree = ast.parse(Path(models.__file__).with_name(f"{name}.py").read_text())
    nodes = list(ast.walk(tree))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    own = {module for module in imported if module.startswith("fire_toolkit")}
    assert own <= {"fire_toolkit.demo.models.vision", "fire_toolkit.arrays"}
