"""Scott's pi, over every two annotators."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.cohen import correct
from fire_toolkit.agreement.statistic import Statistic, no_pair
from fire_toolkit.arrays import Floats


def scott_pis(tables: Floats) -> Floats:
    """Return the pi of each table (... × labels × labels); nan where both gave one label throughout.

    As Cohen's kappa, but chance agreement is that of the two annotators' pooled label shares (Scott 1955).
    """
    pooled = tables.sum(axis=-1) + tables.sum(axis=-2)
    shares = pooled / np.maximum(2 * tables.sum(axis=(-2, -1)), 1e-300)[..., None]
    return correct(tables, (shares**2).sum(axis=-1))


SCOTT_PI = Statistic(no_pair, of_two=scott_pis, title="Scott's pi")
