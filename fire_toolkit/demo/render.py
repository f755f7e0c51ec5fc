"""Clips as frames: shapes drawn with NumPy, edges smoothed, before a grainy and blotched background."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats32
from fire_toolkit.demo.scene import DURATION_S, HEIGHT, WIDTH, Clip, Thing

FRAMES_PER_S = 12
N_FRAMES = int(DURATION_S * FRAMES_PER_S)

Frames: TypeAlias = npt.NDArray[np.uint8]


def render_clip(clip: Clip, *, every: int = 1) -> Frames:
    """Return the frames of `clip`: frame × 120 × 160 × RGB, the same bytes each time.

    Args:
        clip: what to draw.
        every: draw each such frame only, from the first; 1 draws all 24.
    """
    background = _background(clip)
    numbers = range(0, N_FRAMES, every)
    return np.stack([_frame(clip, background, number) for number in numbers])


def render_clips(clips: Iterable[Clip]) -> list[Frames]:
    """Return the frames of each clip, in the order given; see `render_clip`."""
    return list(map(render_clip, clips))


def _frame(clip: Clip, background: Floats32, number: int) -> Frames:
    image = background.copy()
    for thing in clip.things:
        _draw(image, thing, number / (N_FRAMES - 1))
    noise = np.random.default_rng([clip.seed, number]).standard_normal((HEIGHT, WIDTH, 1), dtype=np.float32)
    image += noise * np.float32(clip.grain)
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def _background(clip: Clip) -> Floats32:
    """Return a plain wall with soft coloured patches."""
    coarse = np.random.default_rng([clip.seed, N_FRAMES]).normal(0, 1, (5, 6, 3))
    tall = _between(coarse, HEIGHT)
    patches = _between(tall.swapaxes(0, 1), WIDTH).swapaxes(0, 1)
    return (255 * clip.lightness + 70 * clip.blotches * patches).astype(np.float32)


def _between(values: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.float64]:
    """Return `values` stretched to `length` along the first axis, linearly."""
    places = np.linspace(0, len(values) - 1, length, dtype=np.float64)
    low = np.minimum(places.astype(np.int64), len(values) - 2)
    share = (places - low)[:, None, None]
    return np.asarray(values[low] * (1 - share) + values[low + 1] * share, dtype=np.float64)


def _draw(image: Floats32, thing: Thing, progress: float) -> None:
    centre_x, centre_y = thing.place(progress)
    reach = thing.radius + 2
    left, right = max(0, int(centre_x - reach)), min(WIDTH, int(centre_x + reach) + 2)
    upper, lower = max(0, int(centre_y - reach)), min(HEIGHT, int(centre_y + reach) + 2)
    y, x = np.mgrid[upper:lower, left:right].astype(np.float32)
    x, y = x - np.float32(centre_x), y - np.float32(centre_y)
    cosine, sine = np.float32(np.cos(thing.tilt)), np.float32(np.sin(thing.tilt))
    outside = _OUTLINES[thing.shape](cosine * x + sine * y, cosine * y - sine * x, thing.radius)
    cover = np.clip(0.5 - outside, 0, 1)[..., None]
    colour = 255 * np.array(colorsys.hsv_to_rgb(thing.hue / 360 % 1, 0.82, 0.92), dtype=np.float32)
    patch = image[upper:lower, left:right]
    patch += cover * (colour - patch)


def _circle(x: Floats32, y: Floats32, radius: float) -> Floats32:
    return np.hypot(x, y) - np.float32(radius)


def _square(x: Floats32, y: Floats32, radius: float) -> Floats32:
    return np.maximum(abs(x), abs(y)) - np.float32(0.85 * radius)


def _triangle(x: Floats32, y: Floats32, radius: float) -> Floats32:
    slope = np.float32(np.sqrt(0.75))
    return np.maximum(y, slope * abs(x) - y / 2) - np.float32(radius / 2)


def _star(x: Floats32, y: Floats32, radius: float) -> Floats32:
    """Return the distance to the edge of five points, folded into one half of one point."""
    tenth = np.pi / 5
    angle = abs((np.arctan2(x, -y) + tenth) % (2 * tenth) - tenth)
    distance = np.hypot(x, y)
    inner_x, inner_y = 0.45 * np.cos(tenth), 0.45 * np.sin(tenth)
    length = np.hypot(1 - inner_x, inner_y)
    normal_x, normal_y = inner_y / length, (1 - inner_x) / length
    side = distance * (np.cos(angle) * normal_x + np.sin(angle) * normal_y) - radius * normal_x
    return np.asarray(side, dtype=np.float32)


def _cross(x: Floats32, y: Floats32, radius: float) -> Floats32:
    wide = np.maximum(abs(x) - np.float32(radius), abs(y) - np.float32(radius / 3))
    tall = np.maximum(abs(y) - np.float32(radius), abs(x) - np.float32(radius / 3))
    return np.asarray(np.minimum(wide, tall), dtype=np.float32)


_OUTLINES: dict[str, Callable[[Floats32, Floats32, float], Floats32]] = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "cross": _cross,
}
