"""A model that knows colours and nothing of form or motion: one frame's histogram of hues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Floats32
from fire_toolkit.demo.models.vision import (
    HUES,
    SIZES,
    WALLS,
    Frames,
    Similarities,
    hue_distance,
    hue_histogram,
    look_up,
    stack_scores,
    wall_colour,
)

_BINS = 24
_CENTRES = (np.arange(_BINS) + 0.5) * (360 / _BINS)


def rank_clips(texts: Sequence[str], clips: Sequence[Frames]) -> Similarities:
    """Return similarities (captions × clips): named hues against the histogram of the middle frame.

    Size words weigh how much of the frame is coloured, wall words how bright its border is. A
    caption without a word it knows ranks clips by how colourful they are.
    """
    images = [frames[len(frames) // 2] for frames in clips]
    histograms = np.stack([hue_histogram(image, n_bins=_BINS) for image in images])
    coloured = _standard(np.log(histograms.sum(axis=1) + 1e-4))
    brightness = _standard(np.array([wall_colour(image).mean() for image in images]))
    return stack_scores([_score(text, histograms, coloured, brightness) for text in texts])


def _score(text: str, histograms: Floats32, coloured: Floats, brightness: Floats) -> Floats:
    score = 0.05 * coloured
    share = np.sqrt(histograms / (histograms.sum(axis=1, keepdims=True) + 0.002))
    for hue in look_up(text, HUES):
        near = np.exp(-((hue_distance(_CENTRES, hue) / 14) ** 2) / 2)
        score = score + 3 * share @ (near / near.sum())
    for size in look_up(text, SIZES):
        score = score + 0.2 * size * coloured
    for wall in look_up(text, WALLS):
        score = score + 0.25 * wall * brightness
    return np.asarray(score, dtype=np.float64)


def _standard(values: npt.NDArray[np.floating]) -> Floats:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9), dtype=np.float64)
