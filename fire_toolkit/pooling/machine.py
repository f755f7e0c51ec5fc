"""A machine judge's order fused with that of the runs, and a random sample drawn in strata by its score.

The order says which pairs are worth a person's time. The sample has known inclusion probabilities, so that
scores can be estimated from it; what the order alone brought has none.
"""

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import NO_PAIRS, Budget, Candidates, Choice
from fire_toolkit.pooling.orders import best_by, fused_ranks, stops_of
from fire_toolkit.pooling.score_strata import draw_by_score

AUTO, EVEN, BEST = "auto", "even", "best"


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
