"""Plan: what each design costs, gets wrong and can tell, before money is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.matching.own_items import OwnItems
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.designs import Design, usual_designs, within_budget
from fire_toolkit.planning.doubt import with_doubt
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.pilot import pilot_votes
from fire_toolkit.planning.relevance import ASSUMPTIONS, RelevanceModel, assumed_model, fit_model
from fire_toolkit.planning.simulate import design_costs, simulate
from fire_toolkit.planning.table import COLUMNS, Wish, cheapest, plan_rows
from fire_toolkit.results import Result
from fire_toolkit.tables import Judgments, Qrels, Queries, Run

RATES = (0.92, 0.04)
PILOT = "pilot"  # the world that a pilot tells
OVERLAP, N_REPEATS, MOST_QUERIES, DEPTH = 0.1, 8, 2000, 50


class _Plan(NamedTuple):
    designs: pd.DataFrame
    best: pd.DataFrame


class Plan(_Plan, Result):
    """What `plan_designs` and `plan_worlds` return: a row for each world, design and measure, and of these
    the cheapest that fulfils the wish in each world."""

    __slots__ = ()


def assumed_worlds(
    lists: Lists, names: Sequence[str] = (), *, rates: tuple[float, float] = RATES
) -> dict[str, RelevanceModel]:
    """Return a model for each assumption on how many positives the originals leave out.

    Args:
        names: of `ASSUMPTIONS`, or numbers of missing positives a query in the top 10 of all runs; by default
            all three.
        rates: of a vote: P(1 | positive), P(1 | not).

    Raises:
        UsageError: no such name; more missing positives than there are pairs.
    """
    known = {each.name: each.missing for each in ASSUMPTIONS}
    worlds = {}
    for name in names or known:
        try:
            missing = known[name] if name in known else float(name)
        except ValueError:
            raise UsageError(
                f"no assumption {name!r}; expected {', '.join(known)} or how many positives a query miss"
            ) from None
        worlds[name] = assumed_model(lists, missing, rates=rates)
    return worlds


def plan_designs(
    runs: Run | Sequence[Run],
    originals: Qrels,
    measures: Sequence[str | Measure] = PLANNED,
    *,
    pilot: Judgments | None = None,
    grades: Grades | None = None,
    assume: Sequence[str] = (),
    rates: tuple[float, float] = RATES,
    rates_known: bool = False,
    depth: int = DEPTH,
    most_queries: int = MOST_QUERIES,
    overlap: float = OVERLAP,
    seed: int = 0,
    own_items: Queries | OwnItems | None = None,
    **options: Any,
) -> Plan:
    """Return what each design is expected to cost, to get wrong and to tell on these runs, as `plan` prints.

    Args:
        runs: one Run table or several.
        originals: the original qrels; their queries are the universe, their positives are known.
        measures: means over queries.
        pilot: judgments of pairs of these runs chosen by their ranks, which say how many positives the
            originals leave out and how votes err; None: by assumption.
        grades: label → relevance, for the pilot.
        assume: without a pilot: low, middle, high, or how many positives a query are missing; by default all
            three.
        rates: of a vote, P(1 | positive) and P(1 | not); with a pilot only where it starts from, unless
            they are `rates_known`, from many more votes.
        depth: how deep the runs are looked at.
        most_queries: simulate on at most so many, drawn at random.
        overlap: the random share of pairs that two people judge, for alpha.
        seed: of all draws.
        own_items: as for `pool_runs`.
        options: budget, hours, seconds, wish, designs, n_repeats, tell: see `plan_worlds`.

    Raises:
        UsageError: as `lists_of`, `assumed_worlds`, `fit_model` and `plan_worlds`.

    Examples:
        >>> import numpy as np
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> queries = [f"q{n}" for n in range(60)]
        >>> both = pd.MultiIndex.from_product([queries, list("abcdefgh")], names=["query_id", "doc_id"])
        >>> pairs = both.to_frame(index=False)
        >>> runs = [rank_run(pairs.assign(run_id=name, score=np.random.default_rng(n).random(len(pairs))))
        ...         for n, name in enumerate(("clip", "ssb"))]
        >>> originals = check_qrels(pd.DataFrame({"query_id": queries, "doc_id": "a", "relevance": 1}))
        >>> plan = plan_designs(runs, originals, ["C@1"], assume=["low"], designs=[Design(depth=5)])
        >>> plan.designs[["world", "design", "n_pairs", "n_judgments"]].values.tolist()
        [['low', 'depth 5', 406, 454]]
    """
    lists = lists_of(runs, originals, depth=depth, most_queries=most_queries, seed=seed, own_items=own_items)
    if pilot is None:
        worlds = assumed_worlds(lists, assume, rates=rates)
    else:
        votes = pilot_votes(lists, pilot, pilot["label"].map(grades or {}))
        given = (votes.pair, votes.n_positive, votes.n_votes)
        worlds = {PILOT: fit_model(lists, *given, rates=rates, rates_known=rates_known)}
    return plan_worlds(lists, worlds, measures, overlap=overlap, seed=seed, **options)


def plan_worlds(
    lists: Lists,
    worlds: Mapping[str, RelevanceModel],
    measures: Sequence[str | Measure] = PLANNED,
    *,
    designs: Sequence[Design] | None = None,
    budget: float | None = None,
    hours: float | None = None,
    seconds: float = math.nan,
    wish: Wish | None = None,
    overlap: float = OVERLAP,
    n_repeats: int = N_REPEATS,
    seed: int = 0,
    tell: Callable[[int], None] = lambda n: None,
) -> Plan:
    """Return what each design is expected to cost, to get wrong and to tell, in each world.

    Args:
        lists: of `lists.lists_of`.
        worlds: by their names, models of which pairs are positives and how votes err.
        measures: means over queries, of which the wish's is one.
        designs: by default depths, fusion, settled and deep pools by every policy of votes.
        budget: pairs; a design that asks more is cut to a random part of the queries.
        hours: the same in hours of judging, by `seconds`.
        seconds: that one judgment takes.
        wish: what the plan is to tell.
        overlap: the random share of pairs that two people judge, for alpha.
        n_repeats: how often positives and votes are drawn, 2 or more.
        seed: of all draws; the same seed gives the same table.
        tell: called with 1 for each world, design and repetition (`doubt.n_simulations`).

    Returns:
        The table and the cheapest designs that fulfil the wish. Its columns: bias and error are of the runs'
        mean and root mean square; from error_low to error_high is what a pilot leaves open of the error (95%;
        missing without a pilot); largest_bias the worst run's; chance_within: that every run's score lies
        within the wish; least_difference: between any two runs, told at 80% power and 5% after Holm,
        of which run_a and run_b decide it;
        power: that the wished difference is told. recall: of the positives in the runs' top `depth` and the
        originals. Values are in the measure's own unit.

    Raises:
        UsageError: no budget is large enough, a measure is not a mean, both budget and hours are given, or
            hours without seconds.
    """
    known = _means(parse_measures(measures))
    if wish is not None and wish.measure not in {measure.name for measure in known}:
        raise UsageError(f"{wish.measure} is not among the measures planned with; add -m {wish.measure}")
    plain = list(designs) if designs is not None else usual_designs(lists, overlap=overlap)
    rows: list[dict[str, Any]] = []
    for name, model in worlds.items():
        costs = partial(design_costs, lists, plain, model, n_repeats=n_repeats, seed=seed)
        chosen = _affordable(plain, costs, lists.n_universe, budget, hours, seconds)
        plain_outcomes = simulate(lists, chosen, known, model, n_repeats=n_repeats, seed=seed, tell=tell)
        outcomes = with_doubt(plain_outcomes, lists, chosen, known, model, seed=seed, tell=tell)
        rows += plan_rows(name, outcomes, known, lists.run_ids, rates=model.rates, seconds=seconds, wish=wish)
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    best = table.iloc[:0] if wish is None else cheapest(table, wish)
    return Plan(table, best.reset_index(drop=True))


def _affordable(
    designs: list[Design],
    costs: Callable[[], Floats],
    n_queries: int,
    budget: float | None,
    hours: float | None,
    seconds: float,
) -> list[Design]:
    """Return the designs cut to the budget, as they stand where there is none.

    costs: returns the pairs and the judgments of each design.
    """
    if budget is not None and hours is not None:
        raise UsageError("a budget in pairs and one in hours; give one of them")
    if budget is None and hours is None:
        return designs
    if hours is not None and math.isnan(seconds):
        raise UsageError("a budget in hours needs the seconds that a judgment takes; give --seconds")
    n_pairs, n_judgments = costs().T.tolist()
    if budget is not None:
        return within_budget(designs, n_pairs, budget, n_queries)
    assert hours is not None
    return within_budget(designs, n_judgments, hours * 3600 / seconds, n_queries)


def _means(measures: Sequence[Measure]) -> list[Measure]:
    for measure in measures:
        if measure.definition.aggregate != "mean" or measure.definition.unit not in ("share", "gain"):
            raise UsageError(f"{measure.name}: plan takes measures that are means over queries, such as C@10")
    return list(measures)
