"""How many positives were never judged, from a random few queries that were judged deep, or from a sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.inference.horvitz import NO_POSITIVE, SampledPairs
from fire_toolkit.inference.limits import LEAST_QUERIES, score_limits, why_too_few


class Missing(NamedTuple):
    """The share of positives outside the shallow pool, and its interval; nan where `refused` says why."""

    share: float
    low: float
    high: float
    refused: str = ""


def missing_share(n_shallow: Ints, n_deep: Ints, *, n_queries: int, confidence: float = 0.95) -> Missing:
    """Return the share of positives that shallow judging does not find: 1 − Σ n_shallow / Σ n_deep.

    Args:
        n_shallow: (n,) positives by the shallow labels, of the queries judged deep.
        n_deep: (n,) positives by the deep labels, of the same queries.
        n_queries: of how many queries these are a random draw.
        confidence: of the interval, strictly between 0 and 1.

    Returns:
        The ratio of totals over the draw less its bias, its variance by linearisation and its limits by
        `score_limits` with t(n − 1). Refused below 40 queries; undefined where they have no positive. What
        lies outside the deep pool too is not seen.

    Source: Särndal, Swensson and Wretman 1992, 5.6. Estimates from shallow labels alone (capture–recapture,
    leave-one-out, jackknife) are of no use: on COCO captions they gave 4.75 to 5.6 of 6.85 positives.

    Examples:
        >>> found = missing_share(np.repeat([1, 2], 20), np.repeat([1, 4], 20), n_queries=400)
        >>> [round(value, 3) for value in found[:3]]
        [0.402, 0.353, 0.453]
    """
    n, total = len(n_deep), float(n_deep.sum())
    if n < LEAST_QUERIES:
        return Missing(np.nan, np.nan, np.nan, f"{n} queries were judged deep, fewer than {LEAST_QUERIES}")
    if total == 0:
        return Missing(np.nan, np.nan, np.nan, NO_POSITIVE)
    share = float((n_deep - n_shallow).sum()) / total
    rests = (n_deep - n_shallow) - share * n_deep
    undrawn = 1 - n / n_queries
    factor = undrawn * n / (n - 1) / total**2
    share = min(max(share + factor * float((rests * n_deep).sum()), 0.0), 1.0)
    options = {"weight": undrawn / n, "freedom": n - 1, "confidence": confidence}
    return Missing(share, *score_limits(share, factor * float((rests**2).sum()), **options))


def undrawn_share(pairs: SampledPairs, *, confidence: float = 0.95) -> Missing:
    """Return the share of positives that a draw of pairs left unjudged: 1 − found / estimated total.

    Args:
        pairs: those that were judged or stand in the original qrels, see `sampled_precision`.
        confidence: of the interval, strictly between 0 and 1.

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
    n_drawn, found, total = int(pairs.is_by_chance.sum()), float(pairs.after.sum()), pairs.total
    if n_drawn and (refused := why_too_few(n_drawn, "in all")):
        return Missing(np.nan, np.nan, np.nan, refused)
    if total <= 0:
        return Missing(np.nan, np.nan, np.nan, NO_POSITIVE)
    low, high = (1 - found / each for each in pairs.limits(confidence))
    # E(found / total) is found / truth · (1 + variance / total²) − their covariance / total²
    both = float(((1 - pairs.probability) * pairs.change).sum())
    share = 1 - found / total * (1 - pairs.variance(pairs.change) / total**2) - both / total**2
    return Missing(min(max(share, low), high), low, high)
