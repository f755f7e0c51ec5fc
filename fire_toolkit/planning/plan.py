"""Plan: what each design costs, gets wrong and can tell, before money is spent."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.designs import OVERLAP, Design, designs_for, within_budget
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.outcomes import (
    CORRECTED,
    LABELLED,
    NOT_KNOWN,
    Cost,
    Outcome,
    Tops,
    cost_of,
    outcomes_of,
)
from fire_toolkit.planning.pilot import PilotVotes, queries_judged_deep
from fire_toolkit.planning.power import LEVEL, mcnemar_least, paired_t_least
from fire_toolkit.planning.relevance import (
    ASSUMED,
    Truths,
    assumed_parameters,
    draw_truths,
    fitted_parameters,
)
from fire_toolkit.planning.words import Wish, sentences, shown_rows

RATES = (0.92, 0.04)
MOST_QUERIES, DEPTH = 2000, 50
N_DRAWS, N_ASSUMED = 80, 8  # of what a pilot leaves open; of each assumption
SURE = 0.95
WITHIN = 0.02  # of every run's score, where nothing is asked
_MOST_CELLS = 4_000_000  # of truths × pairs

COLUMNS = {
    "design": "str",
    "policy": "str",
    "overlap": "float64",
    "pool_options": "str",
    "n_queries": "int64",
    "n_pairs": "int64",
    "n_judgments": "int64",
    "hours": "float64",
    "measure": "str",
    "estimate": "str",
    "bias": "float64",
    "error": "float64",
    "error_low": "float64",
    "error_high": "float64",
    "chance_within": "float64",
    "least_difference": "float64",
    "run_a": "str",
    "run_b": "str",
}


class Plan(NamedTuple):
    """What `plan_lists` returns: a row for each design and measure; those of the cheapest design that does
    what was asked, none where none does; and what that comes to in three sentences."""

    designs: pd.DataFrame
    best: pd.DataFrame
    sentences: tuple[str, ...]


class _World(NamedTuple):
    """What a pilot, or an assumption, says."""

    truths: Truths
    tops: list[tuple[Measure, Tops]]
    costs: list[Cost]


def plan_lists(
    lists: Lists,
    measures: Sequence[str | Measure] = PLANNED,
    *,
    votes: PilotVotes | None = None,
    rates: tuple[float, float] = RATES,
    budget: float | None = None,
    seconds: float = math.nan,
    wish: Wish | None = None,
    overlap: float = OVERLAP,
    every: bool = False,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Plan:
    """Return what each design is expected to cost, to get wrong and to tell.

    Args:
        lists: of `lists.lists_of`.
        measures: means over queries.
        votes: of a pilot.
        rates: of a vote, P(1 | positive) and P(1 | not); with a pilot only where it starts from.
        budget: judgments; a design that takes more is cut to a random part of the queries.
        seconds: that one judgment takes; nan where nobody knows.
        wish: what the design is to do; by default every run's score right to 2 points.
        overlap: the random share of pairs that two people judge.
        every: other depths and settled pools too.
        n_draws: of what the pilot leaves open.
        seed: of all draws; the same seed gives the same table.

    Returns:
        The designs, a row for each estimate of a measure: `labelled`, by the labels as they are; `corrected`
        for the errors of votes; `not known`, without numbers. bias: the runs' mean; error: root mean square
        over runs, the median over what the pilot leaves open; from error_low to error_high: 95% of it.
        Without a pilot error is missing, and the range is that of the assumptions. chance_within: that every
        run's score lies within the wish; least_difference: between any two runs, told at 80% power and 5%
        after Holm, of which run_a and run_b decide it. Values are in the measure's own unit.

    Raises:
        UsageError: no budget is large enough, or a measure is no mean.
    """
    known = _means(parse_measures(measures))
    wish = wish or Wish(within=WITHIN)
    designs = designs_for(known, n_queries=lists.n_universe, most=lists.depth, overlap=overlap, every=every)
    read = lists.top(max(design.depth for design in designs))
    is_read = [measure for measure in known if any(design.predicts(measure) for design in designs)]
    rng = np.random.default_rng(seed)
    n_most = max(20, min(n_draws, _MOST_CELLS // max(1, len(read.query))))
    if votes is None:
        parameters = [np.tile(assumed_parameters(lists, each, rates), (N_ASSUMED, 1)) for each in ASSUMED]
    else:
        parameters = [fitted_parameters(lists, votes, rates, n_draws=n_most, rng=rng)]
    worlds = []
    for truths in (draw_truths(read, each, rng) for each in parameters):
        costs = [cost_of(read, lists, design, truths, seed=seed) for design in designs]
        worlds.append(_World(truths, [(each, Tops(read, truths, each)) for each in is_read], costs))
    n_judgments = [
        max(float(cost.n_judgments.mean()) for cost in costs)
        for costs in zip(*(world.costs for world in worlds), strict=True)
    ]
    kept = within_budget(designs, n_judgments, budget, lists.n_universe)
    rows = [
        row
        for place, design in kept.items()
        for row in _rows(read, design, place, worlds, known, seconds, wish)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    serving = [(each.pool, each.policy) for each in kept.values() if all(map(each.serves, known))]
    shown = shown_rows(table)
    is_served = pd.MultiIndex.from_frame(shown[["design", "policy"]]).isin(serving)
    candidates = shown[is_served] if is_served.any() else shown
    best = _cheapest(candidates, wish) if is_served.any() else table.iloc[:0]
    n_pilot = None if votes is None else len(votes.pair)
    n_deep = 0 if votes is None else queries_judged_deep(lists, votes)
    said = sentences(candidates, best, wish, lists=lists, n_pilot=n_pilot, n_deep=n_deep)
    return Plan(table, best, tuple(said))


def _rows(
    read: Lists,
    design: Design,
    place: int,
    worlds: Sequence[_World],
    known: Sequence[Measure],
    seconds: float,
    wish: Wish,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each estimate of each measure: what the design costs, and how far it is off."""
    costs = [world.costs[place] for world in worlds]
    n_judgments = design.queries * float(np.mean([each.n_judgments for each in costs]))
    cost = {
        "design": design.pool,
        "policy": design.policy,
        "overlap": design.overlap,
        "pool_options": design.pool_options,
        "n_queries": round(design.queries * read.n_universe),
        "n_pairs": round(design.queries * float(np.mean([each.n_pairs for each in costs]))),
        "n_judgments": round(n_judgments),
        "hours": n_judgments * seconds / 3600,
        "run_a": "",
        "run_b": "",
    }
    found: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for world, own in zip(worlds, costs, strict=True):
        for each in outcomes_of(read, design, own, world.truths, world.tops):
            found[each.measure.name, each.estimate].append(each)
    for measure in known:
        if not design.predicts(measure):
            yield {**cost, "measure": measure.name, "estimate": NOT_KNOWN}
        for estimate in (LABELLED, CORRECTED):
            outcomes = found[measure.name, estimate]
            if len(outcomes) == len(worlds):
                off = _errors(outcomes, wish.within) | _least(outcomes, read)
                yield {**cost, "measure": measure.name, "estimate": estimate, **off}


