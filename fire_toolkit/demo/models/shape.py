"""A model that looks at form: the outline of the largest blob against templates, and its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.demo.models.vision import (
    HUES,
    SIZES,
    Frames,
    Similarities,
    hue_distance,
    hue_of,
    largest_blob,
    look_up,
    stack_scores,
    stand_out,
)

_ANGLES = 60
_CORNERS = {"triangle": 3, "square": 4, "box": 4, "cross": -4, "plus": -4, "star": 5}
_CORNERS |= {"circle": 0, "disc": 0, "ball": 0}


@dataclass(frozen=True)
class _Blob:
    """outline: strength of waves 1 to 8 in the radius around the blob; area: px; hue: degrees."""

    outline: Floats
    area: float
    hue: float


def rank_clips(texts: Sequence[str], clips: Sequence[Frames]) -> Similarities:
    """Return similarities (captions × clips): named forms against the outline of the largest blob.

    Size words weigh its area, colour words its mean hue. A caption without a word it knows ranks
    clips by that area.
    """
    blobs = [_largest(frames) for frames in clips]
    return stack_scores([np.array([_score(text, blob) for blob in blobs]) for text in texts])


def _score(text: str, blob: _Blob) -> float:
    size = float(np.log(blob.area + 20.0) - np.log(700.0))
    score = 0.02 * size
    for corners in look_up(text, _CORNERS):
        score += 1.0 / (1.0 + 8 * float(np.linalg.norm(blob.outline - _TEMPLATES[corners])))
    for sign in look_up(text, SIZES):
        score += 0.3 * sign * size
    for hue in look_up(text, HUES):
        score += 0.5 * float(np.exp(-((hue_distance(blob.hue, hue) / 25) ** 2)))
    return score


def _largest(frames: Frames) -> _Blob:
    image = frames[len(frames) // 3]
    mask = largest_blob(stand_out(image))
    return _Blob(_outline(mask), float(mask.sum()), float(hue_of(image[mask].mean(axis=0))))


def _outline(mask: Bools) -> Floats:
    """Return how strongly the radius of a blob, seen from its middle, waves 1 to 8 times a turn."""
    rows, columns = np.nonzero(mask)
    y, x = rows - rows.mean(), columns - columns.mean()
    sectors = ((np.arctan2(y, x) + np.pi) * (_ANGLES / (2 * np.pi))).astype(np.int64) % _ANGLES
    radius = np.zeros(_ANGLES)
    np.maximum.at(radius, sectors, np.hypot(x, y))
    return _waves(radius)


def _waves(radius: Floats) -> Floats:
    return np.asarray(np.abs(np.fft.rfft(radius))[1:9] / (radius.sum() + 1e-9) * 2, dtype=np.float64)


def _template(corners: int) -> Floats:
    """Return the waves of an ideal form's radius; `corners` as in the lexicon of forms."""
    angle = np.arange(_ANGLES) * (2 * np.pi / _ANGLES)
    half = np.pi / max(abs(corners), 1)
    folded = np.abs((angle + half) % (2 * half) - half)  # angle from the nearest corner or arm
    if corners == 0:
        return _waves(np.ones(_ANGLES))
    if corners == -4:
        return _waves(np.minimum(1 / np.cos(folded), 1 / (3 * np.sin(np.maximum(folded, 0.1)))))
    if corners == 5:
        dent = 0.45
        slope = np.sin(folded) * (1 - dent * np.cos(half)) + np.cos(folded) * dent * np.sin(half)
        return _waves(dent * np.sin(half) / slope)
    return _waves(1 / np.cos(half - folded))


_TEMPLATES = {corners: _template(corners) for corners in set(_CORNERS.values())}
