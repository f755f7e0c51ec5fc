"""Seeded draws with replacement: how often each unit, or each kind of unit, is drawn in each resample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError

_CELLS = 1 << 20  # counts held at a time


def check_draws(n_resamples: int, seed: int) -> None:
    """Raise a UsageError for a number of resamples below 1 or a seed below 0."""
    if n_resamples < 1:
        raise UsageError(f"{n_resamples} resamples; expected 1 or more (10000 is usual)")
    if seed < 0:
        raise UsageError(f"seed {seed}; expected 0 or more")


def draw_units(n_units: int, *, n_resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield stretches of resamples: which they are, and how often each unit is drawn, (resamples, n_units).

    As many units are drawn as there are, one by one: each row is multinomial, exactly.
    """
    check_draws(n_resamples, seed)
    rng = np.random.default_rng(seed)
    for part in _parts(n_resamples, n_units):
        drawn = rng.integers(0, n_units, size=(part.stop - part.start, n_units))
        yield part, np.stack([np.bincount(row, minlength=n_units) for row in drawn]).astype(np.float64)


def draw_kinds(n_each: Ints, *, n_resamples: int, seed: int, n_alike: int) -> Iterator[tuple[slice, Floats]]:
    """Yield stretches of resamples: which they are, and how often a unit of each kind is drawn.

    Args:
        n_each: how many units of each kind there are, 1 or more.
        n_alike: from how many units of a kind on, on average, kinds are drawn together, and not units one by
            one. Either way a row is multinomial, but not of the same random numbers.
    """
    check_draws(n_resamples, seed)
    n_units, n_kinds = int(n_each.sum()), len(n_each)
    if n_alike * n_kinds <= n_units:
        rng = np.random.default_rng(seed)
        for part in _parts(n_resamples, n_kinds):
            size = part.stop - part.start
            yield part, rng.multinomial(n_units, n_each / n_units, size=size).astype(np.float64)
        return
    first = np.cumsum(n_each) - n_each
    for part, counts in draw_units(n_units, n_resamples=n_resamples, seed=seed):
        yield part, np.add.reduceat(counts, first, axis=1)


def draw_weights(n_each: Floats, *, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield stretches of resamples of the Bayesian bootstrap: random weights above 0, (resamples, kinds).

    n_each: how many units of each kind there are, parts of one too. That is what the units of a kind weigh
    on average; all together always weigh as many as they are (Dirichlet; Rubin 1981, Ann. Stat. 9).
    """
    check_draws(n_resamples, seed)
    rng = np.random.default_rng(seed)
    for part in _parts(n_resamples, len(n_each)):
        gammas = rng.standard_gamma(n_each, size=(part.stop - part.start, len(n_each)))
        yield gammas * (n_each.sum() / gammas.sum(axis=1, keepdims=True))


def _parts(n_resamples: int, n_columns: int) -> Iterator[slice]:
    """Yield resamples in stretches, as many at a time as cells are held."""
    step = max(1, _CELLS // max(1, n_columns))
    return (slice(start, min(start + step, n_resamples)) for start in range(0, n_resamples, step))
