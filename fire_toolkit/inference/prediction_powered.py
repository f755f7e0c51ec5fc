"""Estimates from a few labels drawn at random and a machine judge's score of every pair: P@k, micro R@k.

The labels correct the judge, so that its errors cost precision and bring no bias; what it is worth depends on
how well it separates. C@k is no sum over pairs: it is not estimated here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import TableError
from fire_toolkit.inference.binomial import check_confidence
from fire_toolkit.inference.horvitz import LEAST_DRAWN, Sampled
from fire_toolkit.inference.intervals import bootstrap_means, percentiles
from fire_toolkit.inference.student import t_quantile

KNOWN = -1  # the stratum of pairs whose relevance is known without a draw
_MOST_FREEDOM = 1000.0  # from where on Student's t is the normal distribution


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

    freedom: degrees of freedom of the variance, by Satterthwaite.
    """

    values: Floats
    variance: float
    freedom: float
    trust: float


def powered_precision(
    pairs: ScoredPairs,
    is_in_top: Bools,
    *,
    k: int,
    trust: float | None = None,
    confidence: float = 0.95,
    n_resamples: int = 0,
    seed: int = 0,
    clusters: Ints | None = None,
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
        confidence: of the interval, strictly between 0 and 1.
        n_resamples, seed: of the bootstrap over queries, for claims beyond these queries; 0: the interval
            (Student's t, Satterthwaite's degrees of freedom) is for these queries.
        clusters: (n_queries,) codes, where whole clusters of queries are drawn.

    Returns:
        The estimate with its interval; refused where fewer than ten positives of the top k were drawn and
        some pair there was not, or a stratum has fewer than two labels. se: for these queries.

    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++, arXiv 2311.01453), with the factor 1 − n/N of a finite
    population; Särndal, Swensson and Wretman 1992, 6.3; Cochran 1977, 5.4.

    Examples:
        >>> stratum = np.zeros(40, dtype=np.int64)
        >>> truth = np.arange(40) % 2.0
        >>> label = np.where(np.arange(40) < 30, truth, np.nan)
        >>> pairs = ScoredPairs(np.full(40, 0.5), label, stratum, np.arange(40), 40)
        >>> [round(value, 4) for value in powered_precision(pairs, np.ones(40, dtype=bool), k=1)[:4]]
        [0.5, 0.4051, 0.5949, 0.0464]
    """
    refused = _why_not(pairs, is_in_top)
    if refused:
        return _refused(refused)
    total = powered_total(pairs, is_in_top.astype(np.float64), trust=trust)
    size = k * pairs.n_queries
    means = total.values[:, None] / k
    se = total.variance**0.5 / size
    estimate = float(total.values.sum()) / size
    if not n_resamples:
        return _with_limits(estimate, se, total.freedom, confidence)
    drawn = bootstrap_means(means, n_resamples=n_resamples, seed=seed, clusters=clusters)
    return _with_percentiles(estimate, se, drawn[:, 0], confidence)


def powered_micro_recall(
    pairs: ScoredPairs,
    is_in_top: Bools,
    *,
    trust: float | None = None,
    confidence: float = 0.95,
    n_resamples: int = 0,
    seed: int = 0,
    clusters: Ints | None = None,
) -> Sampled:
    """Return the share of all positives of all queries that stand in a run's top: a ratio of two totals.

    Both totals are estimated with one λ, the best for the ratio. This is no mean over queries: a query counts
    as often as it has positives.

    Args:
        pairs, is_in_top, trust, confidence, n_resamples, seed, clusters: as in `powered_precision`.

    Returns:
        The ratio, its interval by linearisation, or by the bootstrap over queries; refused as there, or where
        there is no positive at all.
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
    se = linear.variance**0.5 / sums[1]
    if not n_resamples:
        return _with_limits(ratio, se, linear.freedom, confidence)
    means = bootstrap_means(np.column_stack(values), n_resamples=n_resamples, seed=seed, clusters=clusters)
    return _with_percentiles(ratio, se, means[:, 0] / means[:, 1], confidence)


def powered_total(pairs: ScoredPairs, weight: Floats, *, trust: float | None = None) -> Powered:
    """Return the total of weight · relevance over all pairs, as the sum of its values of the queries.

    Args:
        weight: (n_pairs,) of each pair.
        trust: λ; None: the one of least variance.

    Returns:
        values: (n_queries,) whose sum is the estimate, and whose spread over queries holds the error of the
        draw too, so that a bootstrap over queries does; variance: over draws, these queries given.
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
    variance = np.bincount(own, weights=factor[own] * centred**2, minlength=len(n_all))
    squares = float((variance**2 / np.maximum(n_drawn - 1, 1)).sum())
    freedom = float(variance.sum()) ** 2 / squares if squares else np.inf
    return Powered(np.asarray(values), float(variance.sum()), freedom, trust)


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


def _with_limits(estimate: float, se: float, freedom: float, confidence: float) -> Sampled:
    check_confidence(confidence)
    reach = t_quantile((1 + confidence) / 2, min(freedom, _MOST_FREEDOM)) * se
    return Sampled(estimate, max(estimate - reach, 0.0), min(estimate + reach, 1.0), se)


def _with_percentiles(estimate: float, se: float, draws: Floats, confidence: float) -> Sampled:
    low, high = percentiles(draws[:, None], confidence=confidence)
    return Sampled(estimate, max(float(low[0]), 0.0), min(float(high[0]), 1.0), se)
