"""The models: they look and read, each knows something, none knows all, and they differ."""

import ast
from pathlib import Path

import numpy as np
import pytest

import fire_toolkit.demo.models as models
from fire_toolkit.demo.models import colour, learned, motion, score_clips, shape

SINGLE = {"colour-histogram": colour, "motion-track": motion, "shape-contour": shape}


@pytest.mark.parametrize("run_id", SINGLE)
def test_shuffled_clips_give_shuffled_columns(run_id, texts, frames):
    order = np.random.default_rng(1).permutation(12)
    straight = SINGLE[run_id].rank_clips(texts[:20], frames[:12])
    shuffled = SINGLE[run_id].rank_clips(texts[:20], [frames[place] for place in order])
    np.testing.assert_allclose(straight[:, order], shuffled, rtol=1e-4, atol=1e-5)


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
