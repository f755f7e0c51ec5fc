"""What pairs that were drawn tell: P@k, its difference between runs, micro R@k, and what was not drawn.

Each is made of totals, see `drawn_pairs`. C@k is no sum over pairs: it is not estimated from them.
"""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.inference.drawn_pairs import DrawnPairs, SampledPairs
from fire_toolkit.inference.limits import (
    NO_POSITIVE,
    Estimate,
    Limits,
    freedom_of_weight,
    limits_of_difference,
    limits_of_share,
    no_estimate,
    score_limits,
    why_too_few,
)
from fire_toolkit.inference.resampling import cluster_sums


def sampled_precision(pairs: DrawnPairs, is_in_top: Bools, *, k: int, drawn: Ints | None = None) -> Estimate:
    """Return P@k of a run, its mean over queries: the total over its top k, over k times the queries.

    Args:
        pairs: all that were judged or could be.
        is_in_top: (n_pairs,) which of them stand in the run's top k; what else stands there counts as not
            relevant.
        k: the cutoff.
        drawn: (n_queries,) of each query the code of what was drawn, itself or its cluster, for an interval
            over queries like these; None: it is for these queries.

    Returns:
        The estimate with its interval (`score_limits`), which has a width also where the draw brought no
        positive. Refused where fewer than 100 pairs of the top k were drawn by chance and some pair there was
        not judged; in strata also where one has fewer than two labels.

    Examples:
        >>> from fire_toolkit.inference.drawn_pairs import ScoredPairs
        >>> none, all_of = np.zeros(120, dtype=bool), np.ones(120, dtype=bool)
        >>> pairs = SampledPairs(none, np.arange(120) < 30, np.full(120, 0.5), np.arange(120), 240)
        >>> [round(value, 4) for value in sampled_precision(pairs, all_of, k=1)[:3]]
        [0.25, 0.1942, 0.3218]
        >>> label = np.where(np.arange(160) < 120, np.arange(160) % 2.0, np.nan)
        >>> pairs = ScoredPairs(np.full(160, 0.5), label, np.zeros(160, dtype=np.int64), np.arange(160), 160)
        >>> [round(value, 4) for value in sampled_precision(pairs, np.ones(160, dtype=bool), k=1)[:4]]
        [0.5, 0.455, 0.545, 0.0229]
    """
    if refused := pairs.why_not(is_in_top, k):
        return no_estimate(refused)
    total, size = pairs.total(is_in_top), float(k * pairs.n_queries)
    if drawn is not None:
        parts = (total.values, total.residuals, total.found)
        limits = _limits_beyond(total.estimate, parts, drawn, weight=total.weight, most=size)
    else:
        limits = total.limits()
    estimate, low, high = (min(each / size, 1.0) for each in (total.estimate, *limits))
    return Estimate(estimate, low, high, total.variance**0.5 / size)


def sampled_difference(pairs: SampledPairs, in_a: Bools, in_b: Bools, *, k: int) -> Estimate:
    """Return what two runs differ by in P@k, a − b, from pairs that were drawn one by one.

    Pairs in both tops cancel, and so do their errors: the estimate is that of `sampled_precision` for the
    pairs in a's top alone, less that for those in b's.

    Args:
        pairs: as in `sampled_precision`.
        in_a, in_b: which of them stand in the top k of each run.
        k: the cutoff.

    Returns:
        The difference with its interval (`limits_of_difference`), within −1 to 1; refused as there, by the
        pairs in one top alone.

    Examples:
        >>> none, all_of = np.zeros(120, dtype=bool), np.ones(120, dtype=bool)
        >>> pairs = SampledPairs(none, np.arange(120) < 30, np.full(120, 0.5), np.arange(120), 240)
        >>> in_b = np.arange(120) < 12
        >>> [round(value, 3) for value in sampled_difference(pairs, ~in_b, in_b, k=1)[:3]]
        [0.05, -0.014, 0.116]
    """
    n_drawn = int((pairs.probability[in_a != in_b] < 1).sum())
    if k > pairs.whole_to and (refused := why_too_few(n_drawn, f"in the top {k} of one of the two alone")):
        return no_estimate(refused)
    a, b, size = pairs.total(in_a & ~in_b), pairs.total(in_b & ~in_a), k * pairs.n_queries
    limits = limits_of_difference(a.estimate, a.limits(), b.estimate, b.limits())
    estimate, low, high = (min(max(each / size, -1.0), 1.0) for each in (a.estimate - b.estimate, *limits))
    return Estimate(estimate, low, high, (a.variance + b.variance) ** 0.5 / size)


