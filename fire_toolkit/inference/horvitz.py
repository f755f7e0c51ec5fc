"""Estimates from pairs that were drawn with known probabilities: P@k, and recall as a ratio of totals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import TableError
from fire_toolkit.inference.limits import (
    Limits,
    freedom_of_weight,
    limits_of_difference,
    limits_of_share,
    score_limits,
    why_too_few,
)


@dataclass(frozen=True, eq=False)
class SampledPairs:
    """Judged pairs, each with what it was known as before, and the probability with which it was drawn.

    before, after: (n_pairs,) whether it is a positive by the original qrels, and by the labels; probability:
    in (0, 1], 1 for a pair that was judged whatever chance said; query: of each pair; n_queries: of all;
    whole_to: the rank of the runs down to which every pair was judged.
    """

    before: Bools
    after: Bools
    probability: Floats
    query: Ints
    n_queries: int
    whole_to: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no probability."""
        is_one = (self.probability > 0) & (self.probability <= 1)
        if not is_one.all():
            found = float(self.probability[~is_one][0])
            raise TableError(f"inclusion_probability is {found:g}, expected a number above 0 and up to 1")

    def take(self, kept: Bools) -> SampledPairs:
        """Return some of the pairs: those that were drawn."""
        parts = {name: getattr(self, name)[kept] for name in ("before", "after", "probability", "query")}
        return replace(self, **parts)

    @property
    def is_by_chance(self) -> Bools:
        """Return which pairs were judged because chance drew them."""
        return np.asarray(self.probability < 1)

    @property
    def change(self) -> Floats:
        """Return what the label changed, over the probability: 1/π for a new positive."""
        changed = self.after.astype(np.float64) - self.before
        return np.asarray(changed / self.probability)

    @property
    def weight(self) -> float:
        """Return for how many pairs that were not drawn one that was drawn stands, on the mean."""
        chance = self.probability[self.is_by_chance]
        return float(((1 - chance) / chance).mean()) if len(chance) else 0.0

    @property
    def total(self) -> float:
        """Return how many positives there are among such pairs, drawn or not."""
        return float(self.before.sum() + self.change.sum())

    def variance(self, values: Floats) -> float:
        """Return the variance of Σ values, each of a pair and already over its probability."""
        return float((values**2 * (1 - self.probability)).sum())

    def freedom(self, values: Floats) -> float:
        """Return with how many degrees of freedom the weight of a positive is known, by such values."""
        return freedom_of_weight(values**2 * (1 - self.probability), np.abs(values) * self.is_by_chance)

    def limits(self, confidence: float) -> Limits:
        """Return the limits of the total: at least what was found, and above it also where nothing was."""
        change = self.change
        drawn = float(change[self.is_by_chance].sum())
        found = score_limits(
            drawn,
            self.variance(change),
            weight=self.weight,
            most=math.inf,
            freedom=self.freedom(change),
            confidence=confidence,
        )
        known, seen = self.total - drawn, float((change * self.probability)[self.is_by_chance].sum())
        return Limits(known + max(found.low, seen), known + found.high)


NO_POSITIVE = "there is no positive of which it could be a share"


class Sampled(NamedTuple):
    """An estimate with its interval; nan where `refused` says why there is none."""

    estimate: float
    low: float
    high: float
    se: float
    refused: str = ""


