"""A machine judge's order fused with that of the runs, and a random sample drawn in strata by its score.

The order says which pairs are worth a person's time. The sample has known inclusion probabilities, so that
scores can be estimated from it; what the order alone brought has none.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, rows_of_lists
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import NO_PAIRS, Budget, Candidates, Choice
from fire_toolkit.pooling.draws import draw_candidates
from fire_toolkit.pooling.orders import best_by, fused_ranks, stops_of

AUTO, EVEN, BEST = "auto", "even", "best"
N_STRATA = 10
_SUREST = 0.03  # no judge is taken for surer: samples are drawn as if it missed 3 of 100
_LEAST = 5  # pairs drawn of a stratum: its own variance is estimated from them


def machine(
    candidates: Candidates,
    budget: Budget,
    *,
    judge: str,
    random: int = 0,
    fusion: float = 0.5,
    share: str = AUTO,
) -> Choice:
    """Pool the best pairs by a judge's score and reciprocal rank fusion, and pairs drawn at random.

    Args:
        judge: the machine judge, whose scores the candidates hold.
        random: so many pairs are drawn at random over all queries, in strata by the judge's score, and pooled
            first; original positives are known and not drawn. What is left of the budget goes by the order.
        fusion: what the runs count beside the judge, see `fuse_orders`; 0: not at all.
        share: `even`: each query gets as many pairs; `best`: the best pairs of all queries are taken; `auto`:
            the best under a budget in all, as many of each under one a query.

    Returns:
        The pairs; with `random` columns stratum, inclusion_probability and seed (stratum and probability are
        missing where the order alone brought a pair), and `population`: all pairs that could be drawn.

    Raises:
        UsageError: the judge scored none of the pairs, neither random pairs nor a budget, a budget a query
            beside random pairs or `best`, or a budget below the number drawn.
    """
    if np.isnan(candidates.machine_score).all():
        raise UsageError(f"judge {judge!r} scored none of these pairs; run `machine run` or `machine import`")
    if random < 0 or fusion < 0 or not np.isfinite(fusion):
        raise UsageError(f"random is {random}, fusion {fusion:g}; expected numbers of 0 or more")
    if share not in (AUTO, EVEN, BEST):
        raise UsageError(f"share is {share!r}, expected {AUTO}, {EVEN} or {BEST}")
    if budget == Budget() and not random:
        raise UsageError(
            "puts the pairs in an order and needs a budget to stop at: --per-query N or --budget N; or "
            "random=N, to draw a sample alone"
        )
    if budget.per_query is not None and (random or share == BEST):
        what = "random pairs are drawn" if random else "the best pairs are taken"
        raise UsageError(f"{what} over all queries, so the budget is one in all: --budget N")
    if budget.in_all is not None and budget.in_all < random:
        raise UsageError(f"a budget of {budget.in_all:,} is less than the {random:,} random pairs")
    if share == AUTO:
        share = EVEN if budget.in_all is None else BEST
    drawn = draw_by_score(candidates, judge, random) if random else Choice(NO_PAIRS)
    if budget == Budget():
        return drawn
    key = fuse_orders(candidates, fusion=fusion, share=share)
    key[drawn.pairs] = np.inf
    if share == EVEN:
        ordered = best_by(key, candidates, budget, asked=candidates.count(drawn.pairs))
    else:
        codes = [-each.astype(np.int64) for each in (candidates.query, candidates.doc)]
        pairs = np.lexsort([*codes, -key])[: budget.in_all]
        ordered = Choice(pairs, stops=stops_of(candidates, budget, candidates.count(pairs)))
    if not random:
        return ordered
    missing: dict[str, Any] = {"stratum": "", "inclusion_probability": np.nan, "seed": candidates.seed}
    columns = {
        name: pd.Series(values, drawn.pairs).reindex(ordered.pairs, fill_value=missing[name]).to_numpy()
        for name, values in drawn.columns.items()
    }
    return ordered._replace(columns=columns, population=drawn.population)


def fuse_orders(candidates: Candidates, *, fusion: float, share: str = EVEN) -> Floats:
    """Return a key of each pair, the better the higher: −log(rank by judge) − fusion · log(rank by the runs).

    Ranks are those within the query, or among all pairs where `share` is `best`; equal scores have their mean
    rank. The runs' order is that of reciprocal rank fusion (k = 60). A pair without a score has the middle
    rank, as nothing is known of it.
    """
    table = pd.DataFrame({"judge": candidates.machine_score, "runs": fused_ranks(candidates)})
    group = candidates.query if share == EVEN else np.zeros(len(table), dtype=np.int64)
    by_query = table.groupby(group, sort=False)
    ranks = by_query.rank(ascending=False, method="average")
    middle = (by_query["judge"].transform("size") + 1) / 2
    judged = np.log(ranks["judge"].fillna(middle).to_numpy(dtype=np.float64))
    return np.asarray(-judged - fusion * np.log(ranks["runs"].to_numpy(dtype=np.float64)))


def draw_by_score(candidates: Candidates, judge: str, n: int) -> Choice:
    """Return n pairs drawn, with stratum, inclusion_probability and seed; population: all that could be.

    Original positives are known and cannot be drawn.

    Raises:
        UsageError: a score is no probability.
    """
    could = np.flatnonzero(~candidates.known.is_original)
    score = candidates.machine_score
    low, high = np.nanmin(score), np.nanmax(score)
    if low < 0 or high > 1:
        raise UsageError(
            f"scores of judge {judge!r} lie between {low:g} and {high:g}; a random sample "
            "needs probabilities, from 0 to 1 (an order does not: leave out random)"
        )
    score = score[could]
    stratum = stratify_scores(score)
    wanted, size = allocate(score, stratum, n), np.bincount(stratum)
    order = np.lexsort([draw_candidates(candidates, could), stratum])
    is_drawn = np.empty(len(could), dtype=bool)
    is_drawn[order] = rows_of_lists(0, size) < np.repeat(wanted, size)
    sampled: dict[str, npt.NDArray[Any]] = {
        "stratum": np.array([f"{judge}:{k + 1}" for k in range(len(size))], dtype=object)[stratum],
        "inclusion_probability": (wanted / size)[stratum],
    }
    of_judge = {"judge_id": np.full(len(could), judge, dtype=object), "score": score}
    population = Choice(could, sampled | {"is_drawn": is_drawn} | of_judge)
    columns = {name: values[is_drawn] for name, values in sampled.items()}
    seed = np.full(int(is_drawn.sum()), candidates.seed)
    return Choice(could[is_drawn], columns | {"seed": seed}, population=population)


def stratify_scores(score: Floats, n_strata: int = N_STRATA) -> Ints:
    """Return the stratum of each score, from 0 for the lowest: equally many pairs in each, ties together.

    Pairs without a score (nan) are a stratum of their own, the last. Where many scores are equal there are
    fewer strata.

    Examples:
        >>> stratify_scores(np.array([0.1, 0.9, 0.3, np.nan, 0.8]), 2).tolist()
        [0, 1, 0, 2, 1]
    """
    known = np.sort(score[~np.isnan(score)])
    edges = np.unique(known[(np.arange(1, n_strata) * len(known)) // n_strata]) if len(known) else known
    place = np.searchsorted(edges, score, side="right")
    place[np.isnan(score)] = len(edges) + 1
    return np.unique(place, return_inverse=True)[1].astype(np.int64)


def allocate(score: Floats, stratum: Ints, n: int) -> Ints:
    """Return how many of n pairs are drawn of each stratum: Neyman's N·√(f(1 − f)), f its mean score.

    A mean nearer to 0 or 1 than .03 counts as that, an unscored stratum's as a half: with .005 intervals by
    200 pairs of a judge that is three times surer than it is right covered .85, with .03 they cover .93. At
    least 5 pairs are drawn of each stratum, or all where it has fewer, so a few more than n may be.

    Examples:
        >>> allocate(np.repeat([0.02, 0.5], 100), np.repeat([0, 1], 100), 60).tolist()
        [15, 45]
    """
    size = np.bincount(stratum)
    total = np.bincount(stratum, weights=np.nan_to_num(score, nan=0.5))
    mean = np.clip(total / size, _SUREST, 1 - _SUREST)
    least = np.minimum(size, _LEAST)
    weight = size * np.sqrt(mean * (1 - mean))
    low, high = 0.0, float((size / weight).max())  # of the scale at which n pairs are drawn
    for _ in range(60):
        middle = (low + high) / 2
        is_few = np.clip(middle * weight, least, size).sum() < n
        low, high = (middle, high) if is_few else (low, middle)
    wanted = np.clip(high * weight, least, size)
    found = np.floor(wanted + 1e-6).astype(np.int64)
    rest = max(min(n, int(size.sum())) - int(found.sum()), 0)
    found[np.argsort(found - wanted, kind="stable")[:rest]] += 1
    return np.asarray(np.minimum(found, size))
