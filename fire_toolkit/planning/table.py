"""A plan as a table: each design with its cost, its errors, and the differences that it tells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.measures import Measure
from fire_toolkit.planning.agreement import expected_alpha
from fire_toolkit.planning.power import (
    LEVEL,
    POWER,
    mcnemar_least,
    mcnemar_power,
    paired_t_least,
    paired_t_power,
)
from fire_toolkit.planning.simulate import LABELLED, Outcome

COLUMNS = {
    "world": "str",
    "design": "str",
    "policy": "str",
    "overlap": "float64",
    "pool_options": "str",
    "n_queries": "int64",
    "n_pairs": "int64",
    "n_judgments": "int64",
    "hours": "float64",
    "recall": "float64",
    "alpha": "float64",
    "alpha_half_width": "float64",
    "measure": "str",
    "estimate": "str",
    "bias": "float64",
    "error": "float64",
    "error_low": "float64",
    "error_high": "float64",
    "largest_bias": "float64",
    "chance_within": "float64",
    "least_difference": "float64",
    "run_a": "str",
    "run_b": "str",
    "power": "float64",
}
SURE = 0.95  # of `within`


@dataclass(frozen=True)
class Wish:
    """What a plan is to tell of a measure: a difference between any two runs, or each run's score.

    tell: a true difference; within: how far a score may be off; both in the measure's own unit.
    """

    measure: str
    tell: float | None = None
    within: float | None = None


def plan_rows(
    world: str,
    outcomes: Sequence[Outcome],
    measures: Sequence[Measure],
    run_ids: Sequence[str],
    *,
    rates: tuple[float, float],
    seconds: float,
    wish: Wish | None,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each design and estimate: what it costs, and what it is expected to come to.

    Args:
        world: the name of what was assumed.
        rates: of a vote, for alpha.
        seconds: that one judgment takes; nan where nobody knows.
        wish: the power and the chance are of it, nan for other measures.
    """
    for outcome in outcomes:
        cost = _cost(outcome, rates, seconds)
        for place, (number, _) in enumerate(outcome.estimates):
            measure = measures[number]
            asked = wish if wish and wish.measure == measure.name else Wish(measure.name)
            yield {"world": world, **cost, **_of_measure(outcome, place, measure, run_ids, asked)}


def _cost(outcome: Outcome, rates: tuple[float, float], seconds: float) -> dict[str, Any]:
    design = outcome.design
    overlap = 1.0 if design.policy == "doubled" else design.overlap
    alpha, half = expected_alpha(
        overlap * outcome.n_asked, share_positive=outcome.share_positive, rates=rates
    )
    return {
        "design": design.pool,
        "policy": design.policy,
        "overlap": overlap,
        "pool_options": design.pool_options,
        "n_queries": outcome.n_queries,
        "n_pairs": round(outcome.n_asked),
        "n_judgments": round(outcome.n_votes),
        "hours": outcome.n_votes * seconds / 3600,
        "recall": outcome.recall,
        "alpha": alpha,
        "alpha_half_width": half,
    }


def _of_measure(
    outcome: Outcome, place: int, measure: Measure, run_ids: Sequence[str], wish: Wish
) -> dict[str, Any]:
    bias, noise = outcome.bias[place], outcome.noise[place]
    error = float(outcome.root_mean_square[place])
    factor = outcome.factors[place] if outcome.factors else math.nan
    least, hardest = _least_difference(outcome, place, measure)
    pairs = list(combinations(run_ids, 2))
    within = (
        math.nan if wish.within is None else min(map(_chance_within, bias, noise, [wish.within] * len(bias)))
    )
    return {
        "measure": measure.name,
        "estimate": outcome.estimates[place][1],
        "bias": float(bias.mean()),
        "error": error,
        "error_low": error / factor,
        "error_high": error * factor,
        "largest_bias": float(bias[np.abs(bias).argmax()]),
        "chance_within": within,
        "least_difference": least,
        "run_a": "" if hardest < 0 else pairs[hardest][0],
        "run_b": "" if hardest < 0 else pairs[hardest][1],
        "power": math.nan if wish.tell is None else _power(outcome, place, measure, wish.tell),
    }


def _chance_within(bias: float, noise: float, limit: float) -> float:
    """Return the chance that a normal error stays within the limit."""
    if noise == 0:
        return float(abs(bias) <= limit)
    normal = NormalDist(bias, noise)
    return normal.cdf(limit) - normal.cdf(-limit)


def _least_difference(outcome: Outcome, place: int, measure: Measure) -> tuple[float, int]:
    """Return the least true difference that is told between any two runs, and the pair that decides it.

    At Holm's strictest level. What the labels shrink must be larger in truth.
    """
    n_pairs, kept = outcome.spread.shape[1], float(outcome.kept[place])
    if not n_pairs or not kept > 0:
        return math.nan, -1
    level, n = LEVEL / n_pairs, outcome.n_queries
    if _by_mcnemar(outcome, place, measure):
        least = [mcnemar_least(n, share_differing=share, level=level) for share in outcome.differing[place]]
    else:
        effect = paired_t_least(n, level=level)
        least = [effect * spread for spread in outcome.spread[place]]
    hardest = int(np.argmax([math.inf if math.isnan(value) else value for value in least]))
    return float(least[hardest]) / kept, hardest


def _power(outcome: Outcome, place: int, measure: Measure, difference: float) -> float:
    """Return the least chance, over pairs of runs, that a true difference is told, after Holm."""
    n_pairs, labelled = outcome.spread.shape[1], difference * float(outcome.kept[place])
    if not n_pairs or not labelled > 0:
        return math.nan
    level, n = LEVEL / n_pairs, outcome.n_queries
    if _by_mcnemar(outcome, place, measure):
        shares = np.maximum(outcome.differing[place], min(labelled, 1.0))
        return min(
            mcnemar_power(n, min(labelled, 1.0), share_differing=share, level=level) for share in shares
        )
    widest = float(outcome.spread[place].max())
    return 1.0 if widest == 0 else paired_t_power(n, labelled / widest, level=level)


def _by_mcnemar(outcome: Outcome, place: int, measure: Measure) -> bool:
    return measure.definition.is_binary and outcome.estimates[place][1] == LABELLED


def cheapest(table: pd.DataFrame, wish: Wish) -> pd.DataFrame:
    """Return of each world the row of the cheapest design that fulfils the wish; none where none does."""
    own = table[table["measure"] == wish.measure]
    if wish.tell is not None:
        own = own[own["power"] >= POWER]
    if wish.within is not None:
        own = own[own["chance_within"] >= SURE]
    return own.sort_values("n_judgments", kind="stable").groupby("world", sort=False).head(1)
