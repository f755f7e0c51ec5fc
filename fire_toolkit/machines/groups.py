"""Of a judge's answers beside people's labels: AUC, calibration, and what is overrated, with intervals.

Every number is had at once from the pairs as they are and from resamples of their queries: `draws` says how
often each query stands in each, and its first row is the queries as they are. `pairs` are those labelled that
the judge answered, with columns query_id, doc_id; query (code); people (1 where relevant); vote of the judge
(1, 0, or nan where it gave none); score (nan where none); weight (inverse inclusion probability).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.agreement.statistic import divide
from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.tables import PoolSources
from fire_toolkit.tables.columns import PAIR

LEAST_IN_GROUP = 20
N_BINS = 10
BANDS = {"1": (1, 1), "2-5": (2, 5), "6-10": (6, 10), "11-20": (11, 20), "21 and more": (21, np.inf)}
_CELLS = 1 << 22


def _ratios(pairs: pd.DataFrame, draws: Floats, over: Floats, under: Floats) -> Floats:
    """Return ratios of sums of columns in each of the draws, (draws, columns), nan over 0."""
    query, n_queries = pairs["query"].to_numpy(), draws.shape[1]
    by_query = ([np.bincount(query, each, n_queries) for each in values.T] for values in (over, under))
    return divide(*(draws @ np.stack(sums, axis=1) for sums in by_query))


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
    return divide((positive * below).sum(axis=1), positive.sum(axis=1) * negative.sum(axis=1))


def auc_row(pairs: pd.DataFrame, draws: Floats) -> tuple[object, ...]:
    """Return statistic, value, low, high, n_pairs, n_queries and note of the AUC."""
    known = pairs.dropna(subset="score")
    if known.empty:
        return "AUC", *(np.nan,) * 3, 0, 0, "the judge gave no scores"
    score, people, weight, query = (known[name].to_numpy() for name in ("score", "people", "weight", "query"))
    step = max(1, _CELLS // len(known))
    parts = (draws[start : start + step][:, query] * weight for start in range(0, len(draws), step))
    found = np.concatenate([auc(score, people, weights) for weights in parts])
    limits = (float(each[0]) for each in _with_limits(found[:, None]))
    n_without = len(pairs) - len(known)
    note = f"{n_without} answers without score left out" if n_without else ""
    return "AUC", *limits, len(known), len(np.unique(query)), note


def _with_limits(draws: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the value of each column (its first row) and the middle 95% of the others.

    nan where a resample has no value in more than half of them.
    """
    value, drawn = draws[0], draws[1:]
    is_bad = np.isnan(drawn).mean(axis=0) > 0.5
    low, high = np.nanquantile(np.where(is_bad, 0.0, drawn), [0.025, 0.975], axis=0)
    return value, np.where(is_bad, np.nan, low), np.where(is_bad, np.nan, high)


def calibration(pairs: pd.DataFrame, draws: Floats) -> pd.DataFrame:
    """Return the share of relevant pairs by score, in bins of about equally many pairs."""
    columns = ["n_pairs", "score_low", "score_high", "mean_score", "share_positive", "low", "high"]
    is_known = pairs["score"].notna().to_numpy()
    if not is_known.any():
        return pd.DataFrame(columns=columns)
    score, people, weight = (pairs[name].to_numpy() for name in ("score", "people", "weight"))
    edges = np.unique(np.quantile(score[is_known], np.linspace(0, 1, N_BINS + 1)[1:-1]))
    place = np.where(is_known, np.searchsorted(edges, score, side="right"), -1)
    inside = (np.unique(place[is_known])[:, None] == place).T
    under = inside * weight[:, None]
    values = (
        inside.sum(axis=0),
        [score[column].min() for column in inside.T],
        [score[column].max() for column in inside.T],
        np.nansum(under * score[:, None], axis=0) / under.sum(axis=0),
        *_with_limits(_ratios(pairs, draws, under * people[:, None], under)),
    )
    return pd.DataFrame(dict(zip(columns, values, strict=True)))


def group_table(
    pairs: pd.DataFrame, sources: PoolSources | None, groups: pd.Series | None, draws: Floats
) -> pd.DataFrame:
    """Return how often people and the judge say relevant, in all pairs and in each group of them.

    The excess is what the judge calls relevant of a group beyond what it would if it did as in all other
    pairs that people called the same.
    """
    columns = ["kind", "group", "n_pairs", "people", "judge", "overrating", "low", "high"]
    columns += ["excess", "excess_low", "excess_high"]
    voted = pairs.dropna(subset="vote")
    members = {group: own for group, own in _members(voted, sources, groups).items() if own.any()}
    if not members:
        return pd.DataFrame(columns=columns)
    inside = np.stack(list(members.values()), axis=1)
    judge, people, weight = (voted[[name]].to_numpy() for name in ("vote", "people", "weight"))
    own, rest = inside * weight, ~inside * weight
    of_people, of_judge = (_ratios(voted, draws, own * kind, own) for kind in (people, judge))
    on_relevant, on_others = (
        _ratios(voted, draws, rest * kind * judge, rest * kind) for kind in (people, 1 - people)
    )
    excess = of_judge - (of_people * on_relevant + (1 - of_people) * on_others)
    shown = (of_people[0], of_judge[0], *_with_limits(of_judge - of_people), *_with_limits(excess))
    numbers, n_pairs = np.stack(shown, axis=1), inside.sum(axis=0)
    numbers[n_pairs < LEAST_IN_GROUP] = np.nan
    names = pd.DataFrame(list(members), columns=columns[:2]).assign(n_pairs=n_pairs)
    return pd.concat([names, pd.DataFrame(numbers, columns=columns[3:])], axis=1)


def _members(
    pairs: pd.DataFrame, sources: PoolSources | None, groups: pd.Series | None
) -> dict[tuple[str, str], Bools]:
    """Return by kind and name of each group which pairs belong to it."""
    found: dict[tuple[str, str], Bools] = {("all", "all"): np.ones(len(pairs), dtype=bool)}
    if sources is not None:
        keys = pd.MultiIndex.from_frame(pairs[PAIR])
        for run_id, rows in sources.groupby("run_id", sort=True):
            found["run", str(run_id)] = keys.isin(pd.MultiIndex.from_frame(rows[PAIR]))
        best = sources.groupby(PAIR)["rank"].min().reindex(keys).to_numpy(dtype=np.float64)
        found |= {("rank", name): (best >= low) & (best <= high) for name, (low, high) in BANDS.items()}
    if groups is not None:
        of_pair = pairs["query_id"].map(groups[~groups.index.duplicated()]).fillna("").astype(str)
        for value in sorted(of_pair.unique()):
            found[str(groups.name), value or "(none)"] = (of_pair == value).to_numpy()
    return found
