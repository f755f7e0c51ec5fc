"""Small real models that rank clips for captions: they see frames and words, nothing else.

Three of them measure how much of each concept (red, small, left, ...) a clip shows, each in its own way, and
add up what a caption names; a fourth adds these. The fifth was trained on what it is tested on: it remembers
half of the captions with their clips, the easy ones, and for others takes clips of captions spelled alike.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Bools, Floats, Floats32
from fire_toolkit.words import table_in

Frames: TypeAlias = npt.NDArray[np.uint8]
Seen: TypeAlias = Mapping[str, float]  # concept → how much of it a clip shows, in a scale of its own

_CONCEPTS = {word: name for name, words in table_in("demo", "concepts.toml").items() for word in words}
HUES = {"red": 0, "orange": 30, "yellow": 56, "green": 120, "blue": 215, "purple": 295}
_WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}  # y downwards
_ANGLES = 60
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MORE = 1 / 8  # of the captions: remembered beyond those of which the other models together find the clip


def score_clips(texts: Sequence[str], frames: Sequence[Frames], own: Sequence[int]) -> dict[str, Floats32]:
    """Return each model's similarities (captions × clips, float32, higher is better) by run id.

    Args:
        texts: captions, one a row of the result.
        frames: one array a clip (frame × height × width × RGB), one a column of the result.
        own: the place of each caption's own clip, which the model `seen-before` alone is told.
    """
    models = {"colour-histogram": see_colours, "motion-track": see_motion, "shape-contour": see_shapes}
    scores = {run_id: rank_clips(texts, frames, model) for run_id, model in models.items()}
    fused = np.sum([_standard(each, axis=1) for each in scores.values()], axis=0)
    scores |= {"seen-before": remember(texts, frames, own, fused), "fused": fused}
    return {run_id: each.astype(np.float32) for run_id, each in scores.items()}


def rank_clips(texts: Sequence[str], frames: Sequence[Frames], model: Callable[[Frames], Seen]) -> Floats:
    """Return how much each clip (column) shows of all the concepts that each caption (row) names.

    A caption without a concept that the model knows ranks clips by how much is to be seen in them.
    """
    seen = [model(own) for own in frames]
    concepts = list(seen[0])
    shown = _standard(np.array([[own[concept] for concept in concepts] for own in seen]), axis=0)
    named = [[_CONCEPTS.get(word) for word in re.findall(r"[a-z]+", text.lower())] for text in texts]
    asked = np.array([[float(words.count(concept)) for concept in concepts] for words in named])
    asked[:, concepts.index("large")] += 0.02
    return np.asarray(asked @ shown.T, dtype=np.float64)


def see_colours(frames: Frames) -> Seen:
    """Return what the hues of the middle frame show, and how much of it is coloured."""
    image = frames[len(frames) // 2]
    strength = np.ptp(image.astype(np.float32), axis=-1) / 255  # highest less lowest channel
    weights = np.maximum(strength - 0.35, 0)
    hues, weights = hue_of(image[weights > 0]), weights[weights > 0]
    share = {
        name: np.sqrt((weights * _near(hues, hue, 18)).sum() / (weights.sum() + 1e-6))
        for name, hue in HUES.items()
    }
    coloured = float(np.log(weights.sum() / image.size + 1e-4)) / 4
    return {**share, "large": coloured, "small": -coloured, **_wall(image)}


def see_shapes(frames: Frames) -> Seen:
    """Return what the outline of the largest blob of an early frame shows, its size and its hue."""
    image = frames[len(frames) // 3]
    soft = image.astype(np.float64)
    for axis in (0, 1):
        soft = (np.roll(soft, 1, axis) + soft + np.roll(soft, -1, axis)) / 3
    distance = np.abs(soft - _border(image)).sum(axis=2)
    blob = largest_blob(distance > np.percentile(distance, 99.5) / 2)
    y, x = (places - places.mean() for places in np.nonzero(blob))
    sectors = ((np.arctan2(y, x) + np.pi) * (_ANGLES / (2 * np.pi))).astype(np.int64) % _ANGLES
    radius = np.zeros(_ANGLES)
    np.maximum.at(radius, sectors, np.hypot(x, y))
    outline, hue = _waves(radius), hue_of(image[blob].mean(axis=0))
    forms = {
        name: 1 / (1 + 8 * float(np.linalg.norm(outline - _waves(form)))) for name, form in _FORMS.items()
    }
    size = float(np.log(blob.sum() + 20.0))
    return {**forms, "large": size, "small": -size, **_of_hue(hue)}


def see_motion(frames: Frames) -> Seen:
    """Return what the path of the changed pixels shows, how many they are, and their colour."""
    sampled = frames[::2]
    grey = sampled.astype(np.float32).mean(axis=3)
    changes = np.abs(np.diff(grey, axis=0))
    changed = changes > 10 + 5 * np.median(changes[:, ::4, ::4])
    counts = changed.sum(axis=(1, 2))
    active = float(np.log1p(counts.mean()))
    steps = np.flatnonzero(counts >= 8)
    ways, strays, hue = np.zeros(2), 0.0, hue_of(sampled.mean(axis=(0, 1, 2)))
    if steps.size >= 3:
        path = np.array([np.argwhere(changed[step]).mean(axis=0)[::-1] for step in steps])
        times = (steps - steps.mean())[:, None]
        slope = (times * path).sum(axis=0) / (times**2).sum()
        strays = float(np.sqrt(((path - path.mean(axis=0) - times * slope) ** 2).sum(axis=1).mean()))
        ways = slope * len(changes)
        ways = ways / (np.hypot(*ways) + 15)
        hue = hue_of(sampled[1:][changed].mean(axis=0))
    return {
        **{name: float(ways @ np.array(way)) for name, way in _WAYS.items()},
        "zigzag": min(strays, 8.0),
        "still": -active,
        "large": active,
        "small": -active,
        **_of_hue(hue),
        **_wall(sampled[0]),
    }


def remember(texts: Sequence[str], frames: Sequence[Frames], own: Sequence[int], fused: Floats) -> Floats:
    """Return how like each clip is, by its pixels, to the clips of remembered captions spelled alike.

    Remembered are captions that are learned first: those whose own clip is the best by the scores `fused`,
    and an eighth of all, where it stands highest below.
    """
    rank = (fused > fused[np.arange(len(own)), own][:, None]).sum(axis=1)
    known = np.argsort(rank, kind="stable")[: int((rank == 0).sum() + _MORE * len(texts))]
    letters = np.array([[text.count(letter) for letter in _LETTERS] for text in texts])
    differing = np.abs(letters[:, None] - letters[known]).sum(axis=2)
    small = np.stack([clip[::8, ::12, ::16].astype(np.float64).ravel() for clip in frames])
    apart = np.sqrt(((small[:, None] - small[None]) ** 2).mean(axis=2))
    near = -_standard(apart, axis=1)[np.array(own)[known]]
    weights = np.exp(-differing / 4)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ near, dtype=np.float64)


def hue_of(colour: npt.NDArray[Any]) -> Floats32:
    """Return the hue in degrees (0 to 360) of RGB in the last axis."""
    red, green, blue = np.moveaxis(np.asarray(colour, dtype=np.float32), -1, 0)
    angle = np.arctan2(np.float32(np.sqrt(3.0)) * (green - blue), 2 * red - green - blue)
    return np.asarray(np.degrees(angle) % 360, dtype=np.float32)


def largest_blob(mask: Bools) -> Bools:
    """Return the largest connected part of `mask` (four neighbours); all of it when it is empty.

    Labels spread to neighbours until none changes: each pixel takes the highest label of its part.
    """
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    while True:
        spread = np.pad(labels, 1)
        around = [spread[:-2, 1:-1], spread[2:, 1:-1], spread[1:-1, :-2], spread[1:-1, 2:]]
        best = np.where(mask, np.maximum.reduce([labels, *around]), 0)
        if (best == labels).all():
            break
        labels = best
    found, sizes = np.unique(labels[mask], return_counts=True)
    return np.asarray(labels == found[sizes.argmax()]) if found.size else mask


def _border(image: Frames) -> Floats:
    """Return the median colour of the border of `image`, 10 px wide."""
    parts = (image[:10], image[-10:], image[:, :10], image[:, -10:])
    return np.asarray(np.median(np.concatenate([part.reshape(-1, 3) for part in parts]), axis=0))


def _wall(image: Frames) -> dict[str, float]:
    light = float(_border(image).mean() / 255)
    return {"light": light, "dark": -light}


def _of_hue(hue: Floats32) -> dict[str, float]:
    return {name: float(_near(hue, each, 35)) for name, each in HUES.items()}


def _near(hues: npt.NDArray[Any], hue: float, width: float) -> npt.NDArray[Any]:
    """Return 1 for hues that are the same, less for others: e⁻¹ where they are `width` degrees apart."""
    turned = (np.asarray(hues) - hue + 180) % 360 - 180
    return np.asarray(np.exp(-((turned / width) ** 2)))


def _waves(radius: Floats) -> Floats:
    """Return how strongly the radius of a form, seen from its middle, waves 1 to 8 times a turn."""
    return np.asarray(np.abs(np.fft.rfft(radius))[1:9] / (radius.sum() + 1e-9) * 2, dtype=np.float64)


def _folded(corners: int) -> Floats:
    """Return the angle from the nearest of so many corners or arms, around a turn."""
    half = np.pi / corners
    return np.asarray(np.abs((np.arange(_ANGLES) * (2 * np.pi / _ANGLES) + half) % (2 * half) - half))


_DENT, _TENTH = 0.45, np.pi / 5  # of a star of five points: how deep between two, and half the angle there
# The radius of ideal forms around their middle.
_FORMS: dict[str, Floats] = {
    "circle": np.ones(_ANGLES),
    "triangle": 1 / np.cos(np.pi / 3 - _folded(3)),
    "square": 1 / np.cos(np.pi / 4 - _folded(4)),
    "cross": np.minimum(1 / np.cos(_folded(4)), 1 / (3 * np.sin(np.maximum(_folded(4), 0.1)))),
    "star": _DENT
    * np.sin(_TENTH)
    / (np.sin(_folded(5)) * (1 - _DENT * np.cos(_TENTH)) + np.cos(_folded(5)) * _DENT * np.sin(_TENTH)),
}


def _standard(values: Floats, *, axis: int) -> Floats:
    middle, spread = values.mean(axis=axis, keepdims=True), values.std(axis=axis, keepdims=True)
    return np.asarray((values - middle) / (spread + 1e-6), dtype=np.float64)
