"""A statistic and how certain it is: score intervals of shares, a Bayesian bootstrap of the others."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fire_toolkit.agreement.cohen import mean_of_two
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.statistic import Statistic, Sums
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import PluginError
from fire_toolkit.inference.distributions import t_of
from fire_toolkit.inference.limits import share_interval
from fire_toolkit.inference.resampling import draw_weights
from fire_toolkit.resolution.votes import Votes
from fire_toolkit.tables.columns import distinct_codes

N_RESAMPLES = 10_000
LEAST_POSITIVES = 10
LEAST_EVEN = 100  # pairs drawn evenly, that tell as much as those of an uneven draw
MOST_LABELS = 12
PRIOR = 1.5  # imagined pairs: a half for each two labels where there are two, by Jeffreys
_ROUNDING = 1e-9  # of a standard error by a difference quotient


@dataclass(frozen=True)
class Interval:
    """A statistic with an interval.

    value: weighted if pairs were; low, high: its limits, nan where they are not known; below_667, below_800:
    the probability that alpha is below .667 and below .8, the customary bounds for tentative and for firm
    conclusions, nan for other statistics; n_resampled: how many pairs (or clusters) it is of; note: why a
    number is nan, or what to beware of; standard_error: of the value, nan for shares and
    without an interval; about: why the value is nan, or what it is a mean of.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    below_667: float = math.nan
    below_800: float = math.nan
    n_resampled: int = 0
    note: str = ""
    standard_error: float = math.nan
    about: str = ""


def interval_of(votes: Votes, statistic: str, n_resamples: int | None = None, *, seed: int = 0) -> Interval:
    """Return the named statistic of `votes` with its interval, by their weights and clusters.

    Shares (percent agreement, PA+ and PA−, prevalence and the like) have Wilson's score interval, see
    `share_interval`; the mean kappa of every two annotators a linearised one, value ± t · standard error,
    since the small tables of two annotators are biased where they are drawn anew. The others have a Bayesian
    bootstrap (Rubin 1981, Annals of Statistics 9): pairs or clusters get random weights, and so do imagined
    pairs of every two labels, one and a half of them together (Jeffreys' prior where there are two labels),
    without which few positives that happen to agree would look certain. The limits are the percentiles that
    Student's t leaves outside (Hesterberg 2015, American Statistician 69).

    The limits are nan with a note where the statistic is undefined or rests on one pair or cluster; a note
    also says where fewer than ten of the doubled pairs are positive. The same seed gives the same numbers.
    n_resamples: how often weights are drawn, 1 or more; None: the value alone.
    """
    definition, is_even = STATISTICS[statistic], is_evenly_drawn(votes)
    influences: Floats = np.empty(0)
    value, about, pairs = math.nan, definition.reason(votes), None
    if not about and definition.of_two is not None:
        value, about, influences = mean_of_two(votes, definition.of_two)
    elif not about and definition.plain is not None and is_even:
        value = definition.plain(votes)
    elif not about:
        pairs = _summed(votes, definition)
        value = float(pairs.value(np.bincount(pairs.place, pairs.weights)[None] @ pairs.columns)[0])
        about = "its sums give no value" if math.isnan(value) else ""
    if math.isnan(value) or n_resamples is None:
        return Interval(value, note=about, about=about)
    if definition.of_two is not None:
        return replace(_linearised(votes, value, influences), about=about)
    pairs = pairs or _summed(votes, definition)
    if definition.is_share and is_even:
        return _of_share(pairs, value)
    return _drawn(votes, pairs, value, statistic, n_resamples, seed)


def is_evenly_drawn(votes: Votes) -> bool:
    """Whether all pairs with a vote, single ones too, had one and the same chance of a second judgment."""
    chance = None if votes.chance is None else votes.chance[votes.n_votes > 0]
    return chance is None or bool((chance == chance[:1]).all())


