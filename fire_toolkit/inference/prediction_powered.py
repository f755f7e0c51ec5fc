"""Estimates from a few labels drawn at random and a machine judge's score of every pair: P@k, micro R@k.

The labels correct the judge, so that its errors cost precision and bring no bias; what it is worth depends on
how well it separates. C@k is no sum over pairs: it is not estimated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import TableError
from fire_toolkit.inference.horvitz import NO_POSITIVE, Sampled, no_estimate
from fire_toolkit.inference.intervals import cluster_sums
from fire_toolkit.inference.limits import (
    Limits,
    freedom_of_weight,
    limits_of_share,
    score_limits,
    why_too_few,
)

KNOWN = -1  # the stratum of pairs whose relevance is known without a draw


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """A population of pairs with a judge's score of each, and the labels of a sample drawn within strata.

    score: (n_pairs,) from 0 to 1, fixed before anybody labelled; label: (n_pairs,) 1 or 0, nan where there is
    none; stratum: (n_pairs,) codes from 0, or `KNOWN`; within each the labels are a simple random sample.
    query: of each pair; n_queries: of all.
    """

    score: Floats
    label: Floats
    stratum: Ints
    query: Ints
    n_queries: int

    def __post_init__(self) -> None:
        """Refuse scores that are no probabilities, and known pairs without a label."""
        is_one = (self.score >= 0) & (self.score <= 1)
        if not is_one.all():
            found = float(self.score[~is_one][0])
            raise TableError(f"a judge's score is {found:g}, expected a probability from 0 to 1")
        if np.isnan(self.label[self.stratum == KNOWN]).any():
            raise TableError("a pair of known relevance has no label, expected 1 or 0")

    @property
    def is_drawn(self) -> Bools:
        """Return which pairs' labels came by the draw."""
        return np.asarray((self.stratum != KNOWN) & ~np.isnan(self.label))

    @property
    def sizes(self) -> tuple[Ints, Ints]:
        """Return how many pairs each stratum has, and how many of them have a label."""
        n = int(self.stratum.max(initial=KNOWN)) + 1
        of_all, of_drawn = self.stratum[self.stratum != KNOWN], self.stratum[self.is_drawn]
        return np.bincount(of_all, minlength=n), np.bincount(of_drawn, minlength=n)

    def weight(self, of: Bools) -> float:
        """Return for how many of some pairs that were not drawn one that was drawn stands, on the mean."""
        n_drawn = int((self.is_drawn & of).sum())
        return float((np.isnan(self.label) & of).sum() / n_drawn) if n_drawn else 0.0


class Powered(NamedTuple):
    """The estimate of a total: what it is of each query, its variance, and the weight λ of the judge.

    freedom: with how many degrees of freedom the variance that one positive brings is known.
    """

    values: Floats
    variance: float
    freedom: float
    trust: float


@dataclass(frozen=True, eq=False)
class Interval:
    """Which interval an estimate gets.

    confidence: strictly between 0 and 1. beyond: whether it is for queries like these, and not for these
    alone; clusters: (n_queries,) codes, where whole clusters of queries are drawn.
    """

    confidence: float = 0.95
    beyond: bool = False
    clusters: Ints | None = None

    def variance(self, total: Powered) -> tuple[float, float]:
        """Return the variance of a total and the degrees of freedom of its weight.

        Over draws of the queries it is that of the values of queries, in which the errors of the draw of
        pairs are too.
        """
        if not self.beyond:
            return total.variance, total.freedom
        codes = np.arange(len(total.values)) if self.clusters is None else self.clusters
        sums, sizes = cluster_sums(total.values[:, None], codes).T
        n = len(sums)
        variance = float(((sums - total.values.mean() * sizes) ** 2).sum()) * n / max(n - 1, 1)
        growth = variance / total.variance if total.variance else 1.0
        return variance, max(total.freedom * growth**2, 1.0)


