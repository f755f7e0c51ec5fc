"""The models: they look and read, each knows something, none knows all, and they differ."""

import ast
from pathlib import Path

import numpy as np
import pytest

from fire_toolkit.demo import models
from fire_toolkit.demo.models import rank_clips, score_clips

SINGLE = [models.see_colours, models.see_motion, models.see_shapes]
OWN = list(range(12)) * 9


@pytest.mark.parametrize("model", SINGLE)
def test_shuffled_clips_and_captions_give_shuffled_scores(model, texts, frames):
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(20), rng.permutation(12)
    straight = rank_clips(texts[:20], frames[:12], model)
    shuffled = rank_clips([texts[row] for row in rows], [frames[column] for column in columns], model)
    np.testing.assert_allclose(straight[rows][:, columns], shuffled, rtol=1e-4, atol=1e-5)


def test_scores_are_the_same_each_time_and_inputs_are_not_changed(texts, frames):
    before = frames[0].tobytes(), frames[1].tobytes()
    first, again = (score_clips(texts[:20], frames[:12], OWN[:20], seed=3) for _ in range(2))
    assert {name: each.tobytes() for name, each in first.items()} == {
        name: each.tobytes() for name, each in again.items()
    }
    assert before == (frames[0].tobytes(), frames[1].tobytes())
    other = score_clips(texts[:20], frames[:12], OWN[:20], seed=4)
    assert {name for name in first if not np.array_equal(first[name], other[name])} == {"seen-before"}


def test_what_was_seen_before_ranks_its_own_clip_first_and_nothing_else_is_told_of_it(texts, frames):
    own = np.arange(12)
    scores = score_clips(texts[:12], frames[:12], list(own), seed=0)
    turned = score_clips(texts[:12], frames[:12], list(own[::-1]), seed=0)
    is_first = scores["seen-before"].argmax(axis=1) == own
    assert 6 <= is_first.sum() < 12
    assert all(np.array_equal(scores[name], turned[name]) for name in scores if name != "seen-before")


def test_models_import_nothing_that_knows_the_attributes():
    nodes = list(ast.walk(ast.parse(Path(models.__file__).read_text())))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {module for module in imported if module.startswith("fire_toolkit")} == {"fire_toolkit.arrays"}
