"""A statistic's sums over the pairs at hand: its value, and what resampling draws from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fire_toolkit.agreement.coincidence import count_patterns
from fire_toolkit.agreement.pairwise import pairwise_mean
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.statistic import Statistic, Sums
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Floats, Ints

MOST_LABELS = 12


def measure(votes: Votes, statistic: str, level: str) -> tuple[float, str]:
    """Return the named statistic of `votes`, by their weights, and a note: where it is nan, why."""
    definition = STATISTICS[statistic]
    reason = definition.reason(votes, level)
    if reason:
        return math.nan, reason
    if definition.of_two is not None:
        return pairwise_mean(votes, definition.of_two)
    if definition.plain is not None and is_evenly_drawn(votes):
        return definition.plain(votes, level), ""
    value = Sample.of(votes, statistic, level, by_cluster=False).total_value
    return value, "its sums give no value" if math.isnan(value) else ""


def is_evenly_drawn(votes: Votes) -> bool:
    """Whether all pairs with a vote, single ones too, had one and the same chance of a second judgment."""
    chance = None if votes.inclusion is None else votes.inclusion[votes.value >= 0]
    return chance is None or bool((chance == chance[:1]).all())


@dataclass(frozen=True)
class Sample:
    """Kinds of draws (kinds × columns that are summed), how many draws are of each, and what sums make.

    added: the columns of imagined pairs, one for every two labels; they enter intervals alone.
    """

    columns: Floats
    n_drawn: Ints
    added: Floats
    value: Callable[[Floats], Floats]
    statistic: str

    @classmethod
    def of(cls, votes: Votes, statistic: str, level: str, *, by_cluster: bool = True) -> Sample:
        """Return what can be drawn: patterns of counts with one weight, or clusters; how often each is.

        by_cluster: draw clusters where the votes have them.
        """
        definition = STATISTICS[statistic]
        assert definition.sums is not None
        kept, weights = _weigh_pairs(votes, definition)
        patterns = count_patterns(votes.all_counts[kept])
        clusters = votes.clusters if by_cluster else None
        imagined = _imagined_pairs(votes)
        sums = definition.sums(np.concatenate([patterns.counts, imagined]), votes, level)
        n_patterns = len(patterns.counts)
        found, added = sums.columns[:n_patterns], sums.columns[n_patterns:]
        if clusters is None:
            columns, n_drawn = _by_kind(found, patterns.place, weights[kept])
        else:
            columns, n_drawn = _by_cluster(found[patterns.place], weights[kept], clusters[kept])
        weighed = added * _weights_of(imagined, votes, clusters)[:, None]
        return cls(columns, n_drawn, weighed, sums.value, statistic)

    @property
    def total_value(self) -> float:
        """The statistic of all pairs."""
        return float(self.value(self.n_drawn[None] @ self.columns)[0])


def weighed_sums(
    votes: Votes, statistic: str, level: str, *, by_cluster: bool = True
) -> tuple[Sums, Ints | None]:
    """Return a statistic's columns of each pair that enters it, weighted, and the pairs' clusters."""
    definition = STATISTICS[statistic]
    assert definition.sums is not None
    kept, weights = _weigh_pairs(votes, definition)
    patterns = count_patterns(votes.all_counts[kept])
    sums = definition.sums(patterns.counts, votes, level)
    clusters = votes.clusters if by_cluster else None
    columns = sums.columns[patterns.place] * weights[kept][:, None]
    return Sums(columns, sums.value), None if clusters is None else clusters[kept]


def _imagined_pairs(votes: Votes) -> Ints:
    """Return counts of pairs with one vote for each of every two labels, a label twice among them.

    The labels are those found, and all of the guideline where one alone was; none where there are more than
    a guideline has (numbers from a slider, say).
    """
    used = np.flatnonzero(votes.all_counts.any(axis=0))
    used = used if len(used) > 1 else np.arange(len(votes.labels))
    used = used[: len(used) if len(used) <= MOST_LABELS else 0]
    first, second = np.triu_indices(len(used))
    counts = np.zeros((len(first), len(votes.labels)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(first)), used[first]), 1)
    np.add.at(counts, (np.arange(len(first)), used[second]), 1)
    return counts


def _weights_of(imagined: Ints, votes: Votes, clusters: Ints | None) -> Floats:
    """Return what each imagined pair weighs: as those with either label, whichever weigh more.

    Where positives weigh little (all were doubled, and few negatives), imagined positives do too, and a
    disagreement that nobody has seen weighs as much as the negatives among which it may be. Where captions
    are drawn whole, an imagined pair counts for as many as a caption has with its labels.
    """
    has = votes.counts > 0
    n_pairs, weights = has.sum(axis=0), votes.weights[votes.is_pairable]
    weight = np.where(n_pairs > 0, weights @ has / np.maximum(n_pairs, 1), 1.0)
    heavier = (weight * (imagined > 0)).max(axis=1, initial=0)
    if clusters is None:
        return np.asarray(heavier)
    own = clusters[votes.is_pairable]
    n_clusters = [max(len(np.unique(own[each])), 1) for each in has.T]
    return np.asarray(heavier * (imagined @ np.maximum(n_pairs / n_clusters, 1) / 2))


def _weigh_pairs(votes: Votes, definition: Statistic) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return which of `votes.units` enter a statistic, and the weight of each unit."""
    if definition.of_all and is_evenly_drawn(votes):
        return np.ones(len(votes.units), dtype=np.bool_), np.ones(len(votes.units))
    return votes.is_pairable, votes.weights


def _by_kind(columns: Floats, place: Ints, weights: Floats) -> tuple[Floats, Ints]:
    """Return the weighted columns of each pattern with one weight, and how many pairs are of it."""
    if len(weights) and (weights == weights[0]).all():
        return weights[0] * columns, np.bincount(place).astype(np.int64)
    strata, stratum = np.unique(weights, return_inverse=True)
    kinds, n_drawn = np.unique(place * len(strata) + stratum, return_counts=True)
    return strata[kinds % len(strata)][:, None] * columns[kinds // len(strata)], n_drawn


def _by_cluster(columns: Floats, weights: Floats, clusters: Ints) -> tuple[Floats, Ints]:
    """Return the distinct weighted sums of clusters, and how many clusters have each."""
    sums = np.stack(
        [np.bincount(clusters, weights * column) for column in columns.T], axis=1, dtype=np.float64
    )
    sums = sums[np.bincount(clusters) > 0]
    _, first, n_drawn = np.unique(sums.round(10), axis=0, return_index=True, return_counts=True)
    return sums[first], n_drawn
