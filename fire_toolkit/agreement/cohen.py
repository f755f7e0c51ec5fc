"""Cohen's kappa, over every two annotators."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fire_toolkit.agreement.chance import no_pair
from fire_toolkit.agreement.confusions import Confusions, annotator_confusions
from fire_toolkit.agreement.votes import Floats, Votes

PairCoefficients = Callable[[Confusions], Floats]


def cohen_kappa(votes: Votes, level: str) -> tuple[float, str]:
    """Return Cohen's kappa of every two annotators, averaged by the number of pairs they share.

    Chance agreement is that of the two annotators' own label shares on the shared pairs (Cohen 1960; for
    more than two annotators the mean over annotator pairs, as Light 1971, but weighted). Annotator pairs
    whose kappa is undefined are left out and counted in the note.
    """
    return pairwise_mean(votes, cohen_kappas)


def cohen_kappas(confusions: Confusions) -> Floats:
    """Return each two annotators' kappa; nan where both gave one and the same label throughout."""
    n = confusions.n_shared[:, None]
    shares_a, shares_b = confusions.tables.sum(axis=2) / n, confusions.tables.sum(axis=1) / n
    return corrected(confusions.agreeing, (shares_a * shares_b).sum(axis=1))


def corrected(observed: Floats, chance: Floats) -> Floats:
    """Return (observed − chance) / (1 − chance), nan where chance is 1."""
    room = 1 - chance
    return np.where(room > 1e-12, (observed - chance) / np.where(room > 1e-12, room, 1), np.nan)


def pairwise_mean(votes: Votes, coefficients: PairCoefficients) -> tuple[float, str]:
    """Return the mean of each two annotators' coefficient, weighted by the pairs they share."""
    reason = no_pair(votes)
    if reason:
        return math.nan, reason
    confusions = annotator_confusions(votes)
    values = coefficients(confusions)
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan, "every two annotators gave one and the same label on all pairs they share"
    n_left = int((~defined).sum())
    note = f"{n_left} of {len(values)} annotator pairs undefined and left out" if n_left else ""
    return float(np.average(values[defined], weights=confusions.n_shared[defined])), note
