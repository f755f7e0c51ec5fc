"""Draw the demo's world, and write it as the tables in fire_toolkit/demo: python docs/build_demo_world.py.

Clips are drawn first, then captions that are true of them. Another seed gives another world.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fire_toolkit.demo.scene import HEADINGS, HEIGHT, HUE_RANGES, WIDTH, Clip, Condition, Thing, holds_by

DEMO = Path(__file__).parents[1] / "fire_toolkit" / "demo"
SHAPES = ("circle", "square", "triangle", "star", "cross")
VALUES: dict[str, tuple[str, ...]] = {
    "shape": SHAPES,
    "colour": tuple(HUE_RANGES),
    "size": ("small", "large"),
    "motion": (*HEADINGS, "zigzag", "still", "moving"),
    "background": ("dark", "light"),
}
# How each value of an aspect is said.
_WORDS = tomllib.loads(Path(__file__).with_name("demo_words.toml").read_text(encoding="utf-8"))


def drawn_tables(seed: int = 0, n_clips: int = 60, n_captions: int = 100) -> dict[str, str]:
    """Return things.csv and captions.csv of a world, as `make_world` takes them."""
    rng = np.random.default_rng([seed, 1])
    clips = make_clips(n_clips, rng=rng)
    captions = write_captions(clips, n_captions=n_captions, rng=rng)
    of_things = (
        {**asdict(thing), **{name: own for name, own in asdict(clip).items() if name != "things"}}
        for clip in clips
        for thing in clip.things
    )
    of_captions = (
        {**asdict(each), "conditions": ";".join(map(" ".join, each.conditions))} for each in captions
    )
    return {"things.csv": _table(of_things), "captions.csv": _table(of_captions)}


def _table(rows: Iterable[Mapping[str, object]]) -> str:
    first, *others = rows
    writer = csv.DictWriter(text := io.StringIO(), list(first), lineterminator="\n")
    writer.writeheader()
    writer.writerows([first, *others])
    return text.getvalue()


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
        ValueError: no text is left that was not used.
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
            raise ValueError(f"no new caption of level {level} for {clip.doc_id}: ask for fewer")
        captions.append(Caption(clip.doc_id, level, text, conditions))
        used |= {text, conditions}
    return captions


def _choose_conditions(clip: Clip, thing: Thing, level: int, rng: np.random.Generator) -> list[Condition]:
    """Return conditions that all hold of `thing`: the more of them, the higher the level.

    Level 1 has one aspect (or a colour and that it moves), level 2 two, level 3 all there is to say.
    """
    true = {
        aspect: [value for value in values if holds_by(clip, thing, aspect, value) > 0]
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


if __name__ == "__main__":
    for name, text in drawn_tables().items():
        (DEMO / name).write_text(text, encoding="utf-8")
