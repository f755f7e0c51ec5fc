"""A model that was told nothing: ridge regression from measured features to the words of captions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from fire_toolkit.arrays import Floats, Floats32
from fire_toolkit.demo.models.vision import Frames, Similarities, blur, grey_of, hue_histogram, words_of

EVERY = 4
_PENALTY = 20.0  # weight of the squared coefficients, after features were brought to unit deviation
_LEAST = 5  # a word seen less often is unknown
_HUE_BINS, _EDGE_BINS = 18, 12


def train(
    texts: Sequence[str], features: Floats
) -> Callable[[Sequence[str], Sequence[Frames]], Similarities]:
    """Return a model that predicts a clip's words and compares them with a caption's.

    Args:
        texts: captions of the training clips.
        features: caption × feature, of the clip each caption is about; see `describe`.

    The score is the sum, over the words of a caption, of how much the word's predicted share exceeds
    its usual share, in standard deviations over the training clips.
    """
    counts = Counter(word for text in texts for word in set(words_of(text)))
    vocabulary = sorted(word for word, count in counts.items() if count >= _LEAST)
    indicators = _indicators(texts, vocabulary)
    middle, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = (features - middle) / spread
    gram = inputs.T @ inputs + _PENALTY * np.eye(inputs.shape[1])
    weights = np.linalg.solve(gram, inputs.T @ (indicators - indicators.mean(axis=0)))
    scale = indicators.std(axis=0) + 1e-6

    def rank_clips(captions: Sequence[str], clips: Sequence[Frames]) -> Similarities:
        described = np.stack([describe(frames[::EVERY]) for frames in clips])
        predicted = (described - middle) / spread @ weights / scale
        return np.asarray(_indicators(captions, vocabulary) @ predicted.T, dtype=np.float32)

    return rank_clips


def describe(frames: Frames) -> Floats:
    """Return what is measured in every fourth frame of a clip: hues, edges, flow."""
    grey = grey_of(frames)
    middle = len(frames) // 2
    return np.concatenate([_hues(frames[middle]), _edges(blur(grey[middle])), _flow(grey)])


def _indicators(texts: Sequence[str], vocabulary: Sequence[str]) -> Floats:
    column = {word: place for place, word in enumerate(vocabulary)}
    indicators = np.zeros((len(texts), len(vocabulary)))
    for row, text in enumerate(texts):
        indicators[row, [column[word] for word in set(words_of(text)) if word in column]] = 1
    return indicators


def _hues(image: Frames) -> Floats:
    totals = hue_histogram(image, n_bins=_HUE_BINS)
    return np.asarray(np.sqrt(totals / (totals.sum() + 0.0003)), dtype=np.float64)


def _edges(grey: Floats32) -> Floats:
    """Return the share of edges that run in each direction, strongest hundredth of pixels."""
    down, right = np.gradient(grey)
    strength = np.hypot(down, right)
    strength[strength < np.percentile(strength, 99)] = 0
    bins = ((np.arctan2(down, right) + np.pi) * (_EDGE_BINS / (2 * np.pi))).astype(np.int64) % _EDGE_BINS
    totals = np.bincount(bins.ravel(), strength.ravel(), minlength=_EDGE_BINS)
    return np.asarray(totals / (totals.sum() + 1e-6), dtype=np.float64)


def _flow(grey: Floats32) -> Floats:
    """Return where change sits early and late, how much changes, and how that varies."""
    change = np.abs(np.diff(grey, axis=0))
    change = np.maximum(change - 8 - 4 * np.median(change[:, ::4, ::4]), 0)
    total = change.sum(axis=(1, 2))
    rows = (change.sum(axis=2) @ np.arange(grey.shape[1])) / (total + 1)
    columns = (change.sum(axis=1) @ np.arange(grey.shape[2])) / (total + 1)
    moves = np.diff(np.stack([rows, columns]), axis=1)
    activity = np.log1p(total)
    ahead = np.clip(moves.sum(axis=1) / 30, -1, 1)
    swings = np.abs(np.diff(moves, axis=1)).mean(axis=1) / 10
    return np.concatenate([ahead, np.maximum(ahead, 0), swings, [activity.mean() / 10, activity.std()]])