def describe_few_positives(votes: Votes, statistic: str) -> str:
    """Return that the doubled pairs hold too few positives for a statistic's interval, or an empty text.

    A pair on which votes differ counts as the share of its positive votes. Pairs drawn unevenly count by
    their weights, as so many drawn evenly as tell as much (Kish, Survey Sampling, 1965: (Σw)² / Σw²); these
    are to be 100 whatever was answered, since few pairs of large weight decide what is not known.
    """
    n_pairs, weights = len(votes.counts), votes.weights[votes.is_pairable]
    shares = votes.counts[:, votes.grades >= 1].sum(axis=1) / votes.counts.sum(axis=1)
    told = float(weights.sum() / max(weights @ weights, 1e-300))  # by a pair's weight
    n_positive, n_even = float(weights @ shares) * told, round(float(weights.sum()) * told)
    is_few = n_positive < LEAST_POSITIVES - _ROUNDING
    is_uneven = n_even < n_pairs
    if not n_pairs or np.isnan(votes.grades).any() or not (is_few or (is_uneven and n_even < LEAST_EVEN)):
        return ""
    pairs = f"{n_pairs:,} pair{'s' * (n_pairs != 1)} judged twice"
    unreliable = f"the interval of {statistic.replace('_', ' ')} is unreliable"
    if not n_positive:
        return f"none of the {pairs} is positive, so {unreliable}"
    if is_uneven:
        pairs += f", which were drawn unevenly and count as {n_even:,}"
    if not is_few:
        return f"{pairs}: with fewer than {LEAST_EVEN} {unreliable}"
    n_needed = math.ceil(LEAST_POSITIVES * n_pairs / n_positive - 1e-9)
    return (
        f"{n_positive:.1f} positives among {pairs}: with fewer than {LEAST_POSITIVES} {unreliable}; "
        f"at this share of positives about {n_needed:,} pairs judged twice hold {LEAST_POSITIVES}"
    )


