"""Estimates from pairs that were drawn with known probabilities: P@k, and recall as a ratio of totals."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import TableError
from fire_toolkit.inference.binomial import check_confidence

LEAST_DRAWN = 10  # positives that the draw brought; with fewer an interval says little


@dataclass(frozen=True, eq=False)
class SampledPairs:
    """Judged pairs, each with what it was known as before, and the probability with which it was drawn.

    before, after: (n_pairs,) whether it is a positive by the original qrels, and by the labels; probability:
    in (0, 1], 1 for a pair that was judged whatever chance said; query: of each pair; n_queries: of all.
    """

    before: Bools
    after: Bools
    probability: Floats
    query: Ints
    n_queries: int

    def __post_init__(self) -> None:
        """Refuse what is no probability."""
        is_one = (self.probability > 0) & (self.probability <= 1)
        if not is_one.all():
            found = float(self.probability[~is_one][0])
            raise TableError(f"inclusion_probability is {found:g}, expected a number above 0 and up to 1")

    def take(self, kept: Bools) -> SampledPairs:
        """Return some of the pairs: those that were drawn."""
        parts = (self.before[kept], self.after[kept], self.probability[kept], self.query[kept])
        return SampledPairs(*parts, self.n_queries)

    @property
    def change(self) -> Floats:
        """Return what the label changed, over the probability: 1/π for a new positive."""
        changed = self.after.astype(np.float64) - self.before
        return np.asarray(changed / self.probability)

    def total(self, kept: Bools) -> float:
        """Return how many positives there are among such pairs, drawn or not."""
        return float(self.before[kept].sum() + self.change[kept].sum())

    def variance(self, values: Floats) -> float:
        """Return the variance of Σ values, each of a pair and already over its probability."""
        return float((values**2 * (1 - self.probability)).sum())


class Sampled(NamedTuple):
    """An estimate with its interval; nan where `refused` says why there is none."""

    estimate: float
    low: float
    high: float
    se: float
    refused: str = ""


def sampled_precision(pairs: SampledPairs, is_in_top: Bools, *, k: int, confidence: float = 0.95) -> Sampled:
    """Return P@k of a run, its mean over queries, from pairs that were drawn.

    Σ over original positives in the top k, plus Σ (label − original) / π over the judged pairs there, over
    k times the number of queries. Its variance is Σ (1 − π) (label − original)² / π², each pair being drawn
    by itself.

    Args:
        pairs: those that were judged or stand in the original qrels. Pairs of the top k that could not be
            drawn count as not relevant.
        is_in_top: which of them stand in the run's top k.
        k: the cutoff.
        confidence: of the interval, strictly between 0 and 1.

    Returns:
        The estimate with its interval (normal); refused where fewer than ten positives in the top k came by
        chance and some pair there was drawn with a probability below 1.

    Source: Horvitz and Thompson, JASA 1952.

    Examples:
        >>> none, all_of = np.zeros(20, dtype=bool), np.ones(20, dtype=bool)
        >>> pairs = SampledPairs(none, all_of, np.full(20, 0.5), np.arange(20), 40)
        >>> [round(value, 4) for value in sampled_precision(pairs, all_of, k=2)[:3]]
        [0.5, 0.3451, 0.6549]
    """
    chosen = pairs.take(is_in_top)
    size = k * pairs.n_queries
    se = chosen.variance(chosen.change) ** 0.5 / size
    return _with_limits(chosen.total(np.ones_like(chosen.after)) / size, se, chosen, confidence)


def sampled_difference(
    pairs: SampledPairs, in_a: Bools, in_b: Bools, *, k: int, confidence: float = 0.95
) -> Sampled:
    """Return what two runs differ by in P@k, a − b, from pairs that were drawn.

    Pairs in both tops cancel, and so do their errors: the estimate is that of `sampled_precision` for the
    pairs in a's top alone, less that for those in b's.

    Args:
        pairs: as in `sampled_precision`.
        in_a, in_b: which of them stand in the top k of each run.
        k: the cutoff.
        confidence: of the interval, strictly between 0 and 1.

    Returns:
        The difference with its interval (normal), within −1 to 1; refused as there, by the positives that
        came by chance in one top alone. Two runs with the same tops differ by 0, surely.

    Source: Horvitz and Thompson, JASA 1952.

    Examples:
        >>> none, all_of = np.zeros(20, dtype=bool), np.ones(20, dtype=bool)
        >>> pairs = SampledPairs(none, all_of, np.full(20, 0.5), np.arange(20), 40)
        >>> in_b = np.arange(20) < 8
        >>> [round(value, 4) for value in sampled_difference(pairs, all_of, in_b, k=2)[:3]]
        [0.3, 0.18, 0.42]
    """
    side = in_a.astype(np.int64) - in_b
    chosen, side = pairs.take(side != 0), side[side != 0]
    size = k * pairs.n_queries
    se = chosen.variance(chosen.change) ** 0.5 / size
    difference = float((side * (chosen.before + chosen.change)).sum()) / size
    return _with_limits(difference, se, chosen, confidence, least=-1.0)


def micro_recall(pairs: SampledPairs, is_in_top: Bools, *, confidence: float = 0.95) -> Sampled:
    """Return the share of all positives of all queries that stand in a run's top: a ratio of totals.

    This is not a mean over queries: a query counts as often as it has positives. The mean of each query's own
    ratio is not estimated from such a sample: it was too high by .07 to .22.

    Args:
        pairs: as in `sampled_precision`.
        is_in_top: which of them stand in the run's top k.
        confidence: of the interval, strictly between 0 and 1.

    Returns:
        The ratio of the two Horvitz–Thompson totals, its interval by linearisation; refused as there, or
        where there is no positive at all.

    Source: Särndal, Swensson and Wretman 1992, 5.6.
    """
    whole = pairs.total(np.ones_like(pairs.after))
    if whole <= 0:
        return Sampled(np.nan, np.nan, np.nan, np.nan, "no positive was found")
    ratio = pairs.total(is_in_top) / whole
    se = pairs.variance(pairs.change * (is_in_top - ratio)) ** 0.5 / whole
    return _with_limits(ratio, se, pairs, confidence)


def _with_limits(
    estimate: float, se: float, pairs: SampledPairs, confidence: float, least: float = 0.0
) -> Sampled:
    check_confidence(confidence)
    is_by_chance = pairs.probability < 1
    n_changed = int((is_by_chance & (pairs.after != pairs.before)).sum())
    if is_by_chance.any() and n_changed < LEAST_DRAWN:
        why = f"the draw brought {n_changed} positives, fewer than the {LEAST_DRAWN} that an interval needs"
        return Sampled(np.nan, np.nan, np.nan, np.nan, why)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * se
    return Sampled(estimate, max(estimate - reach, least), min(estimate + reach, 1.0), se)