def no_estimate(why: str) -> Sampled:
    """Return that there is no estimate, and why."""
    return Sampled(math.nan, math.nan, math.nan, math.nan, why)


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
        The estimate with its interval (`score_limits`), which has a width also where the draw brought no
        positive. Refused where fewer than 100 pairs of the top k were drawn by chance and k reaches below the
        ranks that were judged whole.

    Source: Horvitz and Thompson, JASA 1952.

    Examples:
        >>> none, all_of = np.zeros(120, dtype=bool), np.ones(120, dtype=bool)
        >>> pairs = SampledPairs(none, np.arange(120) < 30, np.full(120, 0.5), np.arange(120), 240)
        >>> [round(value, 4) for value in sampled_precision(pairs, all_of, k=1)[:3]]
        [0.25, 0.1942, 0.3218]
    """
    chosen = pairs.take(is_in_top)
    if refused := _why_not(chosen, f"in its top {k}", k):
        return no_estimate(refused)
    size = k * pairs.n_queries
    low, high = chosen.limits(confidence)
    se = chosen.variance(chosen.change) ** 0.5 / size
    estimate, low, high = (min(each / size, 1.0) for each in (chosen.total, low, high))
    return Sampled(estimate, low, high, se)


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
        The difference with its interval (`limits_of_difference`), within −1 to 1; refused as there, by the
        pairs in one top alone.

    Source: Horvitz and Thompson, JASA 1952.

    Examples:
        >>> none, all_of = np.zeros(120, dtype=bool), np.ones(120, dtype=bool)
        >>> pairs = SampledPairs(none, np.arange(120) < 30, np.full(120, 0.5), np.arange(120), 240)
        >>> in_b = np.arange(120) < 12
        >>> [round(value, 3) for value in sampled_difference(pairs, ~in_b, in_b, k=1)[:3]]
        [0.05, -0.014, 0.116]
    """
    a, b = pairs.take(in_a & ~in_b), pairs.take(in_b & ~in_a)
    if refused := _why_not(pairs.take(in_a != in_b), f"in the top {k} of one of the two alone", k):
        return no_estimate(refused)
    size = k * pairs.n_queries
    low, high = limits_of_difference(a.total, a.limits(confidence), b.total, b.limits(confidence))
    se = (a.variance(a.change) + b.variance(b.change)) ** 0.5 / size
    found = (min(max(each / size, -1.0), 1.0) for each in (a.total - b.total, low, high))
    estimate, low, high = found
    return Sampled(estimate, low, high, se)


def micro_recall(pairs: SampledPairs, is_in_top: Bools, *, confidence: float = 0.95) -> Sampled:
    """Return the share of all positives of all queries that stand in a run's top: a ratio of totals.

    This is not a mean over queries: a query counts as often as it has positives. The mean of each query's own
    ratio is not estimated from such a sample: it was too high by .07 to .22.

    Args:
        pairs: as in `sampled_precision`.
        is_in_top: which of them stand in the run's top k.
        confidence: of the interval, strictly between 0 and 1.

    Returns:
        The ratio of the two Horvitz–Thompson totals less its bias; its limits are `limits_of_share`, its
        error is by linearisation. Refused where fewer than 100 pairs were drawn by chance. Undefined (nan)
        where neither the original qrels nor the labels have a positive.

    Source: Särndal, Swensson and Wretman 1992, 5.6.
    """
    if refused := _why_not(pairs, "in all"):
        return no_estimate(refused)
    whole = pairs.total
    if whole <= 0:
        return no_estimate(NO_POSITIVE)
    top, rest = pairs.take(is_in_top), pairs.take(~is_in_top)
    ratio = top.total / whole
    of_top, of_rest = (each.variance(each.change) / whole**2 for each in (top, rest))
    limits = limits_of_share(top.total, top.limits(confidence), rest.total, rest.limits(confidence))
    estimate = ratio + (1 - ratio) * of_top - ratio * of_rest
    se = ((1 - ratio) ** 2 * of_top + ratio**2 * of_rest) ** 0.5
    return Sampled(min(max(estimate, limits.low), limits.high), *limits, se)


def _why_not(pairs: SampledPairs, what: str, k: int | None = None) -> str:
    """Return why the design gives no estimate of such pairs; empty where it does."""
    is_whole = pairs.is_by_chance.sum() == 0 if k is None else k <= pairs.whole_to
    return "" if is_whole else why_too_few(int(pairs.is_by_chance.sum()), what)
