"""Mean scores from shallow judgments of all queries and deep ones of a random few: the difference estimator.

Every query has a score by its shallow labels (x), those of a random sample S also one by deep labels (y). The
estimate is the mean of λ·x over all queries plus the mean of y − λ·x over S: its expectation over samples is
the mean of y over all queries, whatever λ is, and the better x follows y, the narrower its interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.binomial import check_confidence
from fire_toolkit.inference.student import t_quantile

LEAST_QUERIES = 40  # judged deep; below it intervals cover too little
LEAST_CHANGED = 10  # queries whose score the deep labels change
_WHOLE = 1 - 1e-9  # a leverage from which one query alone decides


@dataclass(frozen=True, eq=False)
class TwoPhase:
    """What `two_phase_difference` returns.

    slope: λ. estimate, se, low, high: (n_runs,), nan where refused. refused: of each run why there is no
    estimate, empty where there is one. n, n_queries: queries judged deep, and all. residuals: (n, n_runs),
    corrected for leverage; between: (n, n_runs), what is added for claims beyond these queries.
    """

    slope: float
    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    refused: tuple[str, ...]
    n: int
    n_queries: int
    residuals: Floats
    between: Floats
    confidence: float

    def difference(self, a: int, b: int) -> tuple[float, float, float, float]:
        """Return of run `a` minus run `b`: the estimate, its standard error, and the limits."""
        estimate = self.estimate[a] - self.estimate[b]
        residuals, between = (each[:, [a]] - each[:, [b]] for each in (self.residuals, self.between))
        se = _standard_errors(residuals, between, self.n_queries)[0]
        reach = _reach(self.n, self.confidence) * se
        return float(estimate), float(se), float(estimate - reach), float(estimate + reach)


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
    g = e / (1 − h); se² = (1 − n/N)·Σ g²/n²; the limits are θ̂ ± t(n − 2)·se.

    Args:
        shallow: (N, n_runs) x of all queries; on S too by the shallow labels alone.
        deep: (n, n_runs) y of the queries of S.
        sample: (n,) S, drawn at random without replacement: rows of `shallow`, in the order of `deep`.
        beyond: whether the claim is about queries like these, and not these N: adds s_y²/N to se².
        confidence: of the intervals, strictly between 0 and 1.

    Returns:
        The runs in their order. λ is one for all of them, so a run's estimate depends slightly on the others.
        Refused (nan) where n is below 40, where the deep labels change the score of fewer than ten queries of
        a run, and where one query has a leverage h of 1.

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
    leverage = _leverages(x)
    is_whole = np.any(leverage >= _WHOLE, axis=0)
    residuals = (raw - raw.mean(axis=0)) / np.where(leverage >= _WHOLE, np.nan, 1 - leverage)
    between = deep - deep.mean(axis=0) if beyond else np.zeros_like(deep)
    se = _standard_errors(residuals, between, n_queries)
    refused = _refusals(deep, x, is_whole)
    is_known = np.array([not why for why in refused])
    estimate, se = np.where(is_known, estimate, np.nan), np.where(is_known, se, np.nan)
    reach = _reach(n, confidence) * se
    return TwoPhase(
        slope, estimate, se, estimate - reach, estimate + reach, refused, n, n_queries, residuals, between,
        confidence,
    )  # fmt: skip


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


def _standard_errors(residuals: Floats, between: Floats, n_queries: int) -> Floats:
    """Return √((1 − n/N)·Σ g²/n² + s²/N) of each column."""
    n = len(residuals)
    if n < 2:
        return np.full(residuals.shape[1], np.nan)
    sampled = (1 - n / n_queries) * (residuals**2).sum(axis=0) / n**2
    centred = between - between.mean(axis=0)
    return np.asarray(np.sqrt(sampled + (centred**2).sum(axis=0) / (n - 1) / n_queries))


def _reach(n: int, confidence: float) -> float:
    check_confidence(confidence)
    return t_quantile((1 + confidence) / 2, n - 2) if n > 2 else math.nan


def _refusals(deep: Floats, x: Floats, is_whole: Bools) -> tuple[str, ...]:
    """Return of each run why there is no estimate."""
    n = len(deep)
    if n < LEAST_QUERIES:
        why = f"{n} queries were judged deep, and below {LEAST_QUERIES} the interval covers too little"
        return (why,) * deep.shape[1]
    changed = (np.abs(deep - x) > 1e-12).sum(axis=0)
    pairs = zip(changed.tolist(), is_whole.tolist(), strict=True)
    return tuple(_refusal(n_changed, n, whole) for n_changed, whole in pairs)


def _refusal(n_changed: int, n: int, is_whole: bool) -> str:
    if n_changed < LEAST_CHANGED:
        return (
            f"the deep labels change the score of {n_changed} of {n} queries, and with fewer than "
            f"{LEAST_CHANGED} the interval cannot be trusted"
        )
    return "one query alone decides the estimate (leverage 1)" if is_whole else ""
