"""Of a judge's answers beside people's labels: AUC, calibration, and what is overrated, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.tables import PoolSources
from fire_toolkit.tables.columns import PAIR

LEAST_IN_GROUP = 20
N_BINS = 10
BANDS = {"1": (1, 1), "2-5": (2, 5), "6-10": (6, 10), "11-20": (11, 20), "21 and more": (21, np.inf)}
_CELLS = 1 << 22


@dataclass(frozen=True)
class JudgedPairs:
    """The labelled pairs that the judge answered, as arrays.

    ids: query_id, doc_id; query: code; people: 1 where relevant; judge: 1, 0, or nan where it gave no vote;
    score: nan where none; weight: inverse inclusion probability.
    """

    ids: pd.DataFrame
    query: Ints
    n_queries: int
    people: Floats
    judge: Floats
    score: Floats
    weight: Floats

    def shares(self, draws: Floats, over: Floats, under: Floats) -> Floats:
        """Return ratios of sums of columns in each resample of queries, (resamples, columns), nan over 0.

        draws: how often each query is drawn in each resample.
        """
        above, below = (
            draws @ np.stack([np.bincount(self.query, column, self.n_queries) for column in values.T], axis=1)
            for values in (over, under)
        )
        return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


def auc(score: Floats, people: Floats, weights: Floats) -> Floats:
    """Return for each row of weights the chance that a relevant pair scores above an irrelevant one.

    Ties count half. nan where one kind has no weight.

    Examples:
        >>> auc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1, 0, 0]), np.ones((1, 4)))
        array([0.875])
    """
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf))
    positive, negative = (
        np.add.reduceat(weights[:, order] * kind[order], starts, axis=1) for kind in (people, 1 - people)
    )
    below = np.cumsum(negative, axis=1) - negative / 2
    total = positive.sum(axis=1) * negative.sum(axis=1)
    return np.where(total > 0, (positive * below).sum(axis=1) / np.where(total > 0, total, 1), np.nan)


def auc_row(pairs: JudgedPairs, draws: Floats) -> tuple[object, ...]:
    """Return statistic, value, low, high, n_pairs, n_queries and note of the AUC."""
    is_known = ~np.isnan(pairs.score)
    if not is_known.any():
        return "AUC", *(np.nan,) * 3, 0, 0, "the judge gave no scores"
    score, people, weight, query = (
        values[is_known] for values in (pairs.score, pairs.people, pairs.weight, pairs.query)
    )
    value = float(auc(score, people, weight[None])[0])
    step = max(1, _CELLS // len(score))
    parts = (draws[start : start + step][:, query] * weight for start in range(0, len(draws), step))
    low, high = _limits(np.concatenate([auc(score, people, weights) for weights in parts])[:, None])
    n_without = len(is_known) - len(score)
    note = f"{n_without} answers without score left out" if n_without else ""
    return "AUC", value, float(low[0]), float(high[0]), len(score), len(np.unique(query)), note


def _limits(draws: Floats) -> tuple[Floats, Floats]:
    """Return the middle 95% of each column; nan where a resample has no value in more than half of them."""
    is_bad = np.isnan(draws).mean(axis=0) > 0.5
    low, high = np.nanquantile(np.where(is_bad, 0.0, draws), [0.025, 0.975], axis=0)
    return np.where(is_bad, np.nan, low), np.where(is_bad, np.nan, high)


def calibration(pairs: JudgedPairs, draws: Floats) -> pd.DataFrame:
    """Return the share of relevant pairs by score, in bins of about equally many pairs."""
    columns = ["n_pairs", "score_low", "score_high", "mean_score", "share_positive", "low", "high"]
    is_known = ~np.isnan(pairs.score)
    if not is_known.any():
        return pd.DataFrame(columns=columns)
    edges = np.unique(np.quantile(pairs.score[is_known], np.linspace(0, 1, N_BINS + 1)[1:-1]))
    place = np.searchsorted(edges, np.where(is_known, pairs.score, 0.0), side="right")
    inside = np.stack([(place == n) & is_known for n in range(len(edges) + 1)], axis=1)
    inside = inside[:, inside.any(axis=0)]
    under = inside * pairs.weight[:, None]
    over = under * pairs.people[:, None]
    scores = [pairs.score[column] for column in inside.T]
    values = (
        inside.sum(axis=0),
        [each.min() for each in scores],
        [each.max() for each in scores],
        np.nansum(under * pairs.score[:, None], axis=0) / under.sum(axis=0),
        over.sum(axis=0) / under.sum(axis=0),
        *_limits(pairs.shares(draws, over, under)),
    )
    return pd.DataFrame(dict(zip(columns, values, strict=True)))


def group_table(
    pairs: JudgedPairs, sources: PoolSources | None, groups: pd.Series | None, draws: Floats
) -> pd.DataFrame:
    """Return how often people and the judge say relevant, in all pairs and in each group of them."""
    has_vote = ~np.isnan(pairs.judge)
    named = [(kind, name, own & has_vote) for kind, name, own in _memberships(pairs, sources, groups)]
    named = [each for each in named if each[2].any()]
    columns = ["kind", "group", "n_pairs", "people", "judge", "overrating", "low", "high"]
    columns += ["excess", "excess_low", "excess_high"]
    if not named:
        return pd.DataFrame(columns=columns)
    kinds, names, members = zip(*named, strict=True)
    inside = np.stack(members, axis=1)
    n_pairs = inside.sum(axis=0)
    people, judge, excess = (part[0] for part in _rates(pairs, inside, _ratio))
    drawn = _rates(pairs, inside, partial(pairs.shares, draws))
    limits = (*_limits(drawn[1] - drawn[0]), excess, *_limits(drawn[2]))
    numbers = np.stack([people, judge, judge - people, *limits], axis=1)
    numbers[n_pairs < LEAST_IN_GROUP] = np.nan
    table = pd.DataFrame(numbers, columns=columns[3:])
    return pd.concat([pd.DataFrame({"kind": kinds, "group": names, "n_pairs": n_pairs}), table], axis=1)


def _memberships(
    pairs: JudgedPairs, sources: PoolSources | None, groups: pd.Series | None
) -> Iterator[tuple[str, str, Bools]]:
    """Yield kind and name of each group, and which pairs belong to it."""
    yield "all", "all", np.ones(len(pairs.people), dtype=bool)
    if sources is not None:
        keys = pd.MultiIndex.from_frame(pairs.ids)
        for run_id, rows in sources.groupby("run_id", sort=True):
            yield "run", str(run_id), keys.isin(pd.MultiIndex.from_frame(rows[PAIR]))
        best = sources.groupby(PAIR)["rank"].min().reindex(keys).to_numpy(dtype=np.float64)
        for name, (low, high) in BANDS.items():
            yield "rank", name, (best >= low) & (best <= high)
    if groups is not None:
        of_pair = pairs.ids["query_id"].map(groups[~groups.index.duplicated()]).fillna("").astype(str)
        for value in sorted(of_pair.unique()):
            yield str(groups.name), value or "(none)", (of_pair == value).to_numpy()


def _rates(
    pairs: JudgedPairs, inside: Bools, ratio: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, Floats, Floats]:
    """Return what people and the judge call relevant of each group (the last axis), and the judge's excess.

    The excess is beyond what the judge would call relevant of a group if it did as in all other pairs that
    people called the same. ratio: of sums of columns.
    """
    has_vote = ~np.isnan(pairs.judge)
    judge, people = np.nan_to_num(pairs.judge)[:, None], pairs.people[:, None]
    weight = (pairs.weight * has_vote)[:, None]
    own, rest = inside * weight, ~inside * weight
    of_people, of_judge = ratio(own * people, own), ratio(own * judge, own)
    elsewhere = [ratio(rest * kind * judge, rest * kind) for kind in (people, 1 - people)]
    expected = of_people * elsewhere[0] + (1 - of_people) * elsewhere[1]
    return of_people, of_judge, of_judge - expected


def _ratio(over: Floats, under: Floats) -> Floats:
    """Return the ratios of the sums of columns, one row of them; nan over 0."""
    total = under.sum(axis=0)[None]
    return np.where(total > 0, over.sum(axis=0) / np.where(total > 0, total, 1), np.nan)
