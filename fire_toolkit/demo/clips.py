"""Clips drawn at random from a seed: plain ones, noisy ones, and some on the border of two words."""

from __future__ import annotations

import numpy as np

from fire_toolkit.demo.scene import HEADINGS, HEIGHT, HUE_RANGES, SHAPES, WIDTH, Clip, Thing


def make_clips(n_clips: int, *, rng: np.random.Generator) -> tuple[Clip, ...]:
    """Return `n_clips` clips with ids clip-001 and on; one in five has two shapes."""
    digits = max(3, len(str(n_clips)))
    return tuple(_make_clip(f"clip-{number:0{digits}}", rng) for number in range(1, n_clips + 1))


def _make_clip(doc_id: str, rng: np.random.Generator) -> Clip:
    things = tuple(_make_thing(rng) for _ in range(2 if rng.random() < 0.2 else 1))
    lightness = rng.uniform(0.08, 0.3) if rng.random() < 0.5 else rng.uniform(0.3, 0.9)
    return Clip(
        doc_id=doc_id,
        things=things,
        lightness=float(lightness),
        blotches=float(rng.uniform(0.25, 0.5) if rng.random() < 0.4 else rng.uniform(0.0, 0.1)),
        grain=float(rng.uniform(8.0, 14.0) if rng.random() < 0.35 else rng.uniform(1.0, 4.0)),
        seed=int(rng.integers(2**31)),
    )


def _make_thing(rng: np.random.Generator) -> Thing:
    radius = float(rng.choice([rng.uniform(8, 13), rng.uniform(12, 20), rng.uniform(18.5, 26)]))
    heading, travel, wobble = _make_motion(rng)
    reach_x, reach_y = radius + 2 + wobble, radius + 2 + wobble
    turn = np.radians(heading)
    travel = min(travel, (HEIGHT - 2 * reach_y) / max(abs(np.sin(turn)), 0.01))
    reach_x += travel / 2 * abs(np.cos(turn))
    reach_y += travel / 2 * abs(np.sin(turn))
    return Thing(
        shape=str(rng.choice(SHAPES)),
        hue=_make_hue(rng),
        radius=radius,
        tilt=float(rng.normal(0, 0.12)),
        heading=heading,
        travel=float(travel),
        wobble=wobble,
        x=float(rng.uniform(reach_x, WIDTH - reach_x)),
        y=float(rng.uniform(reach_y, max(reach_y, HEIGHT - reach_y))),
    )


def _make_hue(rng: np.random.Generator) -> float:
    low, high = HUE_RANGES[str(rng.choice(sorted(HUE_RANGES)))]
    near_border = rng.random() < 0.25
    return float(high + rng.uniform(-6, 6) if near_border else (low + high) / 2 + rng.uniform(-7, 7))


def _make_motion(rng: np.random.Generator) -> tuple[float, float, float]:
    """Return heading (degrees), travel and wobble (px): moving, drifting or still; some zigzag."""
    heading = float(rng.choice(sorted(HEADINGS.values())) + rng.normal(0, 6))
    if rng.random() < 0.15:
        heading += float(rng.uniform(25, 50))
    kind = rng.random()
    if kind < 0.22:
        return heading, float(rng.uniform(0, 5)), 0.0
    if kind < 0.34:
        return heading, float(rng.uniform(8, 22)), 0.0
    wobble = rng.uniform(4, 13) if rng.random() < 0.25 else 0.0
    return heading, float(rng.uniform(35, 80)), float(wobble)
