"""Cohen's kappa, over every two annotators."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.pairwise import pairwise_mean
from fire_toolkit.agreement.votes import Floats, Votes


def cohen_kappa(votes: Votes, level: str) -> tuple[float, str]:
    """Return Cohen's kappa of every two annotators, averaged by the number of pairs they share.

    Chance agreement is that of the two annotators' own label shares on the shared pairs (Cohen 1960; for
    more than two annotators the mean over annotator pairs, as Light 1971, but weighted). Annotator pairs
    whose kappa is undefined are left out and counted in the note.
    """
    return pairwise_mean(votes, cohen_kappas)


def cohen_kappas(tables: Floats) -> Floats:
    """Return the kappa of each table (... × labels × labels); nan where both gave one label throughout."""
    n = np.maximum(tables.sum(axis=(-2, -1)), 1e-300)[..., None]
    shares_a, shares_b = tables.sum(axis=-1) / n, tables.sum(axis=-2) / n
    return corrected(agreeing(tables), (shares_a * shares_b).sum(axis=-1))


def agreeing(tables: Floats) -> Floats:
    """Return the share of each table's votes that are the same; 0 for an empty table."""
    n = np.maximum(tables.sum(axis=(-2, -1)), 1e-300)
    return np.asarray(np.trace(tables, axis1=-2, axis2=-1) / n)


def corrected(observed: Floats, chance: Floats) -> Floats:
    """Return (observed − chance) / (1 − chance), nan where chance is 1."""
    room = 1 - chance
    return np.where(room > 1e-12, (observed - chance) / np.where(room > 1e-12, room, 1), np.nan)
