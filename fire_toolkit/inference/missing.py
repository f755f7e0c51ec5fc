"""How many positives were never judged, from a random few queries that were judged deep, or from a sample."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.inference.horvitz import LEAST_DRAWN, SampledPairs
from fire_toolkit.inference.student import t_quantile
from fire_toolkit.inference.two_phase import LEAST_QUERIES


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
        The ratio of totals over the draw, and its interval by linearisation with t(n − 1), within 0 and 1.
        Refused below 40 queries, and where they have no positive. What lies outside the deep pool too is not
        seen.

    Source: Särndal, Swensson and Wretman 1992, 5.6. Estimates from shallow labels alone (capture–recapture,
    leave-one-out, jackknife) are of no use: on COCO captions they gave 4.75 to 5.6 of 6.85 positives.

    Examples:
        >>> found = missing_share(np.repeat([1, 2], 20), np.repeat([1, 4], 20), n_queries=400)
        >>> [round(value, 3) for value in found[:3]]
        [0.4, 0.351, 0.449]
    """
    n, total = len(n_deep), float(n_deep.sum())
    if n < LEAST_QUERIES:
        return Missing(np.nan, np.nan, np.nan, f"{n} queries were judged deep, fewer than {LEAST_QUERIES}")
    if total == 0:
        return Missing(np.nan, np.nan, np.nan, "the queries judged deep have no positive")
    share = float((n_deep - n_shallow).sum()) / total
    rests = (n_deep - n_shallow) - share * n_deep
    se = ((1 - n / n_queries) * (rests**2).sum() * n / (n - 1)) ** 0.5 / total
    reach = t_quantile((1 + confidence) / 2, n - 1) * float(se)
    return Missing(share, max(share - reach, 0.0), min(share + reach, 1.0))


def undrawn_share(pairs: SampledPairs, *, confidence: float = 0.95) -> Missing:
    """Return the share of positives that a draw of pairs left unjudged: 1 − found / estimated total.

    Args:
        pairs: those that were judged or stand in the original qrels, see `sampled_precision`.
        confidence: of the interval, strictly between 0 and 1.

    Returns:
        The share of all queries' positives together, as of `missing_share`, and its normal interval, within 0
        and 1; 0 where every pair was judged. Refused where fewer than ten positives came by chance.

    Source: Horvitz and Thompson, JASA 1952; the total's error over the total, linearised.

    Examples:
        >>> none, all_of = np.zeros(20, dtype=bool), np.ones(20, dtype=bool)
        >>> pairs = SampledPairs(none, all_of, np.full(20, 0.5), np.arange(20), 40)
        >>> [round(value, 3) for value in undrawn_share(pairs)[:3]]
        [0.5, 0.345, 0.655]
    """
    by_chance = pairs.take(pairs.probability < 1)
    n_drawn = int((by_chance.after != by_chance.before).sum())
    if n_drawn < LEAST_DRAWN and len(by_chance.after):
        why = f"the draw brought {n_drawn} positives, fewer than {LEAST_DRAWN}"
        return Missing(np.nan, np.nan, np.nan, why)
    found = float(pairs.after.sum())
    total = pairs.total(np.ones_like(pairs.after))
    if total <= 0:
        return Missing(np.nan, np.nan, np.nan, "no positive was found")
    share, se = 1 - found / total, found * pairs.variance(pairs.change) ** 0.5 / total**2
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * se
    return Missing(share, max(share - reach, 0.0), min(share + reach, 1.0))
