"""Statistics of agreement as functions of sums over pairs, for weighting and resampling pairs.

What a statistic needs of a pair depends only on the pair's counts of votes. So a weighted value is a
function of a weighted sum, and a resampled one of how often each pattern of counts was drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.agreement.alpha import graded_labels
from fire_toolkit.agreement.coincidence import alphas, coincidences
from fire_toolkit.agreement.gwet import agreement_weights
from fire_toolkit.agreement.votes import Floats, Ints, Votes


@dataclass(frozen=True)
class Sums:
    """What is summed over pairs, and what is made of the sums.

    columns: patterns of counts × columns; is_weighted: which columns are sums over pairable pairs, and so
    take the weights of an uneven draw; value: totals (any number × columns) to values, nan where undefined.
    """

    columns: Floats
    is_weighted: npt.NDArray[np.bool_]
    value: Callable[[Floats], Floats]


def _divided(over: Any, under: Any) -> Floats:
    defined = np.abs(under) > 1e-12
    return np.where(defined, over / np.where(defined, under, 1), np.nan)


def _ratio(over: npt.NDArray[Any], under: npt.NDArray[Any], *, is_weighted: bool = True) -> Sums:
    columns = np.stack([over, under], axis=1).astype(np.float64)
    return Sums(columns, np.full(2, is_weighted), lambda totals: _divided(totals[:, 0], totals[:, 1]))


def alpha_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Krippendorff's alpha, from the coincidence matrix."""
    graded, domain = _graded(counts, votes, level)
    matrices = coincidences(graded).reshape(len(counts), -1)
    shape = (-1, len(domain), len(domain))
    weighted = np.ones(matrices.shape[1], dtype=np.bool_)
    return Sums(matrices, weighted, lambda totals: alphas(totals.reshape(shape), domain, level))


def _graded(counts: Ints, votes: Votes, level: str) -> tuple[Ints, Floats]:
    place, domain = graded_labels(votes, level)
    return counts @ (place[:, None] == np.arange(len(domain))).astype(np.int64), domain


def _agreeing(counts: Ints, weights: Floats | None = None) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return each pattern's share of agreeing pairs of votes, 0 for a single vote, and which are paired."""
    n = counts.sum(axis=1)
    same = counts if weights is None else counts @ weights
    agreeing = (counts * (same - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    return np.where(n >= 2, agreeing, 0.0), n >= 2


def percent_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Percent agreement."""
    return _ratio(*_agreeing(counts))


def positive_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """PA+."""
    return _specific(counts, votes.grades >= 1)


def negative_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """PA−."""
    return _specific(counts, ~(votes.grades >= 1))


def _specific(counts: Ints, chosen: npt.NDArray[np.bool_]) -> Sums:
    c = counts[:, chosen].sum(axis=1)
    return _ratio(c * (c - 1), c * (counts.sum(axis=1) - 1))


def prevalence_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Share of positive votes, over all pairs."""
    share = counts[:, votes.grades >= 1].sum(axis=1) / counts.sum(axis=1)
    return _ratio(share, np.ones(len(counts)), is_weighted=False)


def prevalence_pairable_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Share of positive votes, over pairable pairs."""
    share = counts[:, votes.grades >= 1].sum(axis=1) / counts.sum(axis=1)
    return _ratio(share, np.ones(len(counts)))


def unanimous_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Share of pairable pairs with one label."""
    return _ratio(counts.max(axis=1, initial=0) == counts.sum(axis=1), np.ones(len(counts)))


def resolved_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Share of pairs with a label of more than half of the votes."""
    has_label = 2 * counts.max(axis=1, initial=0) > counts.sum(axis=1)
    return _ratio(has_label, np.ones(len(counts)), is_weighted=False)


def brennan_prediger_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Percent agreement beyond chance 1/q."""
    percent = percent_sums(counts, votes, level)
    chance = 1 / len(votes.labels)
    return Sums(
        percent.columns, percent.is_weighted, lambda totals: (percent.value(totals) - chance) / (1 - chance)
    )


def fleiss_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Fleiss' kappa."""
    return _beyond_chance(counts, *_agreeing(counts), lambda shares: (shares**2).sum(axis=1))


def ac1_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Gwet's AC1."""
    return ac2_sums(counts, votes, "nominal")


def ac2_sums(counts: Ints, votes: Votes, level: str) -> Sums:
    """Gwet's AC2."""
    graded, domain = _graded(counts, votes, level)
    q = len(domain)
    weights = agreement_weights(domain, level)

    def chance(shares: Floats) -> Floats:
        return np.asarray(weights.sum() * (shares * (1 - shares)).sum(axis=1) / (q * (q - 1)))

    return _beyond_chance(graded, *_agreeing(graded, weights), chance)


def _beyond_chance(
    counts: Ints,
    agreeing: Floats,
    is_paired: npt.NDArray[np.bool_],
    chance: Callable[[Floats], Floats],
) -> Sums:
    """Observed agreement is over pairable pairs, the label shares behind chance over all pairs."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    columns = np.column_stack([agreeing, is_paired, shares, np.ones(len(counts))])
    is_weighted = np.arange(columns.shape[1]) < 2

    def value(totals: Floats) -> Floats:
        by_chance = chance(totals[:, 2:-1] / totals[:, -1:])
        return _divided(_divided(totals[:, 0], totals[:, 1]) - by_chance, 1 - by_chance)

    return Sums(columns, is_weighted, value)
