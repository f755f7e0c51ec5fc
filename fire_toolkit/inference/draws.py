"""Seeded draws with replacement: how often each unit, or each kind of unit, is drawn in each resample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError

_CELLS = 1 << 20  # counts held at a time


def draw_units(n_units: int, *, n_resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield stretches of resamples: which they are, and how often each unit is drawn, (resamples, n_units).

    As many units are drawn as there are, one by one: each row is multinomial, exactly.

    Raises:
        UsageError: a number of resamples below 1 or a seed below 0.
    """
    for part, rng in _parts(n_resamples, n_units, seed):
        drawn = rng.integers(0, n_units, size=(part.stop - part.start, n_units))
        yield part, np.stack([np.bincount(row, minlength=n_units) for row in drawn]).astype(np.float64)


def draw_kinds(n_each: Ints, *, n_resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield the same of kinds of units that are drawn together: also multinomial, of other random numbers.

    n_each: how many units of each kind there are, 1 or more.
    """
    n_units = int(n_each.sum())
    for part, rng in _parts(n_resamples, len(n_each), seed):
        drawn = rng.multinomial(n_units, n_each / n_units, size=part.stop - part.start)
        yield part, drawn.astype(np.float64)


def draw_weights(n_each: Floats, *, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield stretches of resamples of the Bayesian bootstrap: random weights above 0, (resamples, kinds).

    n_each: how many units of each kind there are, parts of one too. That is what the units of a kind weigh
    on average; all together always weigh as many as they are (Dirichlet; Rubin 1981, Ann. Stat. 9).
    """
    for part, rng in _parts(n_resamples, len(n_each), seed):
        gammas = rng.standard_gamma(n_each, size=(part.stop - part.start, len(n_each)))
        yield gammas * (n_each.sum() / gammas.sum(axis=1, keepdims=True))


def _parts(n_resamples: int, n_columns: int, seed: int) -> Iterator[tuple[slice, np.random.Generator]]:
    """Yield resamples in stretches, as many at a time as cells are held, and the one source of numbers."""
    if n_resamples < 1:
        raise UsageError(f"{n_resamples} resamples; expected 1 or more (10000 is usual)")
    if seed < 0:
        raise UsageError(f"seed {seed}; expected 0 or more")
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // max(1, n_columns))
    for start in range(0, n_resamples, step):
        yield slice(start, min(start + step, n_resamples)), rng
