"""What captions ask and how they say it: conditions of three levels, worded in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.demo.scene import Clip, Condition, Thing, holding
from fire_toolkit.errors import UsageError

LEVEL_TURNS = (1, 2, 3, 3, 2)

_NOUNS = {
    "circle": ("circle", "disc", "ball"),
    "square": ("square", "box"),
    "triangle": ("triangle",),
    "star": ("star",),
    "cross": ("cross", "plus sign"),
}
_ADJECTIVES = {
    "small": ("small", "little", "tiny"),
    "large": ("large", "big"),
    "red": ("red",),
    "orange": ("orange",),
    "yellow": ("yellow",),
    "green": ("green",),
    "blue": ("blue",),
    "purple": ("purple", "violet"),
}
_VERBS = {
    "left": ("moves left", "goes to the left", "is moving to the left", "slides left"),
    "right": ("moves right", "goes to the right", "is moving to the right", "slides right"),
    "up": ("moves up", "rises", "goes upwards", "climbs"),
    "down": ("moves down", "falls", "goes downwards", "sinks"),
    "zigzag": ("zigzags", "moves in a zigzag", "swerves from side to side"),
    "still": ("stays where it is", "does not move", "stands still"),
    "moving": ("moves", "is moving", "travels"),
}
_BACKGROUNDS = {
    "dark": ("on a dark background", "in the dark", "in front of a dark wall"),
    "light": ("on a light background", "in front of a bright wall", "on a pale background"),
}


@dataclass(frozen=True)
class Caption:
    """A caption: its own clip, its level (1 general to 3 specific), its words and what they ask."""

    doc_id: str
    level: int
    text: str
    conditions: tuple[Condition, ...]


def write_captions(
    clips: Sequence[Clip], *, n_captions: int, rng: np.random.Generator, repeat_texts: bool = False
) -> list[Caption]:
    """Return captions that are true of their clips; a fifth is general, two fifths are specific.

    Args:
        clips: what to describe, in turn.
        n_captions: how many; clips have one more or less of them than others at most.
        rng: chooses what is described and how.
        repeat_texts: whether two captions may have the same text.

    Raises:
        UsageError: no text is left that was not used.
    """
    captions: list[Caption] = []
    used: set[object] = set()
    for number in range(n_captions):
        lap, place = divmod(number, len(clips))
        level = LEVEL_TURNS[(number + 2 * lap) % len(LEVEL_TURNS)]
        captions.append(_new_caption(clips[place], level, used, rng))
        if not repeat_texts:
            used |= {captions[-1].text, captions[-1].conditions}
    return captions


_TRIES = 100


def _new_caption(clip: Clip, level: int, used: set[object], rng: np.random.Generator) -> Caption:
    """Return a caption whose text is not in `used`, and whose conditions are not if that can be had."""
    for attempt in range(2 * _TRIES):
        thing = clip.things[int(rng.integers(len(clip.things)))]
        conditions = tuple(choose_conditions(clip, thing, level, rng))
        text = word_caption(conditions, rng)
        if text not in used and (conditions not in used or attempt >= _TRIES):
            return Caption(clip.doc_id, level, text, conditions)
    raise UsageError(f"no new caption of level {level} for {clip.doc_id}: ask for fewer captions or clips")


def choose_conditions(clip: Clip, thing: Thing, level: int, rng: np.random.Generator) -> list[Condition]:
    """Return conditions that all hold of `thing`: the more of them, the higher the level.

    Args:
        clip: the clip with `thing` in it.
        thing: what the caption is to be about.
        level: 1, one aspect (or a colour and that it moves); 2, two aspects; 3, all there is to say.
        rng: chooses which.
    """
    true = holding(clip, thing)
    motions = [value for value in true["motion"] if value != "moving"]
    described = {aspect: [str(rng.choice(values))] for aspect, values in true.items() if values}
    described["motion"] = [str(rng.choice(motions or ["moving"]))]
    if level == 1:
        described.pop("background", None)
        aspect = str(rng.choice(sorted(described)))
        if aspect == "colour" and "moving" in true["motion"] and rng.random() < 0.5:
            return [("colour", described["colour"][0]), ("motion", "moving")]
        return [(aspect, described[aspect][0])]
    if level == 2:
        pairs = (("colour", "shape"), ("colour", "motion"), ("motion", "shape"), ("shape", "size"))
        first, second = pairs[int(rng.integers(len(pairs) if "size" in described else len(pairs) - 1))]
        return [(first, described[first][0]), (second, described[second][0])]
    return [(aspect, values[0]) for aspect, values in sorted(described.items())]


def word_caption(conditions: Sequence[Condition], rng: np.random.Generator) -> str:
    """Return an English caption that says `conditions` and nothing else; `rng` chooses the phrasing.

    Examples:
        >>> word_caption([("colour", "orange"), ("shape", "star")], np.random.default_rng(0))
        'an orange star'
    """
    described = dict(conditions)
    subject = _subject(described, rng)
    words = subject if "motion" not in described else f"{subject} {_pick(_VERBS[described['motion']], rng)}"
    if "background" in described:
        behind = _pick(_BACKGROUNDS[described["background"]], rng)
        words = f"{behind}, {words}" if rng.random() < 0.3 else f"{words} {behind}"
    elif "motion" not in described and rng.random() < 0.4:
        words = f"there is {words}"
    return words


def _subject(described: dict[str, str], rng: np.random.Generator) -> str:
    adjectives = [
        _pick(_ADJECTIVES[described[aspect]], rng) for aspect in ("size", "colour") if aspect in described
    ]
    if "shape" in described:
        noun = _pick(_NOUNS[described["shape"]], rng)
    elif rng.random() < 0.5:
        return " ".join(["something", " and ".join(adjectives)]).strip()
    else:
        noun = _pick(("thing", "shape", "object"), rng)
    phrase = " ".join([*adjectives, noun])
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def _pick(phrases: Sequence[str], rng: np.random.Generator) -> str:
    return phrases[int(rng.integers(len(phrases)))]