def _errors(outcomes: Sequence[Outcome], within: float | None) -> dict[str, Any]:
    """Return the error over runs: of a pilot its median and 95% interval, else the range of assumptions."""
    errors = [np.sqrt((each.bias**2 + each.noise**2).mean(axis=1)) for each in outcomes]
    middles = [float(np.median(each)) for each in errors]
    is_assumed = len(outcomes) > 1
    ends = middles if is_assumed else np.quantile(errors[0], [0.025, 0.975], method="weibull").tolist()
    return {
        "bias": float(np.mean([each.bias.mean() for each in outcomes])),
        "error": math.nan if is_assumed else middles[0],
        "error_low": min(ends),
        "error_high": max(ends),
        "chance_within": min(_chance_within(each, within) for each in outcomes) if within else math.nan,
    }


def _chance_within(outcome: Outcome, limit: float) -> float:
    """Return the chance that the worst run's error stays within the limit, over what may be true."""
    noise = np.maximum(outcome.noise, 1e-12) * math.sqrt(2)
    erf = np.vectorize(math.erf, otypes=[float])
    chance = (erf((limit - outcome.bias) / noise) + erf((limit + outcome.bias) / noise)) / 2
    return float(chance.min(axis=1).mean())


def _least(outcomes: Sequence[Outcome], read: Lists) -> dict[str, Any]:
    """Return the least true difference that is told between any two runs, and the pair that decides it.

    At Holm's strictest level; what the labels shrink must be larger in truth; the worst of the assumptions.
    """
    worst, names = -math.inf, ("", "")
    pairs = list(combinations(read.run_ids, 2))
    if not pairs or not all(each.kept > 0 for each in outcomes):
        return {}
    for outcome in outcomes:
        n, level = max(2, round(outcome.design.queries * read.n_universe)), LEVEL / len(pairs)
        if outcome.estimate == LABELLED and outcome.measure.definition.is_binary:
            least = [mcnemar_least(n, share_differing=share, level=level) for share in outcome.differing]
        else:
            least = (paired_t_least(n, level=level) * outcome.spread).tolist()
        least = [math.inf if math.isnan(each) else each / outcome.kept for each in least]
        if max(least) > worst:
            worst, names = max(least), pairs[int(np.argmax(least))]
    known = {} if worst == math.inf else {"least_difference": worst}
    return {**known, "run_a": names[0], "run_b": names[1]}


def _cheapest(candidates: pd.DataFrame, wish: Wish) -> pd.DataFrame:
    """Return the rows of the cheapest of these designs that does what is asked for every measure."""
    fulfils = pd.Series(True, index=candidates.index)
    if wish.tell is not None:
        fulfils &= candidates["least_difference"] <= wish.tell
    if wish.within is not None:
        fulfils &= candidates["chance_within"] >= SURE
    fulfils |= candidates["estimate"] == NOT_KNOWN
    keys = [candidates["design"], candidates["policy"]]
    chosen = candidates[fulfils.groupby(keys).transform("all")]
    if chosen.empty:
        return chosen
    first = chosen.sort_values("n_judgments", kind="stable").iloc[0]
    is_first = (chosen["design"] == first["design"]) & (chosen["policy"] == first["policy"])
    cheapest: pd.DataFrame = chosen[is_first]
    return cheapest


def _means(measures: Sequence[Measure]) -> list[Measure]:
    for measure in measures:
        if measure.definition.aggregate != "mean" or measure.definition.unit not in ("share", "gain"):
            raise UsageError(f"{measure.name}: plan takes measures that are means over queries, such as C@10")
    return list(measures)
