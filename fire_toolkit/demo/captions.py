"""What captions ask and how they say it: conditions of three levels, worded in several ways."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from fire_toolkit.demo.scene import Clip, Condition, Thing, holding
from fire_toolkit.errors import UsageError

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
    true = holding(clip, thing)
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


@cache
def _words() -> dict[str, dict[str, list[str]]]:
    text = (files("fire_toolkit.demo") / "words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def word_caption(conditions: Sequence[Condition], rng: np.random.Generator) -> str:
    """Return an English caption that says `conditions` and nothing else; `rng` chooses the phrasing.

    Examples:
        >>> word_caption([("colour", "orange"), ("shape", "star")], np.random.default_rng(0))
        'an orange star'
    """
    described = dict(conditions)

    def say(aspect: str) -> str:
        return _pick(_words()[aspect][described[aspect]], rng)

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
