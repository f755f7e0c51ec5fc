"""Pairs of which some were drawn, by two designs, and the total of the positives among any of them.

`SampledPairs`: each pair was drawn by itself with a known probability (Horvitz and Thompson). `ScoredPairs`:
a random sample within strata, beside a machine judge's score of every pair, whose errors the labels correct:
they cost precision and bring no bias. A total has what every estimate of `sampled` is made of: its
residuals, whose squares sum to its variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, sum_by_query
from fire_toolkit.errors import TableError
from fire_toolkit.inference.limits import Limits, freedom_of_weight, score_limits, why_too_few

KNOWN = -1  # the stratum of pairs whose relevance is known without a draw


@dataclass(frozen=True, eq=False)
class Total:
    """The estimated number of positives among some pairs.

    values: (n_queries,) whose sum it is, and whose spread over queries holds the error of the draw too.
    residuals: of each pair, whose squares sum to the variance over draws, these queries given; those of two
    totals multiply to their covariance. found: what each pair drawn adds to it, in size. weight: for how many
    pairs that were not drawn one that was stands, on the mean. known: how much of it needed no draw; most:
    how much the rest can be; seen, largest: between which it lies whatever the pairs not drawn are.
    """

    values: Floats
    residuals: Floats
    found: Floats
    weight: float
    known: float
    most: float
    seen: float
    largest: float

    @property
    def estimate(self) -> float:
        """The total."""
        return float(self.values.sum())

    @property
    def variance(self) -> float:
        """Its variance over draws of pairs."""
        return float(self.residuals @ self.residuals)

    def limits(self) -> Limits:
        """Return the limits for these queries, which have a width also where the draw brought no positive."""
        freedom = freedom_of_weight(self.residuals**2, self.found)
        rest, own = self.estimate - self.known, {"weight": self.weight, "most": self.most, "freedom": freedom}
        drawn = score_limits(rest, self.variance, **own)
        return Limits(max(self.known + drawn.low, self.seen), min(self.known + drawn.high, self.largest))


@dataclass(frozen=True, eq=False)
class SampledPairs:
    """Judged pairs, each with what it was known as before, and the probability with which it was drawn.

    before, after: (n_pairs,) whether it is a positive by the original qrels, and by the labels; probability:
    in (0, 1], 1 for a pair that was judged whatever chance said; query: of each pair; n_queries: of all;
    whole_to: the rank of the runs down to which every pair was judged. Pairs that could not be drawn count as
    not relevant.

    The total of some pairs is Σ original + Σ (label − original) / π over them, and its variance
    Σ (1 − π) (label − original)² / π².

    Source: Horvitz and Thompson, JASA 1952.
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

    def total(self, of: Bools | None = None) -> Total:
        """Return the positives among some pairs, judged or not."""
        rows = np.arange(len(self.before)) if of is None else np.flatnonzero(of)
        chance, before = self.probability[rows], self.before[rows].astype(np.float64)
        change = (self.after[rows] - before) / chance  # 1/π for a new positive
        drawn = chance < 1
        residuals, found = np.zeros((2, len(self.before)))
        residuals[rows], found[rows] = change * np.sqrt(1 - chance), np.abs(change) * drawn
        known = float((before + change * ~drawn).sum())
        return Total(
            values=sum_by_query(self.query[rows], before + change, self.n_queries),
            residuals=residuals,
            found=found,
            weight=float(((1 - chance) / chance)[drawn].mean()) if drawn.any() else 0.0,
            known=known,
            most=math.inf,
            seen=known + float((change * chance)[drawn].sum()),
            largest=math.inf,
        )

    def halves(self, of: Bools) -> tuple[Total, Total]:
        """Return the positives among some pairs, and among the others."""
        return self.total(of), self.total(~of)

    def why_not(self, of: Bools, k: int | None = None) -> str:
        """Return why it is not known how many of some pairs are positive; empty where it is."""
        n_drawn = int((self.probability[of] < 1).sum())
        is_whole = n_drawn == 0 if k is None else k <= self.whole_to
        return "" if is_whole else why_too_few(n_drawn, "in all" if k is None else f"in its top {k}")


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """A population of pairs with a judge's score of each, and the labels of a sample drawn within strata.

    score: (n_pairs,) from 0 to 1, fixed before anybody labelled; label: (n_pairs,) 1 or 0, nan where there is
    none; stratum: (n_pairs,) codes from 0, or `KNOWN`; within each the labels are a simple random sample.
    query: of each pair; n_queries: of all. trust: λ, from 0 (labels alone) to 1; None: the best one.

    A total is λ·(sum of scores) plus, in each stratum, N/n·(sum over the sample of label − λ·score). λ is the
    one of least variance, cov(label, score)/var(score), clipped to [0, 1]. With one stratum this is PPI++;
    with strata by the score it is the difference estimator.

    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++, arXiv 2311.01453), with the factor 1 − n/N of a finite
    population; Särndal, Swensson and Wretman 1992, 6.3.
    """

    score: Floats
    label: Floats
    stratum: Ints
    query: Ints
    n_queries: int
    trust: float | None = None

    def __post_init__(self) -> None:
        """Refuse scores that are no probabilities, and known pairs without a label."""
        is_one = (self.score >= 0) & (self.score <= 1)
        if not is_one.all():
            found = float(self.score[~is_one][0])
            raise TableError(f"a judge's score is {found:g}, expected a probability from 0 to 1")
        if np.isnan(self.label[self.stratum == KNOWN]).any():
            raise TableError("a pair of known relevance has no label, expected 1 or 0")

    @cached_property
    def is_drawn(self) -> Bools:
        """Return which pairs' labels came by the draw."""
        return np.asarray((self.stratum != KNOWN) & ~np.isnan(self.label))

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """Return how many pairs each stratum has, and how many of them have a label."""
        n = int(self.stratum.max(initial=KNOWN)) + 1
        of_all, of_drawn = self.stratum[self.stratum != KNOWN], self.stratum[self.is_drawn]
        return np.bincount(of_all, minlength=n), np.bincount(of_drawn, minlength=n)

    def best_trust(self, weight: Floats | Bools) -> float:
        """Return λ of least variance for the total of weight · relevance over all pairs."""
        if self.trust is not None:
            return self.trust
        factor = self._factor
        by_label, by_score = (self._centred(weight, values) for values in (self.label, self.score))
        spread = float((factor * by_score**2).sum())
        return float(np.clip((factor * by_label * by_score).sum() / spread, 0, 1)) if spread else 0.0

    def total(self, of: Bools | None = None) -> Total:
        """Return the positives among some pairs, labelled or not."""
        chosen = np.ones(len(self.label), dtype=bool) if of is None else of
        return self._total(chosen, self.best_trust(chosen))

    def halves(self, of: Bools) -> tuple[Total, Total]:
        """Return the positives among some pairs and the others, with the λ that is best for their ratio."""
        top, rest = self._total(of, 0.0), self._total(~of, 0.0)
        whole = top.estimate + rest.estimate
        if whole <= 0:
            return top, rest
        trust = self.best_trust(np.asarray(of - top.estimate / whole))
        return self._total(of, trust), self._total(~of, trust)

    def why_not(self, of: Bools, k: int | None = None) -> str:
        """Return why it is not known how many of some pairs are positive; empty where it is."""
        n_all, n_drawn = self.sizes
        thin = np.flatnonzero((n_drawn < 2) & (n_drawn < n_all))
        if len(thin):
            return f"{len(thin)} strata have fewer than 2 labels; draw more pairs, or judge those drawn"
        if not np.isnan(self.label[of]).any():
            return ""
        return why_too_few(int((self.is_drawn & of).sum()), "in all" if k is None else f"in its top {k}")

    @cached_property
    def _factor(self) -> Floats:
        """Of each pair drawn N²(1/n − 1/N) / (n − 1): times the centred squares, its stratum's variance."""
        n_all, n_drawn = self.sizes
        factor = n_all * (n_all - n_drawn) / np.maximum(n_drawn * (n_drawn - 1), 1)
        return np.asarray(factor[self.stratum[self.is_drawn]])

    def _centred(self, weight: Floats | Bools, values: Floats) -> Floats:
        """Return of each pair drawn its weight · value less the mean of its stratum."""
        own, found = self.stratum[self.is_drawn], (weight * values)[self.is_drawn]
        n_all, n_drawn = self.sizes
        return np.asarray(found - (np.bincount(own, found, len(n_all)) / np.maximum(n_drawn, 1))[own])

    def _total(self, of: Bools, trust: float) -> Total:
        n_all, n_drawn = self.sizes
        is_known, drawn = self.stratum == KNOWN, self.is_drawn
        error = self.label - trust * self.score
        centred = self._centred(of, error)
        own, stands_for = self.stratum[drawn], n_all / np.maximum(n_drawn, 1)
        mean_error = np.bincount(own, (of * error)[drawn], len(n_all)) / np.maximum(n_drawn, 1)
        of_pair = np.where(is_known, of * np.nan_to_num(self.label), of * trust * self.score)
        of_pair[~is_known] += mean_error[self.stratum[~is_known]]
        of_pair[drawn] += centred * stands_for[own]
        open_pairs, n_own = np.isnan(self.label) & of, int((drawn & of).sum())
        seen = float(np.nansum(self.label[of]))
        return Total(
            values=sum_by_query(self.query, of_pair, self.n_queries),
            residuals=centred * np.sqrt(self._factor),
            found=(of * self.label)[drawn] * stands_for[own],
            weight=float(open_pairs.sum() / n_own) if n_own else 0.0,
            known=float(self.label[of & is_known].sum()),
            most=max(float((of & ~is_known).sum()), 1.0),
            seen=seen,
            largest=seen + float(open_pairs.sum()),
        )


DrawnPairs = SampledPairs | ScoredPairs
