"""Mean scores from shallow judgments of all queries and deep ones of a random few: the difference estimator.

Every query has a score by its shallow labels (x), those of a random sample S also one by deep labels (y). The
estimate is the mean of λ·x over all queries plus the mean of y − λ·x over S: its expectation over samples is
the mean of y over all queries, whatever λ is, and the better x follows y, the narrower its interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.limits import LEAST_QUERIES, Limits, score_limits, t_of

_UNSEEN = 2  # changed queries that are added to those seen
_MOST_LEVERAGE = 0.5  # of a query: where one decides alone, its residual is not known to be larger


@dataclass(frozen=True, eq=False)
class TwoPhase:
    """What `two_phase_difference` returns.

    slope: λ. estimate, se, low, high: (n_runs,), nan where refused. refused: why there is no estimate, empty
    where there is one. n, n_queries: queries judged deep, and all. residuals: (n, n_runs), corrected for
    leverage; between: (n, n_runs), what is added for claims beyond these queries; change: (n, n_runs), what
    the deep labels changed; usual: by how much scores of queries differ, which an unseen change is taken for.
    """

    slope: float
    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    refused: str
    n: int
    n_queries: int
    residuals: Floats
    between: Floats
    change: Floats
    usual: float
    confidence: float

    def difference(self, a: int, b: int) -> tuple[float, float, float, float]:
        """Return of run `a` minus run `b`: the estimate, its standard error, and the limits in −1 to 1."""
        estimate = self.estimate[a] - self.estimate[b]
        parts = (self.residuals, self.between, self.change)
        residuals, between, change = (each[:, a] - each[:, b] for each in parts)
        se = _variance(residuals, between, self.n_queries) ** 0.5
        inflated = _inflated(residuals, between, change, self.n_queries, self.usual)
        reach = t_of(self.n - 2, self.confidence) * inflated**0.5
        return float(estimate), float(se), max(estimate - reach, -1.0), min(estimate + reach, 1.0)


def two_phase_difference(
    shallow: Floats,
    deep: Floats,
    sample: Ints,
    *,
    beyond: bool = False,
    confidence: float = 0.95,
) -> TwoPhase:
    """Return the estimated mean of the deep scores of all queries, one measure, for each run.

    λ = clip(Σ_r Sxy_r / Σ_r Sxx_r, 0, 1), sums of squares and products over S, r the runs;
    θ̂_r = λ·mean(x_r) + mean_S(y_r − λ·x_r);
    e_ri = y_ri − λ·x_ri minus its mean over S; h_ri = 1/n + (x_ri − x̄_r)² / Sxx_r (1/n where Sxx_r is 0);
    g = e / (1 − h), h at most 1/2; se² = (1 − n/N)·Σ g²/n². The limits are those of `score_limits` with
    t(n − 2), of se²·(1 + 2/c), c being the number of queries whose score the deep labels change: a few
    changes say little of how large the next ones are. Without any, se² is that of two changes as large as the
    scores of queries differ from one another.

    Args:
        shallow: (N, n_runs) x of all queries, from 0 to 1; on S too by the shallow labels alone.
        deep: (n, n_runs) y of the queries of S.
        sample: (n,) S, drawn at random without replacement: rows of `shallow`, in the order of `deep`.
        beyond: whether the claim is about queries like these, and not these N: adds s_y²/N to se².
        confidence: of the intervals, strictly between 0 and 1.

    Returns:
        The runs in their order. λ is one for all of them, so a run's estimate depends slightly on the others.
        Refused (nan) where n is below 40, whatever the labels are.

    Raises:
        UsageError: shapes do not fit, or S holds a query twice or one that there is not.

    Source: Särndal, Swensson and Wretman 1992, ch. 6 and 9; leverages as in HC3 of MacKinnon and White 1985.

    Examples:
        >>> x = np.arange(80.0)[:, None] / 80
        >>> found = two_phase_difference(x, x[::2] * 0.5, np.arange(0, 80, 2))
        >>> round(found.slope, 4), found.estimate.round(4).tolist(), found.se.round(4).tolist()
        (0.5, [0.2469], [0.0])
    """
    _check(shallow, deep, sample)
    n, n_queries = len(sample), len(shallow)
    x = shallow[sample]
    slope = _slope(x, deep)
    raw = deep - slope * x
    estimate = slope * shallow.mean(axis=0) + raw.mean(axis=0)
    residuals = (raw - raw.mean(axis=0)) / (1 - np.minimum(_leverages(x), _MOST_LEVERAGE))
    between = deep - deep.mean(axis=0) if beyond else np.zeros_like(deep)
    change = deep - x
    usual = float(np.sqrt(shallow.var(axis=0).mean())) or 0.5
    refused = ""
    se, limits = np.full(len(estimate), np.nan), [Limits(np.nan, np.nan)] * len(estimate)
    if n < LEAST_QUERIES:
        refused = f"{n} queries were judged deep, and below {LEAST_QUERIES} the interval covers too little"
        estimate = se.copy()
    else:
        columns = [*zip(residuals.T, between.T, change.T, strict=True)]
        se[:] = np.sqrt([_variance(of_run, beyond_them, n_queries) for of_run, beyond_them, _ in columns])
        variances = [_inflated(*each, n_queries, usual) for each in columns]
        options = {"weight": (1 - n / n_queries) / n / 2, "freedom": n - 2, "confidence": confidence}
        limits = [score_limits(*each, **options) for each in zip(estimate.tolist(), variances, strict=True)]
    low, high = np.array(limits).reshape(-1, 2).T
    return TwoPhase(
        slope, estimate, se, low, high, refused, n, n_queries, residuals, between, change, usual, confidence
    )


def _check(shallow: Floats, deep: Floats, sample: Ints) -> None:
    is_fit = shallow.ndim == deep.ndim == 2 and deep.shape == (len(sample), shallow.shape[1])
    if not is_fit:
        shapes = f"{shallow.shape}, {deep.shape} and {sample.shape}"
        raise UsageError(f"shallow, deep and sample are {shapes}; expected (N, runs), (n, runs) and (n,)")
    if len(np.unique(sample)) < len(sample):
        raise UsageError("the sample holds a query twice; expected a draw without replacement")
    if len(sample) and (sample.min() < 0 or sample.max() >= len(shallow)):
        raise UsageError(f"the sample names a query outside the {len(shallow):,} there are")


def _slope(x: Floats, y: Floats) -> float:
    """Return λ: the slope of y on x within runs, between 0 and 1; 0 where x never differs."""
    if not len(x):
        return 0.0
    centred = x - x.mean(axis=0)
    squares = float((centred**2).sum())
    return min(max(float((centred * y).sum()) / squares, 0.0), 1.0) if squares > 0 else 0.0


def _leverages(x: Floats) -> Floats:
    """Return h of each query and run."""
    if not len(x):
        return x
    squares = (x - x.mean(axis=0)) ** 2
    sums = squares.sum(axis=0)
    return np.asarray(1 / len(x) + squares / np.where(sums > 0, sums, 1.0))


def _variance(residuals: Floats, between: Floats, n_queries: int) -> float:
    """Return (1 − n/N)·Σ g²/n² + s²/N of one run, or of the difference of two."""
    n = len(residuals)
    sampled = (1 - n / n_queries) * float((residuals**2).sum()) / n**2
    return sampled + float(((between - between.mean()) ** 2).sum()) / (n - 1) / n_queries


def _inflated(residuals: Floats, between: Floats, change: Floats, n_queries: int, usual: float) -> float:
    """Return the variance with two changes more than were seen, which limits are made of."""
    n, n_changed = len(residuals), int((np.abs(change) > 1e-12).sum())
    none = np.zeros(n)
    if not n_changed:
        sampled = _UNSEEN * (1 - n / n_queries) * (usual / n) ** 2
    else:
        sampled = _variance(residuals, none, n_queries) * (1 + _UNSEEN / n_changed)
    return sampled + _variance(none, between, n_queries)
