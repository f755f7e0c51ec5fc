"""Of a judge's answers beside people's labels: AUC, calibration, and what is overrated, with intervals.

Every number is had at once from the pairs as they are and from resamples of their queries: `draws` says how
often each query stands in each, and its first row is the queries as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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

    def ratios(self, draws: Floats, over: Floats, under: Floats) -> Floats:
        """Return ratios of sums of columns in each of the draws, (draws, columns), nan over 0."""
        sums = (
            np.stack([np.bincount(self.query, column, self.n_queries) for column in values.T], axis=1)
            for values in (over, under)
        )
        return _ratio(*(draws @ each for each in sums))


def _ratio(over: Floats, under: Floats) -> Floats:
    return np.where(under > 0, over / np.where(under > 0, under, 1), np.nan)


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
    return _ratio((positive * below).sum(axis=1), positive.sum(axis=1) * negative.sum(axis=1))


def auc_row(pairs: JudgedPairs, draws: Floats) -> tuple[object, ...]:
    """Return statistic, value, low, high, n_pairs, n_queries and note of the AUC."""
    is_known = ~np.isnan(pairs.score)
    if not is_known.any():
        return "AUC", *(np.nan,) * 3, 0, 0, "the judge gave no scores"
    score, people, weight, query = (
        values[is_known] for values in (pairs.score, pairs.people, pairs.weight, pairs.query)
    )
    step = max(1, _CELLS // len(score))
    parts = (draws[start : start + step][:, query] * weight for start in range(0, len(draws), step))
    found = np.concatenate([auc(score, people, weights) for weights in parts])
    limits = (float(each[0]) for each in _with_limits(found[:, None]))
    n_without = len(is_known) - len(score)
    note = f"{n_without} answers without score left out" if n_without else ""
    return "AUC", *limits, len(score), len(np.unique(query)), note


def _with_limits(draws: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the value of each column (its first row) and the middle 95% of the others.

    nan where a resample has no value in more than half of them.
    """
    value, drawn = draws[0], draws[1:]
    is_bad = np.isnan(drawn).mean(axis=0) > 0.5
    low, high = np.nanquantile(np.where(is_bad, 0.0, drawn), [0.025, 0.975], axis=0)
    return value, np.where(is_bad, np.nan, low), np.where(is_bad, np.nan, high)


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
    scores = [pairs.score[column] for column in inside.T]
    values = (
        inside.sum(axis=0),
        [each.min() for each in scores],
        [each.max() for each in scores],
        np.nansum(under * pairs.score[:, None], axis=0) / under.sum(axis=0),
        *_with_limits(pairs.ratios(draws, under * pairs.people[:, None], under)),
    )
    return pd.DataFrame(dict(zip(columns, values, strict=True)))


def group_table(
    pairs: JudgedPairs, sources: PoolSources | None, groups: pd.Series | None, draws: Floats
) -> pd.DataFrame:
    """Return how often people and the judge say relevant, in all pairs and in each group of them.

    The excess is what the judge calls relevant of a group beyond what it would if it did as in all other
    pairs that people called the same.
    """
    columns = ["kind", "group", "n_pairs", "people", "judge", "overrating", "low", "high"]
    columns += ["excess", "excess_low", "excess_high"]
    has_vote = ~np.isnan(pairs.judge)
    named = [(kind, name, own & has_vote) for kind, name, own in _memberships(pairs, sources, groups)]
    named = [each for each in named if each[2].any()]
    if not named:
        return pd.DataFrame(columns=columns)
    kinds, names, members = zip(*named, strict=True)
    inside = np.stack(members, axis=1)
    judge, people = np.nan_to_num(pairs.judge)[:, None], pairs.people[:, None]
    weight = (pairs.weight * has_vote)[:, None]
    own, rest = inside * weight, ~inside * weight
    of_people, of_judge = (pairs.ratios(draws, own * kind, own) for kind in (people, judge))
    on_relevant, on_others = (
        pairs.ratios(draws, rest * kind * judge, rest * kind) for kind in (people, 1 - people)
    )
    excess = of_judge - (of_people * on_relevant + (1 - of_people) * on_others)
    shown = (of_people[0], of_judge[0], *_with_limits(of_judge - of_people), *_with_limits(excess))
    numbers = np.stack(shown, axis=1)
    n_pairs = inside.sum(axis=0)
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
