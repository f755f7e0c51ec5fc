"""Krippendorff's alpha from coincidence matrices: many at once, for resampling and leaving out.

Alpha depends on the units only through the sum of their coincidence matrices, and a unit's matrix only
on its pattern of votes. So resampling units is drawing how often each pattern occurs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.tables.columns import distinct_codes


@dataclass(frozen=True)
class Patterns:
    """The distinct rows of a table of counts: patterns × values, and the pattern of each row."""

    counts: Ints
    place: Ints

    @property
    def n_units(self) -> Ints:
        """How many units have each pattern."""
        return np.bincount(self.place, minlength=len(self.counts)).astype(np.int64)


def count_patterns(counts: Ints) -> Patterns:
    """Return the distinct patterns of `counts` (units × values), in a fixed order."""
    base = int(counts.max(initial=0)) + 1
    if base ** counts.shape[1] >= 2**62:
        distinct, place = np.unique(counts, axis=0, return_inverse=True)
        return Patterns(distinct, place.reshape(-1))
    powers = base ** np.arange(counts.shape[1], dtype=np.int64)
    keys, place = distinct_codes(counts @ powers)
    return Patterns(keys[:, None] // powers % base, place)


def coincidences(counts: Ints) -> Floats:
    """Return each unit's coincidence matrix: units × values × values; zero for units with one vote.

    Krippendorff (2011), step 2: c_i (c_k − [i = k]) / (n − 1), from the unit's n votes.
    """
    n_votes = np.maximum(counts.sum(axis=1), 2)
    products = counts[:, :, None] * counts[:, None, :]
    products[:, np.arange(counts.shape[1]), np.arange(counts.shape[1])] -= counts
    return np.asarray(products / (n_votes - 1)[:, None, None])


def total_coincidences(counts: Ints) -> Floats:
    """Return the sum of the coincidence matrices of all units: values × values, in little memory."""
    weighted = counts / (np.maximum(counts.sum(axis=1), 2) - 1)[:, None]
    return np.asarray(weighted.T @ counts - np.diag(weighted.sum(axis=0)))


def alphas(matrices: Floats, values: Floats, level: str) -> Floats:
    """Return the alpha of each coincidence matrix; nan where all of it is one value.

    Args:
        matrices: any number × values × values.
        values: grades, ascending.
        level: nominal, ordinal, interval or ratio.

    Equal to the package `krippendorff` up to rounding.
    """
    totals = matrices.sum(axis=2)
    n = totals.sum(axis=1)
    distance = _distances(totals, values, level)
    observed = (matrices * distance).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
    defined = (expected > 0) & (n > 1)
    ratio = observed * (n - 1) / np.where(defined, expected, 1)
    return np.where(defined, 1 - ratio, np.nan)


def _distances(totals: Floats, values: Floats, level: str) -> Floats:
    """Return squared distances of values; ordinal ones depend on how often the values occur."""
    if level == "nominal":
        return 1 - np.eye(len(values))[None]
    if level == "ordinal":
        middle = np.cumsum(totals, axis=1) - totals / 2
        return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)
    apart = values[:, None] - values
    if level == "ratio":
        total = values[:, None] + values
        apart = np.divide(apart, total, out=np.zeros_like(apart), where=total > 0)
    return np.asarray(apart[None] ** 2)
