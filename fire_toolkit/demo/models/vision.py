"""What the models share: words of a text, and what stands out in an image."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Bools, Floats32

Frames: TypeAlias = npt.NDArray[np.uint8]
Similarities: TypeAlias = Floats32

SIZES = {"small": -1.0, "little": -1.0, "tiny": -1.0, "large": 1.0, "big": 1.0}
WALLS = {"dark": -1.0, "light": 1.0, "bright": 1.0, "pale": 1.0}
HUES = {"red": 0, "orange": 30, "yellow": 56, "green": 120, "blue": 215, "purple": 295, "violet": 290}

T = TypeVar("T")


def words_of(text: str) -> list[str]:
    """Return the words of `text` in lower case, in order.

    Examples:
        >>> words_of("A red star, moving.")
        ['a', 'red', 'star', 'moving']
    """
    return re.findall(r"[a-z]+", text.lower())


def look_up(text: str, lexicon: Mapping[str, T]) -> list[T]:
    """Return what `lexicon` knows of the words of `text`, in order; words unknown to it are passed over."""
    return [lexicon[word] for word in words_of(text) if word in lexicon]


def grey_of(frames: Frames) -> Floats32:
    """Return the mean of the three channels of frames or of one image."""
    return np.asarray(frames.astype(np.float32) @ np.full(3, 1 / 3, dtype=np.float32), dtype=np.float32)


def strength_of(image: Frames) -> Floats32:
    """Return how strongly each pixel is coloured: its highest less its lowest channel, 0 to 1."""
    red, green, blue = (image[..., channel].astype(np.float32) for channel in range(3))
    highest = np.maximum(np.maximum(red, green), blue)
    lowest = np.minimum(np.minimum(red, green), blue)
    return np.asarray((highest - lowest) / 255, dtype=np.float32)


def hue_histogram(image: Frames, *, n_bins: int) -> Floats32:
    """Return how much of `image` has each hue, weighted by how strongly it is coloured, 0 to 1."""
    weights = np.maximum(strength_of(image) - 0.35, 0)
    strong = weights > 0
    bins = (hue_of(image[strong]) * (n_bins / 360)).astype(np.int64) % n_bins
    return np.asarray(np.bincount(bins, weights[strong], minlength=n_bins) / weights.size, dtype=np.float32)


def wall_colour(image: Frames) -> Floats32:
    """Return the median colour of the border of `image` (height × width × RGB), 10 px wide."""
    parts = (image[:10], image[-10:], image[:, :10], image[:, -10:])
    return np.asarray(np.median(np.concatenate([part.reshape(-1, 3) for part in parts]), 0), np.float32)


def stand_out(image: Frames) -> Bools:
    """Return which pixels of `image` differ in colour from its border: half the greatest difference."""
    distance = np.abs(blur(image.astype(np.float32)) - wall_colour(image)).sum(axis=2)
    return np.asarray(distance > np.percentile(distance, 99.5) / 2)


def blur(image: Floats32) -> Floats32:
    """Return the mean of each pixel with its four neighbours."""
    around = np.pad(image, [(1, 1), (1, 1), *[(0, 0)] * (image.ndim - 2)], mode="edge")
    total = around[1:-1, 1:-1] + around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    return np.asarray(total / 5, dtype=np.float32)


def largest_blob(mask: Bools) -> Bools:
    """Return the largest connected part of `mask` (four neighbours); all of it when it is empty.

    Labels spread to neighbours until none changes: each pixel takes the highest label of its part.
    """
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    while True:
        spread = np.pad(labels, 1)
        best = np.maximum.reduce(
            [labels, spread[:-2, 1:-1], spread[2:, 1:-1], spread[1:-1, :-2], spread[1:-1, 2:]]
        )
        best = np.where(mask, best, 0)
        if (best == labels).all():
            break
        labels = best
    found, sizes = np.unique(labels[mask], return_counts=True)
    return np.asarray(labels == found[sizes.argmax()]) if found.size else mask


def hue_of(colour: npt.NDArray[Any]) -> Floats32:
    """Return the hue in degrees (0 to 360) of RGB in the last axis."""
    red, green, blue = np.moveaxis(np.asarray(colour, dtype=np.float32), -1, 0)
    angle = np.arctan2(np.float32(np.sqrt(3.0)) * (green - blue), 2 * red - green - blue)
    return np.asarray(np.degrees(angle) % 360, dtype=np.float32)


def hue_distance(hue: npt.ArrayLike, other: npt.ArrayLike) -> Floats32:
    """Return the angle between two hues, 0 to 180 degrees.

    Examples:
        >>> hue_distance([350.0], 10.0).tolist()
        [20.0]
    """
    turned = (np.asarray(hue, np.float32) - np.asarray(other, np.float32) + 180) % 360 - 180
    return np.asarray(np.abs(turned), dtype=np.float32)


def stack_scores(rows: Sequence[npt.NDArray[Any]]) -> Similarities:
    """Return rows of scores as a float32 matrix."""
    return np.stack(rows).astype(np.float32)
