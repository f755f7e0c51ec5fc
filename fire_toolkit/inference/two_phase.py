"""From shallow judgments of all queries and deep ones of a random few: mean scores, and what was missed.

Every query has a score by its shallow labels (x), those of a random sample S also one by deep labels (y). The
estimate is the mean of λ·x over all queries plus the mean of y − λ·x over S: its expectation over samples is
the mean of y over all queries, whatever λ is, and the better x follows y, the narrower its interval.
"""

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.distributions import t_of
from fire_toolkit.inference.drawn_pairs import NO_POSITIVE
from fire_toolkit.inference.limits import Estimate, score_limits

LEAST_QUERIES = 40  # judged deep; below it intervals cover too little
_UNSEEN = 2  # changed queries that are added to those seen
_MOST_LEVERAGE = 0.5  # of a query: where one decides alone, its residual is not known to be larger


class TwoPhase:
    """The estimated mean of the deep scores of all queries, one measure, for each run: `of` gives it.

    slope: λ = clip(Σ_r Sxy_r / Σ_r Sxx_r, 0, 1), sums of squares and products over S, r the runs; means:
    (n_runs,) θ̂_r = λ·mean(x_r) + mean_S(y_r − λ·x_r). e_ri = y_ri − λ·x_ri minus its mean over S;
    h_ri = 1/n + (x_ri − x̄_r)² / Sxx_r (1/n where Sxx_r is 0), at most 1/2; residuals: (n, n_runs)
    g = e / (1 − h); se² = (1 − n/N)·Σ g²/n². change: (n, n_runs), what the deep labels changed; usual: by how
    much scores of queries differ, which an unseen change is taken for; n_queries: N.

    Args:
        shallow: (N, n_runs) x of all queries, from 0 to 1; on S too by the shallow labels alone.
        deep: (n, n_runs) y of the queries of S.
        sample: (n,) S, drawn at random without replacement: rows of `shallow`, in the order of `deep`.

    λ is one for all runs, so a run's estimate depends slightly on the others.

    Source: Särndal, Swensson and Wretman 1992, ch. 6 and 9; leverages as in HC3 of MacKinnon and White 1985.

    Examples:
        >>> x = np.arange(80.0)[:, None] / 80
        >>> found = TwoPhase(x, x[::2] * 0.5, np.arange(0, 80, 2))
        >>> round(found.slope, 4), round(found.of(0).estimate, 4), round(found.of(0).se, 4)
        (0.5, 0.2469, 0.0)
    """

    def __init__(self, shallow: Floats, deep: Floats, sample: Ints) -> None:
        x, n = shallow[sample], max(len(sample), 1)
        centred = x - x.sum(axis=0) / n
        squares = (centred**2).sum(axis=0)
        whole = float(squares.sum())
        self.slope = min(max(float((centred * deep).sum()) / whole, 0.0), 1.0) if whole > 0 else 0.0
        rest = deep - self.slope * x
        mean_rest = rest.sum(axis=0) / n
        leverage = 1 / n + centred**2 / np.where(squares > 0, squares, 1.0)
        self.n_queries = len(shallow)
        self.means = self.slope * shallow.mean(axis=0) + mean_rest
        self.residuals = (rest - mean_rest) / (1 - np.minimum(leverage, _MOST_LEVERAGE))
        self.change = deep - x
        self.usual = float(np.sqrt(shallow.var(axis=0).mean())) or 0.5

    def of(self, run: int, other: int | None = None) -> Estimate:
        """Return the estimate of a run, or that run minus another; refused where n is below 40.

        The limits are those of `score_limits` with t(n − 2) in 0 to 1, of a difference by Student's t in −1
        to 1, of se²·(1 + 2/c), c being the number of queries whose score the deep labels change: a few
        changes say little of how large the next ones are. Without any, se² is that of two changes as large as
        the scores of queries differ from one another.
        """
        of_runs = np.eye(len(self.means))[run]
        of_runs = of_runs if other is None else of_runs - np.eye(len(self.means))[other]
        n, undrawn = len(self.residuals), 1 - len(self.residuals) / self.n_queries
        if n < LEAST_QUERIES:
            few = f"{n} queries were judged deep, and below {LEAST_QUERIES} the interval covers too little"
            return Estimate(refused=few)
        estimate, residuals = float(self.means @ of_runs), self.residuals @ of_runs
        variance = undrawn * float(residuals @ residuals) / n**2
        n_changed = int((np.abs(self.change @ of_runs) > 1e-12).sum())
        inflated = _UNSEEN * undrawn * (self.usual / n) ** 2  # by two changes more than were seen
        if n_changed:
            inflated = variance * (1 + _UNSEEN / n_changed)
        if other is None:
            limits = score_limits(estimate, inflated, weight=undrawn / n / 2, freedom=n - 2)
        else:
            reach = t_of(n - 2) * inflated**0.5
            limits = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
        return Estimate(estimate, *limits, variance**0.5)


def missing_share(n_shallow: Ints, n_deep: Ints, *, n_queries: int) -> Estimate:
    """Return the share of positives that shallow judging does not find: 1 − Σ n_shallow / Σ n_deep.

    Args:
        n_shallow: (n,) positives by the shallow labels, of the queries judged deep.
        n_deep: (n,) positives by the deep labels, of the same queries.
        n_queries: of how many queries these are a random draw.

    Returns:
        The ratio of totals over the draw less its bias, its variance by linearisation and its limits by
        `score_limits` with t(n − 1). Refused below 40 queries, unless these are all; undefined where they
        have no positive. What lies outside the deep pool too is not seen.

    Source: Särndal, Swensson and Wretman 1992, 5.6. Estimates from shallow labels alone (capture–recapture,
    leave-one-out, jackknife) are of no use: on COCO captions they gave 4.75 to 5.6 of 6.85 positives.

    Examples:
        >>> found = missing_share(np.repeat([1, 2], 20), np.repeat([1, 4], 20), n_queries=400)
        >>> [round(value, 3) for value in found[:3]]
        [0.402, 0.353, 0.454]
    """
    n, total = len(n_deep), float(n_deep.sum())
    if n < min(LEAST_QUERIES, n_queries):
        return Estimate(refused=f"{n} queries were judged deep, fewer than {LEAST_QUERIES}")
    if total == 0:
        return Estimate(refused=NO_POSITIVE)
    share = float((n_deep - n_shallow).sum()) / total
    rests = (n_deep - n_shallow) - share * n_deep
    undrawn = 1 - n / n_queries
    factor = undrawn * n / (n - 1) / total**2
    variance = factor * float((rests**2).sum())
    share = min(max(share + factor * float((rests * n_deep).sum()), 0.0), 1.0)
    known = {"weight": undrawn / n, "freedom": n - 1}
    return Estimate(share, *score_limits(share, variance, **known), variance**0.5)
