"""A model that follows what moves: the path of the changed pixels, and their colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.demo.models.vision import (
    HUES,
    SIZES,
    WALLS,
    Frames,
    Similarities,
    grey_of,
    hue_distance,
    hue_of,
    look_up,
    stack_scores,
)

_DIRECTIONS = {
    "left": (-1, 0),
    "right": (1, 0),
    "up": (0, -1),
    "upwards": (0, -1),
    "rises": (0, -1),
    "climbs": (0, -1),
    "down": (0, 1),
    "downwards": (0, 1),
    "falls": (0, 1),
    "sinks": (0, 1),
}
_STILLNESS = {"stays": 1.0, "stands": 1.0, "still": 1.0, "not": 2.0, "moves": -0.3, "moving": -0.3}
_SWERVING = {"zigzag": 1.0, "zigzags": 1.0, "swerves": 1.0}


@dataclass(frozen=True)
class _Track:
    """dx, dy: px over the clip; swerve: px about the straight line; activity: log of pixels changed.

    hue: mean of what moves, degrees; light: mean of the frames, 0 to 1.
    """

    dx: float
    dy: float
    swerve: float
    activity: float
    hue: float
    light: float


def rank_clips(texts: Sequence[str], clips: Sequence[Frames]) -> Similarities:
    """Return similarities (captions × clips): words of motion against the track of what moves.

    Colour words weigh the mean hue of what moves, wall words how bright the clip is. A caption
    without a word it knows ranks clips by how much moves in them.
    """
    tracks = [_track(frames) for frames in clips]
    return stack_scores([np.array([_score(text, track) for track in tracks]) for text in texts])


def _score(text: str, track: _Track) -> float:
    length = float(np.hypot(track.dx, track.dy)) + 15.0
    score = 0.03 * track.activity
    for x, y in look_up(text, _DIRECTIONS):
        score += (x * track.dx + y * track.dy) / length
    score -= sum(look_up(text, _STILLNESS)) * 0.35 * track.activity
    score += sum(look_up(text, _SWERVING)) * 0.25 * min(track.swerve, 8.0)
    for hue in look_up(text, HUES):
        score += 0.6 * float(np.exp(-((hue_distance(track.hue, hue) / 25) ** 2)))
    for sign in look_up(text, SIZES):
        score += 0.25 * sign * track.activity
    for sign in look_up(text, WALLS):
        score += 0.8 * sign * track.light
    return score


def _track(frames: Frames) -> _Track:
    sampled = frames[::2]
    changes = np.abs(np.diff(grey_of(sampled), axis=0))
    changed = changes > 10 + 5 * np.median(changes[:, ::4, ::4])
    counts = changed.sum(axis=(1, 2))
    activity, light = float(np.log1p(counts.mean())), float(sampled.mean() / 255)
    seen = np.flatnonzero(counts >= 8)
    if seen.size < 3:
        return _Track(0.0, 0.0, 0.0, activity, float(hue_of(sampled.mean(axis=(0, 1, 2)))), light)
    path = np.array([np.argwhere(changed[step]).mean(axis=0) for step in seen])
    slope_y, slope_x, residual = _straight(seen, path)
    colours = sampled[1:][changed].mean(axis=0)
    steps = len(changes)
    return _Track(slope_x * steps, slope_y * steps, residual, activity, float(hue_of(colours)), light)


def _straight(times: Ints, path: Floats) -> tuple[float, float, float]:
    """Return the slopes (rows, columns a step) of the line through `path`, and how far it strays."""
    moments = (times - times.mean()).astype(np.float64)
    middle = path.mean(axis=0)
    slopes = moments @ (path - middle) / (moments @ moments)
    strays = path - middle - moments[:, None] * slopes
    return float(slopes[0]), float(slopes[1]), float(np.sqrt((strays**2).sum(axis=1).mean()))
