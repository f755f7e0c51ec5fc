"""Small real models that rank clips for captions: they see frames and words, nothing else.

A model takes caption texts and frames and returns similarities (captions × clips, float32, higher is
better). `score_clips` runs them all; a new model is one file and one line in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fire_toolkit.demo.captions import write_captions
from fire_toolkit.demo.clips import make_clips
from fire_toolkit.demo.models import colour, learned, motion, shape
from fire_toolkit.demo.models.fused import fuse
from fire_toolkit.demo.models.vision import Frames, Similarities
from fire_toolkit.demo.render import render_clip

Model: TypeAlias = Callable[[Sequence[str], Sequence[Frames]], Similarities]

TRAINING_CLIPS, TRAINING_CAPTIONS = 250, 1250


def score_clips(texts: Sequence[str], frames: Sequence[Frames], *, seed: int = 0) -> dict[str, Similarities]:
    """Return each model's similarities (captions × clips, float32) by run id; the fused model is last.

    Args:
        texts: captions, one a row of the result.
        frames: one array a clip (frame × height × width × RGB), one a column of the result.
        seed: of the clips that the learned model is trained on.
    """
    models: dict[str, Model] = {
        "colour-histogram": colour.rank_clips,
        "motion-track": motion.rank_clips,
        "shape-contour": shape.rank_clips,
        "learned-ridge": train_learned(seed=seed),
    }
    similarities = {run_id: model(texts, frames) for run_id, model in models.items()}
    parts = [similarities[run_id] for run_id in ("colour-histogram", "motion-track", "shape-contour")]
    return {**similarities, "fused": fuse(parts)}


def train_learned(*, seed: int = 0) -> Model:
    """Return the ridge model, trained on 250 clips and 1,250 captions that only training sees.

    Args:
        seed: of the training clips, which share none with `make_world(seed=seed)`.
    """
    rng = np.random.default_rng([seed, 2])
    clips = make_clips(TRAINING_CLIPS, rng=rng)
    captions = write_captions(clips, n_captions=TRAINING_CAPTIONS, rng=rng, repeat_texts=True)
    features = np.stack([learned.describe(render_clip(clip, every=learned.EVERY)) for clip in clips])
    owners = np.arange(TRAINING_CAPTIONS) % TRAINING_CLIPS
    return learned.train([caption.text for caption in captions], features[owners])