def count_patterns(counts: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of `counts` (units × values) in a fixed order, and the place of each row."""
    base = int(counts.max(initial=0)) + 1
    if base ** counts.shape[1] >= 2**62:
        distinct, place = np.unique(counts, axis=0, return_inverse=True)
        return distinct, place.reshape(-1)
    powers = base ** np.arange(counts.shape[1], dtype=np.int64)
    keys, place = distinct_codes(counts @ powers)
    return keys[:, None] // powers % base, place


class _Summed(NamedTuple):
    """The pairs that enter a statistic, by their patterns of counts.

    columns: what is summed, of each pattern; value: what is made of totals; place, weights, cluster: the
    pattern of each pair, its weight and its cluster; imagined: weighted columns of imagined pairs.
    """

    columns: Floats
    value: Callable[[Floats], Floats]
    place: Ints
    weights: Floats
    cluster: Ints | None
    imagined: Floats


def _summed(votes: Votes, definition: Statistic) -> _Summed:
    assert definition.sums is not None
    is_even = definition.of_all and is_evenly_drawn(votes)
    kept = votes.n_votes > 0 if is_even else votes.is_pairable
    weights = np.ones(int(kept.sum())) if is_even else votes.weights[kept]
    patterns, place = count_patterns(votes.by_label[kept])
    imagined, weight = _imagined(votes)
    counts, n = np.concatenate([patterns, imagined]), len(patterns)
    sums = definition.sums(counts, votes)
    if not isinstance(sums, Sums) or len(sums.columns) != len(counts):
        raise PluginError(f"a statistic gave no Sums with a row for each of {len(counts)} patterns of votes")
    cluster = None if votes.cluster is None else votes.cluster[kept]
    return _Summed(sums.columns[:n], sums.value, place, weights, cluster, sums.columns[n:] * weight[:, None])


def _imagined(votes: Votes) -> tuple[Ints, Floats]:
    """Return counts of pairs with one vote for each of every two labels, a label twice among them; weights.

    The labels are those found, and all of the guideline where one alone was; none where there are more than
    a guideline has (numbers from a slider, say). A pair weighs as those with either label, whichever weigh
    more: where positives weigh little (all were doubled, and few negatives), imagined positives do too, and a
    disagreement that nobody has seen weighs as much as the negatives among which it may be. Where captions
    are drawn whole, an imagined pair counts for as many as a caption has with its labels.
    """
    used = np.unique(votes.label[votes.voting])
    used = used if len(used) > 1 else np.arange(len(votes.labels))
    used = used[: len(used) if len(used) <= MOST_LABELS else 0]
    first, second = np.triu_indices(len(used))
    one_of = np.eye(len(votes.labels), dtype=np.int64)[used]
    imagined = np.asarray(one_of[first] + one_of[second])
    has = votes.counts > 0
    n_pairs, weights = has.sum(axis=0), votes.weights[votes.is_pairable]
    weight = np.where(n_pairs > 0, weights @ has / np.maximum(n_pairs, 1), 1.0)
    heavier = np.asarray((weight * (imagined > 0)).max(axis=1, initial=0))
    if votes.cluster is None:
        return imagined, heavier
    own = votes.cluster[votes.is_pairable]
    n_clusters = [max(np.count_nonzero(np.bincount(own[each])), 1) for each in has.T]
    return imagined, heavier * (imagined @ np.maximum(n_pairs / n_clusters, 1) / 2)


def _kinds(pairs: _Summed) -> tuple[Floats, Ints]:
    """Return the weighted columns of each kind of pair, or of cluster, and how many there are of each."""
    if pairs.cluster is None:
        strata, stratum = np.unique(pairs.weights, return_inverse=True)
        kinds, n_each = np.unique(pairs.place * max(len(strata), 1) + stratum, return_counts=True)
        pattern, stratum = np.divmod(kinds, max(len(strata), 1))
        return strata[stratum][:, None] * pairs.columns[pattern], n_each.astype(np.int64)
    columns = pairs.columns[pairs.place].T * pairs.weights
    sums = np.stack([np.bincount(pairs.cluster, column) for column in columns], axis=1)
    sums = sums[np.bincount(pairs.cluster) > 0]
    _, first, n_each = np.unique(sums.round(10), axis=0, return_index=True, return_counts=True)
    return np.asarray(sums[first], dtype=np.float64), n_each.astype(np.int64)


def _too_few(votes: Votes, value: float) -> Interval:
    one = "only one pair has" if votes.cluster is None else "only one cluster has pairs with"
    return Interval(value, n_resampled=1, note=f"{one} two judgments")


def _drawn(
    votes: Votes, pairs: _Summed, value: float, statistic: str, n_resamples: int, seed: int
) -> Interval:
    """By the Bayesian bootstrap over pairs or clusters."""
    columns, n_each = _kinds(pairs)
    n_units, n_imagined = int(n_each.sum()), len(pairs.imagined)
    if n_units < 2:
        return _too_few(votes, value)
    drawn = draw_weights(
        np.concatenate([n_each, np.full(n_imagined, PRIOR / max(n_imagined, 1))]),
        n_resamples=n_resamples,
        seed=seed,
    )
    both = np.concatenate([columns, pairs.imagined])
    values: Floats = np.concatenate([pairs.value(weights @ both) for weights in drawn])
    if np.isnan(values).any() or (values == values[0]).all():
        return Interval(value, n_resampled=n_units, note="too little to tell how certain it is")
    tail = NormalDist().cdf(-t_of(n_units - 1))
    low, high = (float(limit) for limit in np.quantile(values, [tail, 1 - tail]))
    below = [float((values < bound).mean()) if statistic == "alpha" else math.nan for bound in (0.667, 0.8)]
    note = describe_few_positives(votes, statistic)
    return Interval(
        value, min(low, value), max(high, value), below[0], below[1], n_units, note, float(values.std())
    )


def _of_share(pairs: _Summed, value: float) -> Interval:
    """By Wilson's score, on the share that the statistic grows with."""
    over, under = pairs.columns[pairs.place].T * pairs.weights
    n_units = len(over) if pairs.cluster is None else np.count_nonzero(np.bincount(pairs.cluster))
    limits = np.array(share_interval(over, under, cluster=pairs.cluster))
    if np.isnan(limits).any():
        note = "all of it is of one cluster, which tells nothing of others"
        return Interval(value, n_resampled=n_units, note=note)
    low, high = pairs.value(np.stack([limits, np.ones(2)], axis=1)).tolist()
    return Interval(value, low, high, n_resampled=n_units)


def _linearised(votes: Votes, value: float, influences: Floats) -> Interval:
    """By linearised variance."""
    n_units = len(influences)
    if n_units < 2:
        return _too_few(votes, value)
    error = math.sqrt(n_units / (n_units - 1) * float((influences**2).sum()))
    if error < _ROUNDING:
        note = "no pair moves it, which does not tell how certain it is"
        return Interval(value, n_resampled=n_units, note=note)
    reach = t_of(n_units - 1) * error
    low, high = max(value - reach, -1.0), min(value + reach, 1.0)
    return Interval(value, low, high, n_resampled=n_units, standard_error=error)
