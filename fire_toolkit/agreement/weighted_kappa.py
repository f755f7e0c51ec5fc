"""Cohen's weighted kappa, over every two annotators: near grades agree in part."""

from __future__ import annotations

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, divide, no_pair
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Floats

NO_ORDER = "more than two labels have no order at the nominal level, and weights need one (--level ordinal)"


def linear_kappas(tables: Floats) -> Floats:
    """Return the kappa of each table (... × grades × grades) with disagreement |i − j| of places i, j.

    Cohen (1968); places are those of the grades in ascending order. nan where all votes have one grade.
    The mean over annotators is taken as for Cohen's kappa.
    """
    return _kappas(tables, 1)


def quadratic_kappas(tables: Floats) -> Floats:
    """Return the kappa of each table with disagreement (i − j)² (Fleiss and Cohen 1973)."""
    return _kappas(tables, 2)


def _kappas(tables: Floats, power: int) -> Floats:
    places = np.arange(tables.shape[-1])
    apart = np.abs(places[:, None] - places).astype(np.float64) ** power
    n = np.maximum(tables.sum(axis=(-2, -1)), 1e-300)
    expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :] / n[..., None, None]
    return 1 - divide((tables * apart).sum(axis=(-2, -1)), (expected * apart).sum(axis=(-2, -1)))


def explain_undefined(votes: Votes, level: str) -> str:
    """Return that labels have no order at this level, or that there is no pairable pair; or nothing.

    Two labels need no order: with them a weighted kappa is Cohen's kappa.
    """
    return NO_ORDER if level == "nominal" and len(votes.labels) > 2 else no_pair(votes, level)


COHEN_LINEAR = Statistic(
    explain_undefined,
    of_two=linear_kappas,
    has_levels=True,
    title="Cohen's kappa, linear weights",
)
COHEN_QUADRATIC = Statistic(
    explain_undefined,
    of_two=quadratic_kappas,
    has_levels=True,
    title="Cohen's kappa, quadratic weights",
)
