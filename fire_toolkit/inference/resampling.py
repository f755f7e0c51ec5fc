"""Seeded weights of units for a bootstrap, and sums over clusters of units."""

from collections.abc import Iterator

import numpy as np

from fire_toolkit.arrays import Floats, Ints

_CELLS = 1 << 20  # weights held at a time


def draw_weights(n_each: Floats, *, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield stretches of resamples of the Bayesian bootstrap: random weights above 0, (resamples, kinds).

    n_each: how many units of each kind there are, parts of one too. That is what the units of a kind weigh
    on average; all together always weigh as many as they are (Dirichlet; Rubin 1981, Ann. Stat. 9).
    """
    rng, step = np.random.default_rng(seed), max(1, _CELLS // max(1, len(n_each)))
    for start in range(0, n_resamples, step):
        gammas = rng.standard_gamma(n_each, size=(min(step, n_resamples - start), len(n_each)))
        yield gammas * (n_each.sum() / gammas.sum(axis=1, keepdims=True))


def cluster_sums(values: Floats, clusters: Ints) -> Floats:
    """Return for each cluster the sum of each column, and last the number of its queries."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    columns = [np.bincount(clusters, weights=column, minlength=n_clusters) for column in values.T]
    return np.column_stack([*columns, np.bincount(clusters, minlength=n_clusters)])
