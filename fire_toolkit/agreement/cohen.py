"""Cohen's kappa, over every two annotators."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, divide, no_pair
from fire_toolkit.arrays import Floats


def cohen_kappas(tables: Floats) -> Floats:
    """Return the kappa of each table (... × labels × labels); nan where both gave one label throughout.

    Chance agreement is that of the two annotators' own label shares on the shared pairs (Cohen 1960; for
    more than two annotators the mean over annotator pairs, as Light 1971, but weighted by the pairs that
    they share).
    """
    n = np.maximum(tables.sum(axis=(-2, -1)), 1e-300)[..., None]
    shares_a, shares_b = tables.sum(axis=-1) / n, tables.sum(axis=-2) / n
    return correct(tables, (shares_a * shares_b).sum(axis=-1))


def correct(tables: Floats, chance: Floats) -> Floats:
    """Return each table's share of equal votes beyond `chance`; nan where chance is 1."""
    n = np.maximum(tables.sum(axis=(-2, -1)), 1e-300)
    observed = np.trace(tables, axis1=-2, axis2=-1) / n
    return divide(observed - chance, 1 - chance)


COHEN_KAPPA = Statistic(no_pair, of_two=cohen_kappas, title="Cohen's kappa")
