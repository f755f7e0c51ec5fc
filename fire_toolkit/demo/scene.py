"""What is in a clip, and by how much a condition on it holds.

Every attribute is continuous (hue, radius, distance travelled, ...), so a condition such as "red" or
"small" holds by a margin: 1 is clear to anybody, 0 lies on the border, -1 clearly fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

WIDTH, HEIGHT = 160, 120
DURATION_S = 2.0

SHAPES = ("circle", "square", "triangle", "star", "cross")
HUE_RANGES = {
    "red": (-25.0, 16.0),
    "orange": (16.0, 42.0),
    "yellow": (42.0, 70.0),
    "green": (70.0, 170.0),
    "blue": (170.0, 255.0),
    "purple": (255.0, 335.0),
}
HEADINGS = {"right": 0.0, "up": 90.0, "left": 180.0, "down": 270.0}

SMALL_PX, LARGE_PX = 12.5, 19.0
MOVING_PX, ZIGZAG_PX = 14.0, 6.5
DARK, LIGHT = 0.38, 0.62
SWINGS = 3

Condition: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Thing:
    """One shape and its path, in pixels of a 160×120 frame.

    hue: degrees; radius: px; tilt: radians; heading: degrees, 0 is right and 90 is up; travel: px
    along the heading over the whole clip; wobble: px, how far a zigzag swings to either side;
    x, y: the middle of the path, y downwards.
    """

    shape: str
    hue: float
    radius: float
    tilt: float
    heading: float
    travel: float
    wobble: float
    x: float
    y: float

    def place(self, progress: float) -> tuple[float, float]:
        """Return the centre in pixels at `progress` through the clip, 0 to 1."""
        along = (progress - 0.5) * self.travel
        phase = (progress * SWINGS) % 1.0
        aside = self.wobble * (4 * abs(phase - 0.5) - 1)
        cosine, sine = math.cos(math.radians(self.heading)), math.sin(math.radians(self.heading))
        return self.x + along * cosine + aside * sine, self.y - along * sine + aside * cosine


@dataclass(frozen=True)
class Clip:
    """One clip: its shapes, drawn in order, before a background.

    lightness: of the background, 0 black to 1 white; blotches: strength of the coloured patches in
    it, 0 to 1; grain: standard deviation of the noise in each frame, grey levels; seed: of both.
    """

    doc_id: str
    things: tuple[Thing, ...]
    lightness: float
    blotches: float
    grain: float
    seed: int


def margin(clip: Clip, conditions: Sequence[Condition]) -> float:
    """Return by how much some one shape of `clip` meets all `conditions`, -1 to 1; true above 0.

    Args:
        clip: the clip.
        conditions: pairs of aspect (shape, colour, size, motion, background) and value.

    A conjunction holds as far as its weakest part; a clip meets it as far as its best shape does.

    Examples:
        >>> star = Thing("star", 0, 9, 0, 180, 60, 0, 80, 60)
        >>> clip = Clip("clip-001", (star,), lightness=0.1, blotches=0, grain=2, seed=1)
        >>> margin(clip, [("colour", "red"), ("motion", "left")])
        1.0
        >>> margin(clip, [("colour", "red"), ("motion", "right")])
        -1.0
    """
    return max(
        min(_MARGINS[aspect](clip, thing, value) for aspect, value in conditions) for thing in clip.things
    )


def holding(clip: Clip, thing: Thing) -> dict[str, list[str]]:
    """Return, for each aspect, the values that hold of `thing`; empty for a medium size, say."""
    return {
        aspect: [value for value in values if _MARGINS[aspect](clip, thing, value) > 0]
        for aspect, values in VALUES.items()
    }


VALUES: dict[str, tuple[str, ...]] = {
    "shape": SHAPES,
    "colour": tuple(HUE_RANGES),
    "size": ("small", "large"),
    "motion": (*HEADINGS, "zigzag", "still", "moving"),
    "background": ("dark", "light"),
}


def _clipped(value: float) -> float:
    return max(-1.0, min(1.0, value))


def _turn(degrees: float) -> float:
    """Return an angle as -180 (inclusive) to 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def _shape_margin(_clip: Clip, thing: Thing, value: str) -> float:
    return 1.0 if thing.shape == value else -1.0


def _colour_margin(_clip: Clip, thing: Thing, value: str) -> float:
    low, high = HUE_RANGES[value]
    middle, half = (low + high) / 2, (high - low) / 2
    return _clipped((half - abs(_turn(thing.hue - middle))) / 10.0)


def _size_margin(_clip: Clip, thing: Thing, value: str) -> float:
    over = SMALL_PX - thing.radius if value == "small" else thing.radius - LARGE_PX
    return _clipped(over / 2.5)


def _motion_margin(_clip: Clip, thing: Thing, value: str) -> float:
    moving = _clipped((thing.travel - MOVING_PX) / 8.0)
    if value == "moving":
        return moving
    if value == "still":
        return -moving
    if value == "zigzag":
        return min(moving, _clipped((thing.wobble - ZIGZAG_PX) / 3.0))
    return min(moving, _clipped((45.0 - abs(_turn(thing.heading - HEADINGS[value]))) / 25.0))


def _background_margin(clip: Clip, _thing: Thing, value: str) -> float:
    over = DARK - clip.lightness if value == "dark" else clip.lightness - LIGHT
    return _clipped(over / 0.1)


_MARGINS: dict[str, Callable[[Clip, Thing, str], float]] = {
    "shape": _shape_margin,
    "colour": _colour_margin,
    "size": _size_margin,
    "motion": _motion_margin,
    "background": _background_margin,
}
