"""Estimates from a few labels drawn at random and a machine judge's score of every pair: P@k, micro R@k.

The labels correct the judge, so that its errors cost precision and bring no bias; what it is worth depends on
how well it separates. C@k is no sum over pairs: it is not estimated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import TableError
from fire_toolkit.inference.binomial import check_confidence
from fire_toolkit.inference.horvitz import LEAST_DRAWN, Sampled
from fire_toolkit.inference.intervals import bootstrap_means
from fire_toolkit.inference.student import share_limits
from fire_toolkit.tables.designs import SUREST

KNOWN = -1  # the stratum of pairs whose relevance is known without a draw
_MOST_BY_CHANCE = 3  # misses that a sample without any leaves possible: the rule of three


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

    def without_judge(self) -> ScoredPairs:
        """Return the same labels without any score: estimates are then those of the labels alone."""
        return replace(self, score=np.zeros_like(self.score))


class Powered(NamedTuple):
    """The estimate of a total: what it is of each query, its variance, and the weight λ of the judge.

    wide: the variance that intervals are made of, see `_widened`; freedom: its degrees of freedom.
    """

    values: Floats
    variance: float
    wide: float
    freedom: float
    trust: float


@dataclass(frozen=True, eq=False)
class Interval:
    """Which interval an estimate gets.

    confidence: strictly between 0 and 1. n_resamples, seed: of the bootstrap over queries, for claims beyond
    these queries; 0: the interval is for these queries. clusters: (n_queries,) codes, where whole clusters of
    queries are drawn.
    """

    confidence: float = 0.95
    n_resamples: int = 0
    seed: int = 0
    clusters: Ints | None = None

    def around(self, estimate: float, total: Powered, size: float, parts: Sequence[Floats]) -> Sampled:
        """Return an estimate with its interval.

        Args:
            total: whose variance over size² is the estimate's, over draws.
            parts: (n_queries,) one, whose mean is the estimate, or two, whose means' ratio is.
        """
        check_confidence(self.confidence)
        variance, freedom = total.wide / size**2, total.freedom
        if self.n_resamples:
            means = bootstrap_means(
                np.column_stack(parts), n_resamples=self.n_resamples, seed=self.seed, clusters=self.clusters
            )
            drawn = means[:, 0] if len(parts) == 1 else means[:, 0] / means[:, 1]
            both = float(drawn.var()) + (total.wide - total.variance) / size**2
            freedom = freedom * (both / variance) ** 2 if variance else np.inf
            variance = both
        low, high = share_limits(estimate, variance**0.5, freedom, self.confidence)
        return Sampled(estimate, low, high, total.variance**0.5 / size)


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
        The estimate with its interval (`share_limits`, by the variance that `_widened` gives); refused where
        fewer than ten positives of the top k were drawn and some pair there was not, or a stratum has fewer
        than two labels. se: over draws, as it is: estimate ± 1.96 se is the plain interval.

    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++, arXiv 2311.01453), with the factor 1 − n/N of a finite
    population; Särndal, Swensson and Wretman 1992, 6.3; Cochran 1977, 5.4.

    Examples:
        >>> stratum = np.zeros(40, dtype=np.int64)
        >>> truth = np.arange(40) % 2.0
        >>> label = np.where(np.arange(40) < 30, truth, np.nan)
        >>> pairs = ScoredPairs(np.full(40, 0.5), label, stratum, np.arange(40), 40)
        >>> [round(value, 4) for value in powered_precision(pairs, np.ones(40, dtype=bool), k=1)[:4]]
        [0.5, 0.406, 0.594, 0.0464]
    """
    refused = _why_not(pairs, is_in_top)
    if refused:
        return _refused(refused)
    total = powered_total(pairs, is_in_top.astype(np.float64), trust=trust)
    size = k * pairs.n_queries
    return interval.around(float(total.values.sum()) / size, total, size, [total.values / k])


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
        The ratio with its interval, by linearisation; refused as there, or where there is no positive at all.
    """
    everywhere = np.ones(len(is_in_top), dtype=bool)
    refused = _why_not(pairs, everywhere)
    if refused:
        return _refused(refused)
    weights = [each.astype(np.float64) for each in (is_in_top, everywhere)]
    top, whole = (powered_total(pairs, each, trust=0).values.sum() for each in weights)
    if whole <= 0:
        return _refused("no positive was found")
    best = powered_total(pairs, weights[0] - float(top / whole), trust=trust).trust
    values = [powered_total(pairs, each, trust=best).values for each in weights]
    sums = [float(each.sum()) for each in values]
    ratio = sums[0] / sums[1]
    linear = powered_total(pairs, weights[0] - ratio, trust=best)
    return interval.around(ratio, linear, sums[1], values)


def powered_total(pairs: ScoredPairs, weight: Floats, *, trust: float | None = None) -> Powered:
    """Return the total of weight · relevance over all pairs, as the sum of its values of the queries.

    Args:
        weight: (n_pairs,) of each pair.
        trust: λ; None: the one of least variance.

    Returns:
        values: (n_queries,) whose sum is the estimate, and whose spread over queries holds the error of the
        draw too, so that a bootstrap over queries does; variance: over draws, these queries given.
        wide, freedom: of it as intervals take it.
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
    of_weights = np.bincount(pairs.stratum[could], weight[could] ** 2, minlength=len(n_all))
    wide, freedom = _widened(centred, own, pairs.sizes, of_weights / np.maximum(n_all, 1))
    return Powered(np.asarray(values), variance, wide, freedom, trust)


