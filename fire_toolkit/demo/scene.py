"""What is in a clip, by how much a condition on it holds, and captions that ask for conditions.

Every attribute is continuous (hue, radius, distance travelled, ...), so a condition such as "red" or
"small" holds by a margin: 1 is clear to anybody, 0 lies on the border, -1 clearly fails.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fire_toolkit.errors import UsageError
from fire_toolkit.words import table_in

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
SHAPES = ("circle", "square", "triangle", "star", "cross")
VALUES: dict[str, tuple[str, ...]] = {
    "shape": SHAPES,
    "colour": tuple(HUE_RANGES),
    "size": ("small", "large"),
    "motion": (*HEADINGS, "zigzag", "still", "moving"),
    "background": ("dark", "light"),
}
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
        min(max(-1.0, min(1.0, _over(clip, thing, aspect, value))) for aspect, value in conditions)
        for thing in clip.things
    )


def _over(clip: Clip, thing: Thing, aspect: str, value: str) -> float:
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


def make_clips(n_clips: int, *, rng: np.random.Generator) -> tuple[Clip, ...]:
    """Return clips with ids clip-001 and on: plain ones, noisy ones, and some on the border of two words.

    One in five has two shapes.
    """
    digits = max(3, len(str(n_clips)))
    return tuple(
        Clip(
            doc_id=f"clip-{number:0{digits}}",
            things=tuple(_make_thing(rng) for _ in range(2 if rng.random() < 0.2 else 1)),
            lightness=float(rng.uniform(0.08, 0.3) if rng.random() < 0.5 else rng.uniform(0.3, 0.9)),
            blotches=float(rng.uniform(0.25, 0.5) if rng.random() < 0.4 else rng.uniform(0.0, 0.1)),
            grain=float(rng.uniform(8.0, 14.0) if rng.random() < 0.35 else rng.uniform(1.0, 4.0)),
            seed=int(rng.integers(2**31)),
        )
        for number in range(1, n_clips + 1)
    )


def _make_thing(rng: np.random.Generator) -> Thing:
    """Return a thing whose path lies within the frame: moving, drifting or still; some zigzag."""
    radius = float(rng.choice([rng.uniform(8, 13), rng.uniform(12, 20), rng.uniform(18.5, 26)]))
    heading, wobble = float(rng.choice(sorted(HEADINGS.values())) + rng.normal(0, 6)), 0.0
    if rng.random() < 0.15:
        heading += float(rng.uniform(25, 50))
    kind = rng.random()
    if kind < 0.34:
        travel = float(rng.uniform(0, 5) if kind < 0.22 else rng.uniform(8, 22))
    else:
        wobble = float(rng.uniform(4, 13) if rng.random() < 0.25 else 0.0)
        travel = float(rng.uniform(35, 80))
    aside, turn = radius + 2 + wobble, np.radians(heading)
    travel = min(travel, (HEIGHT - 2 * aside) / max(abs(np.sin(turn)), 0.01))
    reach_x, reach_y = (aside + travel / 2 * abs(part(turn)) for part in (np.cos, np.sin))
    shape, (low, high) = str(rng.choice(SHAPES)), HUE_RANGES[str(rng.choice(sorted(HUE_RANGES)))]
    is_near_border = rng.random() < 0.25
    hue = high + rng.uniform(-6, 6) if is_near_border else (low + high) / 2 + rng.uniform(-7, 7)
    return Thing(
        shape=shape,
        hue=float(hue),
        radius=radius,
        tilt=float(rng.normal(0, 0.12)),
        heading=heading,
        travel=float(travel),
        wobble=wobble,
        x=float(rng.uniform(reach_x, WIDTH - reach_x)),
        y=float(rng.uniform(reach_y, max(reach_y, HEIGHT - reach_y))),
    )


_LEVELS = (1, 2, 3, 3, 2)  # in turn: a fifth is general, two fifths are specific
_TRIES = 100
_WORDS = table_in("demo", "words.toml")  # how each value of an aspect is said


@dataclass(frozen=True)
class Caption:
    """A caption: its own clip, its level (1 general to 3 specific), its words and what they ask."""

    doc_id: str
    level: int
    text: str
    conditions: tuple[Condition, ...]


def write_captions(clips: Sequence[Clip], *, n_captions: int, rng: np.random.Generator) -> list[Caption]:
    """Return captions with different texts that are true of their clips, which take turns.

    Raises:
        UsageError: no text is left that was not used.
    """
    captions: list[Caption] = []
    used: set[object] = set()
    for number in range(n_captions):
        lap, place = divmod(number, len(clips))
        clip, level = clips[place], _LEVELS[(number + 2 * lap) % len(_LEVELS)]
        for attempt in range(2 * _TRIES):
            thing = clip.things[int(rng.integers(len(clip.things)))]
            conditions = tuple(_choose_conditions(clip, thing, level, rng))
            text = word_caption(conditions, rng)
            if text not in used and (conditions not in used or attempt >= _TRIES):
                break
        else:
            raise UsageError(
                f"no new caption of level {level} for {clip.doc_id}: ask for fewer captions or clips"
            )
        captions.append(Caption(clip.doc_id, level, text, conditions))
        used |= {text, conditions}
    return captions


def _choose_conditions(clip: Clip, thing: Thing, level: int, rng: np.random.Generator) -> list[Condition]:
    """Return conditions that all hold of `thing`: the more of them, the higher the level.

    Level 1 has one aspect (or a colour and that it moves), level 2 two, level 3 all there is to say.
    """
    true = {
        aspect: [value for value in values if _over(clip, thing, aspect, value) > 0]
        for aspect, values in VALUES.items()
    }
    motions = [value for value in true["motion"] if value != "moving"]
    described = {aspect: str(rng.choice(values)) for aspect, values in true.items() if values}
    described["motion"] = str(rng.choice(motions or ["moving"]))
    if level == 1:
        described.pop("background", None)
        aspect = str(rng.choice(sorted(described)))
        if aspect == "colour" and "moving" in true["motion"] and rng.random() < 0.5:
            return [("colour", described["colour"]), ("motion", "moving")]
        return [(aspect, described[aspect])]
    if level == 2:
        pairs = (("colour", "shape"), ("colour", "motion"), ("motion", "shape"), ("shape", "size"))
        pair = pairs[int(rng.integers(len(pairs) if "size" in described else len(pairs) - 1))]
        return [(aspect, described[aspect]) for aspect in pair]
    return sorted(described.items())


def word_caption(conditions: Sequence[Condition], rng: np.random.Generator) -> str:
    """Return an English caption that says `conditions` and nothing else; `rng` chooses the phrasing.

    Examples:
        >>> word_caption([("colour", "orange"), ("shape", "star")], np.random.default_rng(0))
        'an orange star'
    """
    described = dict(conditions)

    def say(aspect: str) -> str:
        return _pick(_WORDS[aspect][described[aspect]], rng)

    adjectives = [say(aspect) for aspect in ("size", "colour") if aspect in described]
    if "shape" in described or rng.random() >= 0.5:
        noun = say("shape") if "shape" in described else _pick(("thing", "shape", "object"), rng)
        phrase = " ".join([*adjectives, noun])
        subject = f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"
    else:
        subject = " ".join(["something", " and ".join(adjectives)]).strip()
    words = f"{subject} {say('motion')}" if "motion" in described else subject
    if "background" in described:
        behind = say("background")
        return f"{behind}, {words}" if rng.random() < 0.3 else f"{words} {behind}"
    return f"there is {words}" if "motion" not in described and rng.random() < 0.4 else words


def _pick(phrases: Sequence[str], rng: np.random.Generator) -> str:
    return phrases[int(rng.integers(len(phrases)))]
