"""Of a judge's answers beside people's labels: AUC, calibration, and what is overrated, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.draws import draw_units
from fire_toolkit.tables import PoolSources
from fire_toolkit.tables.columns import PAIR

LEAST_IN_GROUP = 20
N_BINS = 10
PEOPLE, JUDGE = "people", "judge"
BANDS = ((1, 1), (2, 5), (6, 10), (11, 20))
_CELLS = 1 << 22


@dataclass(frozen=True)
class JudgedPairs:
    """The labelled pairs that the judge answered, as arrays.

    query: code; people: 1 where relevant; judge: 1, 0, or nan where it gave no vote; score: nan where none;
    weight: inverse inclusion probability.
    """

    table: pd.DataFrame
    query: Ints
    n_queries: int
    people: Floats
    judge: Floats
    score: Floats
    weight: Floats


class QueryDraws:
    """Resamples of queries with replacement: the same ones for every number."""

    def __init__(self, query: Ints, n_queries: int, n_resamples: int, seed: int) -> None:
        self._query, self._n_queries = query, n_queries
        self._options = {"n_resamples": n_resamples, "seed": seed}

    def shares(self, over: Floats, under: Floats) -> Floats:
        """Return the resampled ratios of sums of columns, (n_resamples, n_columns), nan over nothing."""
        sums = [
            np.stack(
                [np.bincount(self._query, column, minlength=self._n_queries) for column in values.T], axis=1
            )
            for values in (over, under)
        ]
        counts = np.concatenate([part for _, part in draw_units(self._n_queries, **self._options)])
        above, below = counts @ sums[0], counts @ sums[1]
        return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)

    def weights(self, weight: Floats) -> Iterator[Floats]:
        """Yield the weights of pairs in stretches of resamples, (some, n_pairs)."""
        step = max(1, _CELLS // max(len(weight), 1))
        for _, counts in draw_units(self._n_queries, **self._options):
            for start in range(0, len(counts), step):
                yield counts[start : start + step][:, self._query] * weight


def auc(score: Floats, people: Floats, weights: Floats) -> Floats:
    """Return for each row of weights the chance that a relevant pair scores above an irrelevant one.

    Ties count half. nan where one kind has no weight.

    Examples:
        >>> auc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1, 0, 0]), np.ones((1, 4)))
        array([0.875])
    """
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf))
    of_ties = [
        np.add.reduceat(weights[:, order] * kind[order], starts, axis=1) for kind in (people, 1 - people)
    ]
    positive, negative = of_ties
    below = np.cumsum(negative, axis=1) - negative / 2
    total = positive.sum(axis=1) * negative.sum(axis=1)
    return np.where(total > 0, (positive * below).sum(axis=1) / np.where(total > 0, total, 1), np.nan)


def limits(draws: Floats) -> tuple[Floats, Floats]:
    """Return the middle 95% of each column; nan where a resample has no value in more than half of them."""
    is_bad = np.isnan(draws).mean(axis=0) > 0.5
    filled = np.where(is_bad, 0.0, draws)
    low, high = np.nanquantile(filled, [0.025, 0.975], axis=0)
    return np.where(is_bad, np.nan, low), np.where(is_bad, np.nan, high)


def calibration(pairs: JudgedPairs, drawn: QueryDraws) -> pd.DataFrame:
    """Return the share of relevant pairs by score, in bins of about equally many pairs."""
    columns = ["n_pairs", "score_low", "score_high", "mean_score", "share_positive", "low", "high"]
    is_known = ~np.isnan(pairs.score)
    if not is_known.any():
        return pd.DataFrame(columns=columns)
    known = pairs.score[is_known]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    place = np.searchsorted(edges, np.where(is_known, pairs.score, 0.0), side="right")
    inside = np.stack([(place == n) & is_known for n in range(len(edges) + 1)], axis=1)
    inside = inside[:, inside.any(axis=0)]
    under = inside * pairs.weight[:, None]
    over = under * pairs.people[:, None]
    low, high = limits(drawn.shares(over, under))
    scores = [pairs.score[column] for column in inside.T]
    return pd.DataFrame(
        {
            "n_pairs": inside.sum(axis=0),
            "score_low": [each.min() for each in scores],
            "score_high": [each.max() for each in scores],
            "mean_score": np.nansum(under * pairs.score[:, None], axis=0) / under.sum(axis=0),
            "share_positive": over.sum(axis=0) / under.sum(axis=0),
            "low": low,
            "high": high,
        }
    )


def _memberships(
    pairs: JudgedPairs, sources: PoolSources | None, groups: pd.Series | None
) -> Iterator[tuple[str, str, Floats]]:
    """Yield kind and name of each group, and which pairs belong to it."""
    yield "all", "all", np.ones(len(pairs.people))
    keys = pd.MultiIndex.from_frame(pairs.table[PAIR])
    if sources is not None:
        for run_id, rows in sources.groupby("run_id", sort=True):
            yield "run", str(run_id), keys.isin(pd.MultiIndex.from_frame(rows[PAIR])).astype(np.float64)
        best = sources.groupby(PAIR)["rank"].min().reindex(keys).to_numpy(dtype=np.float64)
        for low, high in (*BANDS, (BANDS[-1][1] + 1, np.inf)):
            name = f"{low}" if low == high else f"{low}-{high}" if np.isfinite(high) else f"{low} and more"
            yield "rank", name, ((best >= low) & (best <= high)).astype(np.float64)
    if groups is not None:
        of_pair = pairs.table["query_id"].map(groups[~groups.index.duplicated()]).fillna("").astype(str)
        for value in sorted(of_pair.unique()):
            yield str(groups.name), value or "(none)", (of_pair == value).to_numpy(dtype=np.float64)


@dataclass(frozen=True)
class _Rates:
    """Shares of groups (the last axis) that are called relevant, by people and by the judge.

    expected: what the judge would call relevant of a group if it did as in all other pairs that people
    called the same.
    """

    people: Floats
    judge: Floats
    expected: Floats

    @classmethod
    def of(
        cls,
        own: Floats,
        rest: Floats,
        judge: Floats,
        people: Floats,
        ratio: Callable[[Floats, Floats], Floats],
    ) -> _Rates:
        """Return the rates; own, rest: the weights of pairs in each group, and outside of it."""
        is_relevant = ratio(own * people, own)
        of_rest = [ratio(rest * kind * judge, rest * kind) for kind in (people, 1 - people)]
        expected = is_relevant * of_rest[0] + (1 - is_relevant) * of_rest[1]
        return cls(is_relevant, ratio(own * judge, own), expected)

    @property
    def excess(self) -> Floats:
        """What the judge calls relevant beyond that."""
        return self.judge - self.expected


def group_table(
    pairs: JudgedPairs, sources: PoolSources | None, groups: pd.Series | None, drawn: QueryDraws
) -> pd.DataFrame:
    """Return how often people and the judge say relevant, in all pairs and in each group of them."""
    has_vote = ~np.isnan(pairs.judge)
    named = [(kind, name, inside * has_vote) for kind, name, inside in _memberships(pairs, sources, groups)]
    named = [each for each in named if each[2].any()]
    columns = ["kind", "group", "n_pairs", PEOPLE, JUDGE, "overrating", "low", "high"]
    columns += ["excess", "excess_low", "excess_high"]
    if not named:
        return pd.DataFrame(columns=columns)
    inside = np.stack([each[2] for each in named], axis=1)
    n_pairs = inside.sum(axis=0).astype(np.int64)
    weight = (pairs.weight * has_vote)[:, None]
    judge = np.nan_to_num(pairs.judge)[:, None]
    people = pairs.people[:, None]
    own, rest = inside * weight, (1 - inside) * weight
    plain = _Rates.of(own, rest, judge, people, _ratio)
    drawn_rates = _Rates.of(own, rest, judge, people, drawn.shares)
    low, high = limits(drawn_rates.judge - drawn_rates.people)
    excess_low, excess_high = limits(drawn_rates.excess)
    parts = (plain.people, plain.judge, plain.judge - plain.people, low, high, plain.excess)
    numbers = np.stack([*parts, excess_low, excess_high], axis=1)
    numbers[n_pairs < LEAST_IN_GROUP] = np.nan
    table = pd.DataFrame(numbers, columns=columns[3:])
    keys = {"kind": [e[0] for e in named], "group": [e[1] for e in named], "n_pairs": n_pairs}
    return pd.concat([pd.DataFrame(keys), table], axis=1)


def _ratio(over: Floats, under: Floats) -> Floats:
    total = under.sum(axis=0)
    return np.where(total > 0, over.sum(axis=0) / np.where(total > 0, total, 1), np.nan)
