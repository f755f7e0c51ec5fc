"""Plan: what each design costs, gets wrong and can tell, before money is spent.

A design tells the least difference between two runs that its queries tell with 80% power at the level 5%. A
difference of C@k is tested by McNemar's test, of which only the queries count on which two runs differ; any
other by the paired t test. Sources: Connor, Biometrics 43 (1987), for McNemar's; Sakai, Information Retrieval
Journal 19 (2016), 10.1007/s10791-015-9273-z, for the paired t.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.distributions import noncentral_t_cdf, t_quantile
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.designs import OVERLAP, designs_for, within_budget
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.outcomes import (
    LABELLED,
    NOT_KNOWN,
    Outcome,
    Tops,
    cost_of,
    outcomes_of,
    told_rates,
)
from fire_toolkit.planning.relevance import (
    ASSUMED,
    Truths,
    assumed_parameters,
    draw_truths,
    fitted_parameters,
)
from fire_toolkit.planning.words import Wish, sentences, shown_rows
from fire_toolkit.results import Found

RATES = (0.92, 0.04)
MOST_QUERIES, DEPTH = 2000, 50
N_DRAWS, N_ASSUMED = 80, 8  # of what a pilot leaves open; of each assumption
_MOST_CELLS = 4_000_000  # of truths × pairs
_ERF = np.vectorize(math.erf, otypes=[float])
_NUMBERS = ("bias", "error", "error_low", "error_high", "chance_within", "least_difference")
_UNKNOWN = {"estimate": NOT_KNOWN, **dict.fromkeys(_NUMBERS, math.nan), "run_a": "", "run_b": ""}
POWER, LEVEL = 0.8, 0.05


def plan_lists(
    lists: Lists,
    measures: Sequence[str | Measure] = PLANNED,
    *,
    votes: pd.DataFrame | None = None,
    budget: float = math.inf,
    seconds: float = math.nan,
    wish: Wish = Wish(within=0.02),  # noqa: B008
    overlap: float = OVERLAP,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Found:
    """Return what each design is expected to cost, to get wrong and to tell.

    Args:
        votes: of a pilot, see `pilot_votes`, on pairs that the lists hold.
        budget: judgments; a design that takes more is cut to a random part of the queries.
        seconds: that one judgment takes; nan where nobody knows.
        overlap: the random share of pairs that two people judge.
        n_draws: of what the pilot leaves open.

    Returns:
        designs, a row for each estimate of a measure: `labelled`, by the labels as they are; `corrected` for
        the errors of votes; `not known`, without numbers. best: those of the cheapest design that does what
        was asked, none where none does; said: what that comes to in three sentences. bias: the runs' mean;
        error: root mean square over runs, the median over what the pilot leaves open; from error_low to
        error_high: 95% of it. Without a pilot error is missing, and the range is that of the assumptions.
        chance_within: that every run's score lies within the wish; least_difference: between any two runs,
        told at 80% power and 5% after Holm, of which run_a and run_b decide it. Values are in the measure's
        own unit.

    Raises:
        UsageError: no budget is large enough, or a measure is no mean.
    """
    known = list(parse_measures(measures))
    for each in known:
        if each.definition.aggregate != "mean" or each.definition.unit not in ("share", "gain"):
            raise UsageError(f"{each.name}: plan takes measures that are means over queries, such as C@10")
    designs = designs_for(known, n_queries=lists.n_universe, most=lists.depth, overlap=overlap)
    read = lists.top(max(design.depth for design in designs))
    groups = _possible_truths(lists, read, votes, n_draws, np.random.default_rng(seed))
    predicted = [each for each in known if any(design.predicts(each) for design in designs)]
    tops = {each.name: [Tops(read, truths, each) for truths in groups] for each in predicted}
    costs = [[cost_of(read, lists, design, truths, seed=seed) for truths in groups] for design in designs]
    most = [max(each.n_judgments for each in own) for own in costs]
    tables, serving = [], []
    for place, design in within_budget(designs, most, budget, lists.n_universe).items():
        n_queries = round(design.queries * lists.n_universe)
        n_pairs, n_judgments = design.queries * np.mean([each[:2] for each in costs[place]], axis=0)
        cost = {
            "design": design.pool,
            "policy": design.policy,
            "overlap": design.doubled,
            "pool_options": design.pool_options,
            "n_queries": n_queries,
            "n_pairs": round(n_pairs),
            "n_judgments": round(n_judgments),
            "hours": n_judgments * seconds / 3600,
        }
        told = [told_rates(design, *each) for each in zip(costs[place], groups, strict=True)]
        told = [None] * len(groups) if any(each is None for each in told) else told
        rows = []
        for measure in known:
            own: list[dict[str, Any]] = []
            if design.predicts(measure):
                of_groups = zip(costs[place], groups, tops[measure.name], told, strict=True)
                outcomes = zip(*(outcomes_of(read, design, *each) for each in of_groups), strict=True)
                own = [_row(each, lists.run_ids, wish.within, n_queries) for each in outcomes]
            rows += [cost | {"measure": measure.name} | row for row in own or [_UNKNOWN]]
        tables.append(pd.DataFrame(rows))
        serving += [shown_rows(tables[-1])] if all(map(design.serves, known)) else []
    fulfilling = [each for each in serving if wish.is_fulfilled(each)]
    best = min(fulfilling, key=lambda each: int(each["n_judgments"].iloc[0]), default=tables[0].iloc[:0])
    n_pilot, n_deep = None, 0
    if votes is not None:  # n_deep: queries of which the pilot judged every pair
        is_open = ~are_among(votes["pair"].to_numpy(), len(lists.query)) & ~lists.is_original
        n_pilot, n_deep = len(votes), lists.n_queries - len(np.unique(lists.query[is_open]))
    candidates = serving or [*map(shown_rows, tables)]
    said = sentences(candidates, best, wish, lists.n_universe, n_pilot=n_pilot, n_deep=n_deep)
    return Found({"designs": pd.concat(tables, ignore_index=True), "best": best}, said=said)


def _possible_truths(
    lists: Lists, read: Lists, votes: pd.DataFrame | None, n_draws: int, rng: np.random.Generator
) -> list[Truths]:
    """Return what a pilot leaves open of the pairs that are read; without one, what each assumption does."""
    if votes is None:
        assumed = assumed_parameters(lists, ASSUMED, RATES)
        return [draw_truths(read, np.tile(each, (N_ASSUMED, 1)), rng) for each in assumed]
    n_draws = max(20, min(n_draws, _MOST_CELLS // max(1, len(read.query))))
    return [draw_truths(read, fitted_parameters(lists, votes, RATES, n_draws=n_draws, rng=rng), rng)]


def _row(outcomes: Sequence[Outcome], run_ids: Sequence[str], within: float | None, n: int) -> dict[str, Any]:
    """Return the error over runs: of a pilot its median and 95% interval, else the range of assumptions; and
    what n queries tell."""
    errors = [np.sqrt((each.bias**2 + each.noise**2).mean(axis=1)) for each in outcomes]
    middles, is_assumed = list(map(np.median, errors)), len(outcomes) > 1
    ends = middles if is_assumed else np.quantile(errors[0], [0.025, 0.975], method="weibull")
    found = {
        **_UNKNOWN,
        "estimate": outcomes[0].estimate,
        "bias": np.mean([each.bias for each in outcomes]),
        "error": math.nan if is_assumed else middles[0],
        "error_low": min(ends),
        "error_high": max(ends),
    }
    if within:  # the chance of the worst run, over what may be true
        found["chance_within"] = min(_chance_within(within, each) for each in outcomes)
    pairs = list(combinations(run_ids, 2))
    if pairs and all(each.kept > 0 for each in outcomes):
        # Holm's strictest level; what the labels shrink must be larger in truth
        told = [_told(each, max(2, n), LEVEL / len(pairs)) / each.kept for each in outcomes]
        least = np.nan_to_num(told, nan=math.inf, posinf=math.inf)
        found["least_difference"] = least.max() if least.max() < math.inf else math.nan
        found["run_a"], found["run_b"] = pairs[int(np.argmax(least)) % len(pairs)]
    return found


def _chance_within(within: float, outcome: Outcome) -> float:
    """Return the chance that the worst run's score is right to that, on the mean of what may be true."""
    scale = np.maximum(outcome.noise, 1e-12) * math.sqrt(2)
    chance = sum(_ERF((within + side * outcome.bias) / scale) for side in (-1, 1)) / 2
    return float(chance.min(axis=1).mean())


