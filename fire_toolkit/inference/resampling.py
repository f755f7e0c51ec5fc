"""Seeded draws of units with replacement, and sums over clusters of units."""

from collections.abc import Iterator

import numpy as np

from fire_toolkit.arrays import Floats, Ints

_CELLS = 1 << 20  # counts held at a time


def draw_units(n_units: int, *, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield stretches of resamples: how often each unit is drawn, (resamples, n_units).

    As many units are drawn as there are, one by one: each row is multinomial, exactly.
    """
    for n, rng in _parts(n_resamples, n_units, seed):
        drawn = rng.integers(0, n_units, size=(n, n_units))
        yield np.array([np.bincount(each, minlength=n_units) for each in drawn], dtype=np.float64)


def draw_weights(n_each: Floats, *, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield stretches of resamples of the Bayesian bootstrap: random weights above 0, (resamples, kinds).

    n_each: how many units of each kind there are, parts of one too. That is what the units of a kind weigh
    on average; all together always weigh as many as they are (Dirichlet; Rubin 1981, Ann. Stat. 9).
    """
    for n, rng in _parts(n_resamples, len(n_each), seed):
        gammas = rng.standard_gamma(n_each, size=(n, len(n_each)))
        yield gammas * (n_each.sum() / gammas.sum(axis=1, keepdims=True))


def _parts(n_resamples: int, n_columns: int, seed: int) -> Iterator[tuple[int, np.random.Generator]]:
    """Yield how many resamples are held at a time, and the one source of numbers."""
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // max(1, n_columns))
    for start in range(0, n_resamples, step):
        yield min(step, n_resamples - start), rng


def cluster_sums(values: Floats, clusters: Ints) -> Floats:
    """Return for each cluster the sum of each column, and last the number of its queries."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    columns = [np.bincount(clusters, weights=column, minlength=n_clusters) for column in values.T]
    return np.column_stack([*columns, np.bincount(clusters, minlength=n_clusters)])