def powered_precision(
    pairs: ScoredPairs,
    is_in_top: Bools,
    *,
    k: int,
    trust: float | None = None,
    interval: Interval = Interval(),
) -> Sampled:
    """Return P@k of a run, its mean over queries, from labels of a sample and a judge's scores of all pairs.

    λ·(sum of scores) plus, in each stratum, N/n·(sum over the sample of label − λ·score), over k times the
    number of queries. λ is the one of least variance, cov(label, score)/var(score), clipped to [0, 1]. With
    one stratum this is PPI++; with strata by the score it is the difference estimator.

    Args:
        pairs: all that could be drawn, and those of known relevance.
        is_in_top: which of them stand in the run's top k; what else stands there counts as not relevant.
        k: the cutoff.
        trust: λ, from 0 (labels alone) to 1; None: the best one.
        interval: for these queries, or beyond.

    Returns:
        The estimate with its interval (`score_limits`), which has a width also where the draw brought no
        positive. Refused where fewer than 100 pairs of the top k were drawn and some pair there was not, or a
        stratum has fewer than two labels. se: over draws, as it is: estimate ± 1.96 se is the plain interval.

    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++, arXiv 2311.01453), with the factor 1 − n/N of a finite
    population; Särndal, Swensson and Wretman 1992, 6.3.

    Examples:
        >>> stratum = np.zeros(160, dtype=np.int64)
        >>> truth = np.arange(160) % 2.0
        >>> label = np.where(np.arange(160) < 120, truth, np.nan)
        >>> pairs = ScoredPairs(np.full(160, 0.5), label, stratum, np.arange(160), 160)
        >>> [round(value, 4) for value in powered_precision(pairs, np.ones(160, dtype=bool), k=1)[:4]]
        [0.5, 0.455, 0.545, 0.0229]
    """
    if refused := _why_not(pairs, is_in_top, f"in its top {k}"):
        return no_estimate(refused)
    total = powered_total(pairs, is_in_top.astype(np.float64), trust=trust)
    estimate, size = float(total.values.sum()), float(k * pairs.n_queries)
    if interval.beyond:
        variance, freedom = interval.variance(total)
        options = {"most": size, "freedom": freedom, "confidence": interval.confidence}
        limits = score_limits(estimate, variance, weight=pairs.weight(is_in_top), **options)
    else:
        limits = _limits_here(pairs, is_in_top, total, interval.confidence)
    return Sampled(estimate / size, limits.low / size, limits.high / size, total.variance**0.5 / size)


def _limits_here(pairs: ScoredPairs, chosen: Bools, total: Powered, confidence: float) -> Limits:
    """Return the limits of how many of some pairs are positive: what has a label is known."""
    label, is_known = pairs.label[chosen], pairs.stratum[chosen] == KNOWN
    known, seen, n_open = float(label[is_known].sum()), float(np.nansum(label)), np.isnan(label).sum()
    options = {"most": max(float((~is_known).sum()), 1.0), "freedom": total.freedom, "confidence": confidence}
    estimate = float(total.values.sum()) - known
    low, high = score_limits(estimate, total.variance, weight=pairs.weight(chosen), **options)
    return Limits(max(known + low, seen), min(known + high, seen + float(n_open)))


def powered_micro_recall(
    pairs: ScoredPairs,
    is_in_top: Bools,
    *,
    trust: float | None = None,
    interval: Interval = Interval(),
) -> Sampled:
    """Return the share of all positives of all queries that stand in a run's top: a ratio of two totals.

    Both totals are estimated with one λ, the best for the ratio. It is not a mean over queries: a query
    counts as often as it has positives.

    Args:
        pairs, is_in_top, trust, interval: as in `powered_precision`.

    Returns:
        The ratio less its bias, with its interval (`limits_of_share`; beyond these queries `score_limits`,
        by linearisation). Refused as there, by all pairs drawn; undefined (nan) where no positive is known or
        was drawn.
    """
    everywhere = np.ones(len(is_in_top), dtype=bool)
    if refused := _why_not(pairs, everywhere, "in all"):
        return no_estimate(refused)
    weights = [each.astype(np.float64) for each in (is_in_top, everywhere)]
    top, whole = (float(powered_total(pairs, each, trust=0).values.sum()) for each in weights)
    if whole <= 0:
        return no_estimate(NO_POSITIVE)
    best = powered_total(pairs, weights[0] - top / whole, trust=trust).trust
    of_top, of_whole = (powered_total(pairs, each, trust=best) for each in weights)
    whole = float(of_whole.values.sum())
    ratio = float(of_top.values.sum()) / whole
    linear = powered_total(pairs, weights[0] - ratio, trust=best)
    # the bias of a ratio: the covariance of the linear total and the whole, over the whole squared
    both = (of_top.variance - linear.variance - ratio**2 * of_whole.variance) / (2 * ratio or 1.0)
    estimate = min(max(ratio + both / whole**2, 0.0), 1.0)
    if interval.beyond:
        variance, freedom = interval.variance(linear)
        options = {"weight": pairs.weight(everywhere) / whole, "freedom": freedom}
        limits = score_limits(estimate, variance / whole**2, confidence=interval.confidence, **options)
    else:
        of_rest = powered_total(pairs, weights[1] - weights[0], trust=best)
        top, rest = (float(each.values.sum()) for each in (of_top, of_rest))
        in_top, below = (
            _limits_here(pairs, chosen, each, interval.confidence)
            for chosen, each in ((is_in_top, of_top), (~is_in_top, of_rest))
        )
        limits = limits_of_share(top, in_top, rest, below)
    return Sampled(estimate, *limits, linear.variance**0.5 / whole)


