"""What `plan` is given: the runs as lists, what is known of positives, and the designs to weigh."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.cli.common import made_file, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import judgments_from, known_grades
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.planning.designs import POLICIES, Design, usual_designs
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.pilot import pilot_votes
from fire_toolkit.planning.plan import PILOT, assumed_worlds
from fire_toolkit.planning.relevance import POOL_DEPTH, RelevanceModel, fit_model

_SPELT = {"latex": "--paragraph", "strategies": "--strategy", "depths": "--depth", "policies": "--votes"}


def refuse_unread(options: dict[str, Any]) -> None:
    """Raise UsageError for options that the others given would leave unread."""
    strategies = options["strategies"]
    is_ordered = any(each != "depth" and not each.startswith("settle") for each in strategies)
    is_by_depth = not strategies or "depth" in strategies
    wanted = ("tell", "within", "plot", "latex")
    designed = ("strategies", "depths", "per_query", "policies", "deep_queries")
    clashes = {
        "--draw-pilot": ("draw_pilot", ("pilot", "late", *wanted)),
        "--late": ("late", ("strategies", "per_query", "policies", "settle", "budget", "hours", *wanted)),
        "--settle": ("settle", designed),
    }
    for option, (name, others) in clashes.items():
        unread = next((each for each in others if options[name] and options[each]), None)
        if unread is not None:
            raise UsageError(
                f"{option} reads no {_SPELT.get(unread, '--' + unread.replace('_', '-'))}; leave one out"
            )
    if options["per_query"] and not is_ordered:
        raise UsageError(
            "--per-query is for strategies that put pairs in an order; add one, as in --strategy rrf"
        )
    if options["depths"] and not is_by_depth:
        raise UsageError("--depth belongs to the strategy depth; leave it out, or add --strategy depth")


def lists_given(given: Given, options: dict[str, Any]) -> Lists:
    """Return the lists of all runs; options["late"] become the ids of those that come later."""
    own_items = queries_own_items(given)
    depth = options["deep_depth"]
    to_read = depth + 1 if own_items else depth
    late = Given({**given.values, "runs": options["late"]}).runs_to(to_read) if options["late"] else []
    options["late"] = [run_id_of(run) for run in late]
    return lists_of(
        [*given.runs_to(to_read), *late],
        given.original,
        depth=depth,
        most_queries=options["most_queries"],
        seed=options["seed"],
        own_items=own_items,
    )


def worlds_given(given: Given, lists: Lists, options: dict[str, Any]) -> dict[str, RelevanceModel]:
    """Return what is assumed of positives, or what the pilot says of them."""
    true, false = options["rates"]
    if true <= false:
        raise UsageError(f"--rates {true:g} {false:g}: expected the first, of positives, above the second")
    if options["rates_known"] and not options["pilot"]:
        raise UsageError("--rates-known is for a plan with --pilot; without one --rates are taken so")
    if not options["pilot"]:
        return assumed_worlds(lists, options["assumed"], rates=options["rates"])
    if options["assumed"]:
        raise UsageError("--assume is for plans without a pilot; leave out one of them")
    path = given.use(options["pilot"])
    judgments = judgments_from(path)
    grades = known_grades(judgments, given.values["guideline"], path)
    votes = pilot_votes(lists, judgments, judgments["label"].map(grades))
    model = fit_model(
        *(lists, votes.pair, votes.n_positive, votes.n_votes),
        rates=options["rates"],
        rates_known=options["rates_known"],
    )
    if votes.n_unknown:
        say(f"note: {n_of(votes.n_unknown, 'judged pair')} not in these lists left out")
    top = (lists.best_rank <= POOL_DEPTH) & ~lists.is_original
    missing = model.chances(lists, np.random.default_rng(options["seed"]))[top].sum() / lists.n_queries
    true, false = model.rates
    say(
        f"pilot: {n_of(len(votes.pair), 'pair')}, {n_of(int(votes.n_votes.sum()), 'vote')}: about "
        f"{missing:.1f} positives a query missing in the runs' top {POOL_DEPTH}; votes call {true:.0%} of "
        f"positives and {false:.1%} of others relevant"
    )
    return {PILOT: model}


def designs_given(lists: Lists, options: dict[str, Any]) -> list[Design]:
    """Return the designs by what is named, else the usual ones."""
    policies, overlap, deep = options["policies"], options["overlap"], options["deep_queries"]
    if options["settle"]:
        pools = [Design(depth=k) for k in (1, 5, 10)] + [Design(f"settle(C@{k})") for k in (1, 5, 10)]
        return [
            replace(pool, policy="verify", overlap=overlap) for pool in pools if pool.reach <= lists.depth
        ]
    if not (options["strategies"] or options["depths"] or options["per_query"] or deep):
        usual = usual_designs(lists, overlap=overlap)
        return [design for design in usual if not policies or design.policy in policies]
    pools = list(_pools(options["strategies"] or ("depth",), options["depths"], options["per_query"]))
    for pool in pools:
        if pool.reach > lists.depth:
            raise UsageError(f"{pool.pool}, but the runs are read down to rank {lists.depth}")
    return [
        replace(pool, policy=policy, overlap=overlap, deep_share=deep)
        for pool in pools
        for policy in (("verify",) if pool.settles else policies or POLICIES)
    ]


def _pools(strategies: Sequence[str], depths: Sequence[int], per_query: Sequence[int]) -> Iterator[Design]:
    for strategy in strategies:
        if strategy == "depth":
            yield from (Design(depth=depth) for depth in depths or (10,))
        elif strategy.startswith("settle"):
            yield Design(strategy)
        else:
            yield from (Design(strategy, per_query=n) for n in per_query or (10,))


def seconds_given(given: Given) -> float:
    """Return the median seconds of the workspace's judgments, nan where there are none."""
    path = made_file("judgments/judgments.csv")
    table = read_delimited(given.use(path), only=["duration_s"]) if path else None
    if table is None or "duration_s" not in table.columns:
        return math.nan
    return float(pd.to_numeric(table["duration_s"], errors="coerce").median())
