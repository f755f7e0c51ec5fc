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

from fire_toolkit.arrays import are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.distributions import noncentral_t_cdf, t_quantile
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.designs import OVERLAP, designs_for, within_budget
from fire_toolkit.planning.lists import Lists, PilotVotes
from fire_toolkit.planning.outcomes import LABELLED, NOT_KNOWN, Outcome, Tops, cost_of, outcomes_of
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
_UNKNOWN = {
    "estimate": NOT_KNOWN,
    **dict.fromkeys(("bias", "error", "error_low", "error_high"), math.nan),
    **dict.fromkeys(("chance_within", "least_difference"), math.nan),
    **dict.fromkeys(("run_a", "run_b"), ""),
}
POWER, LEVEL = 0.8, 0.05


def plan_lists(
    lists: Lists,
    measures: Sequence[str | Measure] = PLANNED,
    *,
    votes: PilotVotes | None = None,
    budget: float = math.inf,
    seconds: float = math.nan,
    wish: Wish = Wish(within=0.02),  # noqa: B008
    overlap: float = OVERLAP,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Found:
    """Return what each design is expected to cost, to get wrong and to tell.

    Args:
        votes: of a pilot.
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
    rng = np.random.default_rng(seed)
    if votes is None:
        parameters = np.repeat(assumed_parameters(lists, ASSUMED, RATES), N_ASSUMED, axis=0)
    else:
        n_draws = max(20, min(n_draws, _MOST_CELLS // max(1, len(read.query))))
        parameters = fitted_parameters(lists, votes, RATES, n_draws=n_draws, rng=rng)
    truths = draw_truths(read, parameters, rng, n_groups=len(ASSUMED) if votes is None else 1)
    tops = [Tops(read, truths, each) for each in known if any(design.predicts(each) for design in designs)]
    costs = [cost_of(read, lists, design, truths, seed=seed) for design in designs]
    kept = within_budget(designs, [float(each.n_judgments.max()) for each in costs], budget, lists.n_universe)
    tables, serving = [], []
    for place, design in kept.items():
        n_queries = round(design.queries * lists.n_universe)
        n_pairs, n_judgments = (design.queries * float(each.mean()) for each in costs[place][:2])
        cost = {
            "design": design.pool,
            "policy": design.policy,
            "overlap": design.overlap,
            "pool_options": design.pool_options,
            "n_queries": n_queries,
            "n_pairs": round(n_pairs),
            "n_judgments": round(n_judgments),
            "hours": n_judgments * seconds / 3600,
        }
        found: dict[str, list[dict[str, Any]]] = {each.name: [] for each in known}
        for outcome in outcomes_of(read, design, costs[place], truths, tops):
            found[outcome.measure.name].append(_row(outcome, truths, lists, wish.within, n_queries))
        rows = [(name, row) for name, own in found.items() for row in own or [_UNKNOWN]]
        tables.append(pd.DataFrame([cost | {"measure": name} | row for name, row in rows]))
        serving += [shown_rows(tables[-1])] if all(map(design.serves, known)) else []
    fulfilling = [each for each in serving if wish.is_fulfilled(each)]
    best = min(fulfilling, key=lambda each: int(each["n_judgments"].iloc[0]), default=tables[0].iloc[:0])
    n_pilot, n_deep = None, 0
    if votes is not None:  # n_deep: queries of which the pilot judged every pair
        is_open = ~are_among(votes.pair, len(lists.query)) & ~lists.is_original
        n_pilot, n_deep = len(votes.pair), lists.n_queries - len(np.unique(lists.query[is_open]))
    candidates = serving or [*map(shown_rows, tables)]
    said = sentences(candidates, best, wish, lists.n_universe, n_pilot=n_pilot, n_deep=n_deep)
    return Found({"designs": pd.concat(tables, ignore_index=True), "best": best}, said=tuple(said))


def _row(outcome: Outcome, truths: Truths, lists: Lists, within: float | None, n: int) -> dict[str, Any]:
    """Return the error over runs: of a pilot its median and 95% interval, else the range of assumptions; and
    what n queries tell."""
    errors = truths.by_group(np.sqrt((outcome.bias**2 + outcome.noise**2).mean(axis=1)))
    middles, is_assumed = np.median(errors, axis=1), truths.n_groups > 1
    ends = middles if is_assumed else np.quantile(errors[0], [0.025, 0.975], method="weibull")
    found = {
        **_UNKNOWN,
        "estimate": outcome.estimate,
        "bias": outcome.bias.mean(),
        "error": math.nan if is_assumed else middles[0],
        "error_low": min(ends),
        "error_high": max(ends),
    }
    if within:  # the chance of the worst run, over what may be true
        scale = np.maximum(outcome.noise, 1e-12) * math.sqrt(2)
        chance = sum(_ERF((within + side * outcome.bias) / scale) for side in (-1, 1)) / 2
        found["chance_within"] = truths.by_group(chance.min(axis=1)).mean(axis=1).min()
    pairs = list(combinations(lists.run_ids, 2))
    if pairs and (outcome.kept > 0).all():
        level = LEVEL / len(pairs)  # Holm's strictest
        if outcome.estimate == LABELLED and outcome.measure.definition.is_binary:
            shares = outcome.differing
            told = [mcnemar_least(max(2, n), share_differing=each, level=level) for each in shares.flat]
            least = np.reshape(told, shares.shape)
        else:
            least = paired_t_least(max(2, n), level=level) * outcome.spread
        # what the labels shrink must be larger in truth
        least = np.nan_to_num(least / outcome.kept[:, None], nan=math.inf, posinf=math.inf)
        worst = least.max()
        found["least_difference"] = worst if worst < math.inf else math.nan
        found["run_a"], found["run_b"] = pairs[int(np.argmax(least)) % len(pairs)]
    return found


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