def powered_total(pairs: ScoredPairs, weight: Floats, *, trust: float | None = None) -> Powered:
    """Return the total of weight · relevance over all pairs, as the sum of its values of the queries.

    Args:
        weight: (n_pairs,) of each pair.
        trust: λ; None: the one of least variance.

    Returns:
        values: (n_queries,) whose sum is the estimate, and whose spread over queries holds the error of the
        draw too; variance: over draws, these queries given. freedom: see `Powered`.
    """
    drawn = np.flatnonzero(pairs.is_drawn)
    n_all, n_drawn = pairs.sizes
    own = pairs.stratum[drawn]
    label, score = (weight[drawn] * each[drawn] for each in (pairs.label, pairs.score))
    # of each stratum's total: N²(1/n − 1/N), divided by n − 1 for the variance of a sample
    factor = n_all * (n_all - n_drawn) / np.maximum(n_drawn * (n_drawn - 1), 1)
    if trust is None:
        by_label, by_score = (_centred(each, own, n_drawn) for each in (label, score))
        spread = float((factor[own] * by_score**2).sum())
        trust = float(np.clip((factor[own] * by_label * by_score).sum() / spread, 0, 1)) if spread else 0.0
    error = label - trust * score
    centred = _centred(error, own, n_drawn)
    mean_error = np.bincount(own, weights=error, minlength=len(n_all)) / np.maximum(n_drawn, 1)
    could = np.flatnonzero(pairs.stratum != KNOWN)
    known = np.flatnonzero(pairs.stratum == KNOWN)
    parts = (
        (known, weight[known] * pairs.label[known]),
        (could, trust * weight[could] * pairs.score[could] + mean_error[pairs.stratum[could]]),
        (drawn, centred * (n_all / np.maximum(n_drawn, 1))[own]),
    )
    values = sum(np.bincount(pairs.query[place], each, minlength=pairs.n_queries) for place, each in parts)
    variance = float((factor[own] * centred**2).sum())
    found = np.abs(label) * (n_all / np.maximum(n_drawn, 1))[own]
    return Powered(np.asarray(values), variance, freedom_of_weight(factor[own] * centred**2, found), trust)


def _centred(values: Floats, stratum: Ints, n_drawn: Ints) -> Floats:
    """Return values minus the mean of their stratum."""
    means = np.bincount(stratum, weights=values, minlength=len(n_drawn)) / np.maximum(n_drawn, 1)
    return np.asarray(values - means[stratum])


def _why_not(pairs: ScoredPairs, is_in_top: Bools, what: str) -> str:
    """Return why the design gives no estimate; empty where it does."""
    n_all, n_drawn = pairs.sizes
    thin = np.flatnonzero((n_drawn < 2) & (n_drawn < n_all))
    if len(thin):
        return f"{len(thin)} strata have fewer than 2 labels; draw more pairs, or judge those drawn"
    is_whole = not np.isnan(pairs.label[is_in_top]).any()
    return "" if is_whole else why_too_few(int((pairs.is_drawn & is_in_top).sum()), what)
