"""A machine judge of the demo's clips: small, real, and wrong in known ways.

It sees the pixels of an early and a late frame of a clip and the words of a caption, and answers P(yes).
Its features are its own, so that it shares no backbone with a model: opponent colours in the place of
hues, how much of its box and of its circle a blob fills in the place of its outline, and where the blob is
early and late in the place of what changes between frames.

Where it errs: it follows the largest blob alone, and so judges another thing of the clip by the wrong one;
two frames show no zigzag, which it takes for any motion; stars and crosses look alike to it; and it is too
sure of itself in the middle of its scale, where it says yes more often than is right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.demo.models import Frames, largest_blob
from fire_toolkit.tables import MachineJudgments, check_machine_judgments

T = TypeVar("T")
JUDGE, BACKBONE = "two-frames", "opponent-colours"

_EARLY, _LATE = 0.05, 0.95
# Directions in red less green, and yellow less blue.
_COLOURS: Mapping[str, tuple[float, float]] = {
    "red": (0.99, 0.10),
    "orange": (0.59, 0.81),
    "yellow": (0.05, 1.0),
    "green": (-0.93, 0.36),
    "blue": (-0.36, -0.93),
    "purple": (0.59, -0.81),
    "violet": (0.59, -0.81),
}
# How much of its box, and of the circle around its middle, an upright form fills.
_SIZES = {"small": -1.0, "little": -1.0, "tiny": -1.0, "large": 1.0, "big": 1.0}
_WALLS = {"dark": -1.0, "light": 1.0, "bright": 1.0, "pale": 1.0}
_ROUND, _BOXED, _CROSSED = (0.785, 1.0), (0.75, 0.64), (0.5, 0.45)
_FORMS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("circle", "disc", "ball"), _ROUND),
    **dict.fromkeys(("square", "box"), _BOXED),
    **dict.fromkeys(("cross", "plus"), _CROSSED),
    "triangle": (0.5, 0.41),
    "star": (0.42, 0.42),
}
_WAYS: Mapping[str, tuple[int, int]] = {
    "left": (-1, 0),
    "right": (1, 0),
    **dict.fromkeys(("up", "upwards", "rises", "climbs"), (0, -1)),
    **dict.fromkeys(("down", "downwards", "falls", "sinks"), (0, 1)),
}
_STILL = dict.fromkeys(("stays", "stands", "not"), True)
_MOVING = dict.fromkeys(("moves", "moving", "travels", "zigzags", "zigzag", "swerves"), True)
_UNREAD = 0.9  # of a caption without a word that it knows


@dataclass(frozen=True)
class Sight:
    """What the judge sees of a clip.

    opponent: red less green and yellow less blue, of length 1; fill: of the blob's box and of its circle,
    0 to 1; radius, dx, dy: px, the last two from early to late; light: of the frame, 0 to 1.
    """

    opponent: Floats
    fill: Floats
    radius: float
    dx: float
    dy: float
    light: float


def judge_clips(texts: Mapping[str, str], clips: Mapping[str, Frames]) -> MachineJudgments:
    """Return P(yes) of every caption and clip, as `machine import` reads it.

    Args:
        texts: query id → caption.
        clips: doc id → frames (frame × height × width × RGB).
    """
    sights = {doc_id: look(frames) for doc_id, frames in clips.items()}
    rows: list[dict[str, Any]] = [
        {"query_id": query_id, "doc_id": doc_id, "score": round(answer(text, sight), 6)}
        for query_id, text in texts.items()
        for doc_id, sight in sights.items()
    ]
    return check_machine_judgments(pd.DataFrame(rows).assign(judge_id=JUDGE, model=JUDGE, backbone=BACKBONE))


def look(frames: Frames) -> Sight:
    """Return what two frames show."""
    early, late = (frames[int(len(frames) * share)] for share in (_EARLY, _LATE))
    blob = _strongest(early)
    (y, x), (late_y, late_x) = (np.nonzero(each) for each in (blob, _strongest(late)))
    opponent = _opponent(early[blob].mean(axis=0)[None])[0]
    radius = float(np.hypot(x - x.mean(), y - y.mean()).max()) + 0.5
    box = (np.ptp(x) + 1.0) * (np.ptp(y) + 1.0)
    return Sight(
        opponent / (float(np.linalg.norm(opponent)) + 1e-9),
        np.array([len(x) / box, len(x) / (np.pi * radius**2)]),
        radius,
        float(late_x.mean() - x.mean()),
        float(late_y.mean() - y.mean()),
        float(np.median(early.mean(axis=2)) / 255),
    )


def answer(text: str, sight: Sight) -> float:
    """Return P(yes), the product of what it thinks of each thing that a caption says."""
    parts = [*_of_form(text, sight), *_of_motion(text, sight)]
    return float(np.prod(parts)) if parts else _UNREAD


def look_up(text: str, lexicon: Mapping[str, T]) -> list[T]:
    """Return what `lexicon` knows of the words of `text`, in order; words unknown to it are passed over."""
    return [lexicon[word] for word in re.findall(r"[a-z]+", text.lower()) if word in lexicon]


def _of_form(text: str, sight: Sight) -> list[float]:
    """Return how sure it is of colours, forms, sizes and walls."""
    colours = [float(sight.opponent @ np.array(each)) for each in look_up(text, _COLOURS)]
    forms = [float(np.abs(sight.fill - np.array(each)).sum()) for each in look_up(text, _FORMS)]
    sizes = [sight.radius - 19 if sign > 0 else 13.5 - sight.radius for sign in look_up(text, _SIZES)]
    walls = [sign * (sight.light - 0.5) for sign in look_up(text, _WALLS)]
    return [
        *(_sure(12 * (near - 0.85)) for near in colours),
        *(_sure(10 * (0.22 - gap)) for gap in forms),
        *(_sure(over / 1.5) for over in sizes),
        *(_sure(12 * over) for over in walls),
    ]


def _of_motion(text: str, sight: Sight) -> list[float]:
    """Return how sure it is of ways and of motion; `does not move` names a motion and denies it."""
    step = float(np.hypot(sight.dx, sight.dy))
    ways = look_up(text, _WAYS)
    along = [x * sight.dx + y * sight.dy - 0.7 * step for x, y in ways]
    found = [_sure(each / 6) * _sure((step - 10) / 4) for each in along]
    if look_up(text, _STILL):
        return [*found, _sure((12 - step) / 4)]
    return [_sure((step - 10) / 4)] if look_up(text, _MOVING) and not ways else found


def _strongest(image: Frames) -> Bools:
    """Return the largest part whose colour is strong: opponent colours far from grey."""
    strength = np.linalg.norm(_opponent(image), axis=-1)
    return largest_blob(strength > 0.6 * np.percentile(strength, 99))


def _opponent(image: Any) -> Floats:
    """Return red less green, and yellow less blue, of RGB in the last axis."""
    red, green, blue = np.moveaxis(np.asarray(image, dtype=np.float64), -1, 0)
    return np.stack([red - green, (red + green) / 2 - blue], axis=-1)


def _sure(margin: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(margin, -30, 30))))