def micro_recall(pairs: DrawnPairs, is_in_top: Bools, *, drawn: Ints | None = None) -> Estimate:
    """Return the share of all positives of all queries that stand in a run's top: a ratio of two totals.

    This is not a mean over queries: a query counts as often as it has positives. The mean of each query's own
    ratio is not estimated from such a sample: it was too high by .07 to .22.

    Args:
        pairs, drawn: as in `sampled_precision`.
        is_in_top: which of them stand in the run's top k.

    Returns:
        The ratio less its bias, its error by linearisation, its limits by `limits_of_share`, or beyond these
        queries by `score_limits`. Refused as there, by all pairs drawn; undefined (nan) where no positive is
        known or was drawn.

    Source: Särndal, Swensson and Wretman 1992, 5.6.
    """
    if refused := pairs.why_not(np.ones(len(is_in_top), dtype=bool), None):
        return no_estimate(refused)
    top, rest = pairs.halves(is_in_top)
    whole = top.estimate + rest.estimate
    if whole <= 0:
        return no_estimate(NO_POSITIVE)
    ratio = top.estimate / whole
    values = ((1 - ratio) * top.values - ratio * rest.values) / whole
    residuals = ((1 - ratio) * top.residuals - ratio * rest.residuals) / whole
    found = ((1 - ratio) * top.found + ratio * rest.found) / whole
    unbiased = ratio + float(residuals @ (top.residuals + rest.residuals)) / whole
    estimate = min(max(unbiased, 0.0), 1.0)
    if drawn is not None:
        parts = (values, residuals, found)
        limits = _limits_beyond(estimate, parts, drawn, weight=pairs.total().weight / whole)
    else:
        of_top, of_rest = (each.limits() for each in (top, rest))
        limits = limits_of_share(top.estimate, of_top, rest.estimate, of_rest)
        estimate = min(max(estimate, limits.low), limits.high)
    return Estimate(estimate, *limits, float(residuals @ residuals) ** 0.5)


def undrawn_share(pairs: SampledPairs) -> Estimate:
    """Return the share of positives that a draw of pairs left unjudged: 1 − found / estimated total.

    Args:
        pairs: those that were judged or stand in the original qrels.

    Returns:
        The share of all queries' positives together, less its bias; its limits are by those of the total. 0
        where every pair was judged. Refused where fewer than 100 pairs were drawn by chance.

    Source: Horvitz and Thompson, JASA 1952.

    Examples:
        >>> none = np.zeros(120, dtype=bool)
        >>> pairs = SampledPairs(none, np.arange(120) < 30, np.full(120, 0.5), np.arange(120), 240)
        >>> [round(value, 3) for value in undrawn_share(pairs)[:3]]
        [0.5, 0.356, 0.612]
    """
    whole, found = pairs.total(), float(pairs.after.sum())
    if refused := pairs.why_not(np.ones(len(pairs.after), dtype=bool)):
        return no_estimate(refused)
    if whole.estimate <= 0:
        return no_estimate(NO_POSITIVE)
    low, high = (1 - found / each for each in whole.limits())
    # E(found / total) is found / truth · (1 + variance / total²) − their covariance / total²
    both = float(whole.residuals @ np.sqrt(1 - pairs.probability))
    share = 1 - found / whole.estimate * (1 - whole.variance / whole.estimate**2) - both / whole.estimate**2
    return Estimate(min(max(share, low), high), low, high)


def _limits_beyond(
    estimate: float, parts: tuple[Floats, Floats, Floats], drawn: Ints, *, weight: float, most: float = 1.0
) -> Limits:
    """Return limits over draws of queries (or clusters) too: by the spread of the values of queries.

    In these the errors of the draw of pairs are too. parts: values, residuals and found, see `Total`.
    """
    values, residuals, found = parts
    sums, sizes = cluster_sums(values[:, None], drawn).T
    n, over_pairs = len(sums), float(residuals @ residuals)
    variance = float(((sums - values.mean() * sizes) ** 2).sum()) * n / max(n - 1, 1)
    growth = variance / over_pairs if over_pairs else 1.0
    freedom = max(freedom_of_weight(residuals**2, found) * growth**2, 1.0)
    return score_limits(estimate, variance, weight=weight, most=most, freedom=freedom)
