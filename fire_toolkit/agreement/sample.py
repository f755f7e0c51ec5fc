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
from fire_toolkit.agreement.statistic import Statistic, at_level
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Floats, Ints


def measure(votes: Votes, statistic: str, level: str) -> tuple[float, str]:
    """Return the named statistic of `votes`, by their weights, and a note: where it is nan, why."""
    definition = STATISTICS[statistic]
    reason = definition.reason(votes, level)
    if reason:
        return math.nan, reason
    if definition.of_two is not None:
        return pairwise_mean(at_level(votes, definition, level), definition.of_two)
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
    """Kinds of draws (kinds × columns that are summed), how many draws are of each, and what sums make."""

    columns: Floats
    n_drawn: Ints
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
        sums = definition.sums(patterns.counts, votes, level)
        if votes.clusters is None or not by_cluster:
            columns, n_drawn = _by_kind(sums.columns, patterns.place, weights[kept])
        else:
            columns, n_drawn = _by_cluster(sums.columns[patterns.place], weights[kept], votes.clusters[kept])
        return cls(columns, n_drawn, sums.value, statistic)

    def values(self, weights: Floats) -> Floats:
        """Return the statistic for each row of `weights` (rows × kinds)."""
        return self.value(weights @ self.columns)

    @property
    def total_value(self) -> float:
        """The statistic of all pairs."""
        return float(self.values(self.n_drawn[None].astype(np.float64))[0])

    @property
    def values_left_out(self) -> Floats:
        """The statistic without one pair (or cluster) of each kind."""
        return self.value(self.n_drawn @ self.columns - self.columns)

    @property
    def words(self) -> str:
        """The statistic's name in a sentence."""
        return self.statistic.replace("_", " ")


def _weigh_pairs(votes: Votes, definition: Statistic) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return which of `votes.units` enter a statistic, and the weight of each unit."""
    if definition.of_all and (is_evenly_drawn(votes) or not definition.is_weighted):
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
