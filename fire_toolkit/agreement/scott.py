"""Scott's pi, over every two annotators."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.cohen import agreeing, corrected
from fire_toolkit.agreement.pairwise import pairwise_mean
from fire_toolkit.agreement.votes import Floats, Votes


def scott_pi(votes: Votes, level: str) -> tuple[float, str]:
    """Return Scott's pi of every two annotators, averaged by the number of pairs they share.

    As Cohen's kappa, but chance agreement is that of the two annotators' pooled label shares (Scott 1955).
    """
    return pairwise_mean(votes, scott_pis)


def scott_pis(tables: Floats) -> Floats:
    """Return the pi of each table (... × labels × labels); nan where both gave one label throughout."""
    pooled = tables.sum(axis=-1) + tables.sum(axis=-2)
    shares = pooled / np.maximum(2 * tables.sum(axis=(-2, -1)), 1e-300)[..., None]
    return corrected(agreeing(tables), (shares**2).sum(axis=-1))
