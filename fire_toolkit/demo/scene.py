"""What is in a clip, and by how much a condition on it holds.

Every attribute is continuous (hue, radius, distance travelled, ...), so a condition such as "red" or
"small" holds by a margin: 1 is clear to anybody, 0 lies on the border, -1 clearly fails.
"""

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import TypeAlias

WIDTH, HEIGHT = 160, 120
DURATION_S = 2.0
SWINGS = 3  # of a zigzag

HUE_RANGES = {
    "red": (-25.0, 16.0),
    "orange": (16.0, 42.0),
    "yellow": (42.0, 70.0),
    "green": (70.0, 170.0),
    "blue": (170.0, 255.0),
    "purple": (255.0, 335.0),
}
HEADINGS = {"right": 0.0, "up": 90.0, "left": 180.0, "down": 270.0}
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
        aside = self.wobble * (4 * abs((progress * SWINGS) % 1.0 - 0.5) - 1)
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
        min(max(-1.0, min(1.0, holds_by(clip, thing, aspect, value))) for aspect, value in conditions)
        for thing in clip.things
    )


def holds_by(clip: Clip, thing: Thing, aspect: str, value: str) -> float:
    """Return how far beyond its border a thing lies, in units of what is clear."""
    moves = min(1.0, (thing.travel - 14.0) / 8.0)
    if aspect == "shape":
        return 1.0 if thing.shape == value else -1.0
    if aspect == "colour":
        low, high = HUE_RANGES[value]
        return ((high - low) / 2 - abs(_turn(thing.hue - (low + high) / 2))) / 10.0
    if aspect == "size":
        return (12.5 - thing.radius if value == "small" else thing.radius - 19.0) / 2.5
    if aspect == "background":
        return (0.38 - clip.lightness if value == "dark" else clip.lightness - 0.62) / 0.1
    if value == "zigzag":
        return min(moves, (thing.wobble - 6.5) / 3.0)
    if value in HEADINGS:
        return min(moves, (45.0 - abs(_turn(thing.heading - HEADINGS[value]))) / 25.0)
    return moves if value == "moving" else -moves


def _turn(degrees: float) -> float:
    """Return an angle as -180 (inclusive) to 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def read_clips(lines: Iterable[str]) -> tuple[Clip, ...]:
    """Return the clips of things.csv, a line for each shape: those of a clip stand together."""
    clips = []
    for doc_id, own in groupby(csv.DictReader(lines), key=lambda row: row["doc_id"]):
        rows = list(own)
        things = [[float(row[each.name]) for each in fields(Thing)[1:]] for row in rows]
        shapes = tuple(Thing(row["shape"], *numbers) for row, numbers in zip(rows, things, strict=True))
        lightness, blotches, grain = (float(rows[0][name]) for name in ("lightness", "blotches", "grain"))
        clips.append(Clip(doc_id, shapes, lightness, blotches, grain, int(rows[0]["seed"])))
    return tuple(clips)