def _told(outcome: Outcome, n: int, level: float) -> Floats:
    """Return the least difference that n queries tell of each pair of runs, by this estimate; nan: none."""
    if outcome.estimate == LABELLED and outcome.measure.definition.is_binary:
        return np.array([mcnemar_least(n, share_differing=each, level=level) for each in outcome.differing])
    return paired_t_least(n, level=level) * outcome.spread


def mcnemar_least(n_queries: float, *, share_differing: float, level: float = LEVEL) -> float:
    """Return the least difference of C@k that so many queries tell, two-sided; nan where they tell none.

    Solves Δ√n = z₁√p + z₂√(p − Δ²), p being the share of queries on which the runs differ.

    Examples:
        >>> round(mcnemar_least(1960, share_differing=0.1), 4)
        0.02
        >>> mcnemar_least(5, share_differing=0.1)
        nan
    """
    upper, reach = (NormalDist().inv_cdf(each) for each in (1 - level / 2, POWER))
    inside = share_differing * reach**2 * (n_queries + reach**2 - upper**2)
    if inside < 0:
        return math.nan
    least = (upper * math.sqrt(n_queries * share_differing) + math.sqrt(inside)) / (n_queries + reach**2)
    return least if 0 < least <= share_differing else math.nan


@cache
def paired_t_least(n_queries: float, *, level: float = LEVEL) -> float:
    """Return the least mean difference, in standard deviations of differences, that a paired t test tells.

    Two-sided and exact, by the noncentral t. n_queries: 2 or more.

    Examples:
        >>> [round(paired_t_least(n), 2) for n in (199, 90, 34, 15)]
        [0.2, 0.3, 0.5, 0.78]
    """
    critical = t_quantile(1 - level / 2, n_queries - 1)

    def is_told(effect: float) -> bool:
        shift = effect * math.sqrt(n_queries)
        above, below = (noncentral_t_cdf(end, n_queries - 1, shift) for end in (critical, -critical))
        return 1 - above + below >= POWER

    low, high = 0.0, 1.0
    while not is_told(high):
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if is_told(middle) else (middle, high)
    return high