def _widened(centred: Floats, stratum: Ints, sizes: tuple[Ints, Ints], weight: Floats) -> tuple[float, float]:
    """Return the variance of a total as intervals take it, and its degrees of freedom.

    A few labels of a stratum in which misses are rare show none, or make its variance seem known. So no
    stratum's variance counts as less than that of misses in one of 200 pairs, unless its labels exclude as
    many; and the degrees of freedom are those of the fourth moments, never more than Satterthwaite's.

    Args:
        centred: of each label; stratum: of each label; weight: the mean squared weight of a stratum's pairs.

    Source: Satterthwaite 1946, with the variance of s² as it is beyond the normal distribution.
    """
    n_all, n_drawn = sizes
    n = np.maximum(n_drawn, 1)
    factor = n_all * (n_all - n_drawn) / n
    moments = [np.bincount(stratum, centred**power, minlength=len(n)) / n for power in (2, 4)]
    plain = moments[0] * n / np.maximum(n - 1, 1)
    least = weight * np.minimum(SUREST * (1 - SUREST), _MOST_BY_CHANCE / n)
    wide = float((factor * np.maximum(plain, least)).sum())
    normal, found = 2 * plain**2 / np.maximum(n - 1, 1), (moments[1] - moments[0] ** 2) / n
    spread = float((factor**2 * np.maximum(normal, found)).sum())
    return wide, 2 * wide**2 / spread if spread else np.inf


def _centred(values: Floats, stratum: Ints, n_drawn: Ints) -> Floats:
    """Return values minus the mean of their stratum."""
    means = np.bincount(stratum, weights=values, minlength=len(n_drawn)) / np.maximum(n_drawn, 1)
    return np.asarray(values - means[stratum])


def _why_not(pairs: ScoredPairs, is_in_top: Bools) -> str:
    """Return why there is no estimate; empty where there is one."""
    n_all, n_drawn = pairs.sizes
    thin = np.flatnonzero((n_drawn < 2) & (n_drawn < n_all))
    if len(thin):
        return f"{len(thin)} strata have fewer than 2 labels; draw more pairs, or judge those drawn"
    n_positive = int((pairs.label[pairs.is_drawn & is_in_top] > 0).sum())
    is_open = bool((is_in_top & np.isnan(pairs.label)).any())
    if is_open and n_positive < LEAST_DRAWN:
        return f"the draw brought {n_positive} positives, fewer than the {LEAST_DRAWN} that an interval needs"
    return ""


def _refused(why: str) -> Sampled:
    return Sampled(np.nan, np.nan, np.nan, np.nan, why)
