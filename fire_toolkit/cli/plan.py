"""`plan`: how many pairs, how deep, how often, before anybody judges."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import (
    format_option,
    made_file,
    n_of,
    say,
    say_next,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.meter import Meter
from fire_toolkit.cli.options import measure_option, out_option, reads
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.cli.printing import drawn_cells, print_table
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.planning.designs import POLICIES, Design, parse_pool, usual_designs
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.plan import (
    DEPTH,
    MEASURES,
    MOST_QUERIES,
    N_REPEATS,
    OVERLAP,
    RATES,
    Plan,
    assumed_worlds,
    plan_designs,
)
from fire_toolkit.planning.relevance import ASSUMPTIONS
from fire_toolkit.planning.table import Wish
from fire_toolkit.planning.words import cost_plot, paragraph, plan_cells, sentences


@click.command()
@reads(
    "runs",
    qrels="Original qrels: their queries are planned for, their positives are known.",
    queries="The queries: their own items (column reference) are left out.",
)
@measure_option
@click.option("--budget", type=click.FloatRange(min=1), metavar="PAIRS", help="Pairs that can be asked.")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), metavar="H", help="Hours of judging.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="What one judgment takes. [default: the median of the workspace's judgments]",
)
@click.option(
    "--tell",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="POINTS",
    help="Find the cheapest design that tells differences of so many points of the first measure.",
)
@click.option(
    "--within",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="POINTS",
    help="Find the cheapest design that has every run's first measure right to so many points.",
)
@click.option(
    "--pool", "pools", multiple=True, metavar="POOL", help="depth(10), rrf(10), settle(C@10), deep(10)."
)
@click.option(
    "--votes", "policies", multiple=True, type=click.Choice(POLICIES), help="How often pairs are asked."
)
@click.option(
    "--overlap",
    type=click.FloatRange(0, 1),
    default=OVERLAP,
    show_default=True,
    help="Share of pairs that two people judge, for alpha.",
)
@click.option(
    "--rates",
    nargs=2,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=RATES,
    show_default=True,
    help="How often a vote calls a positive relevant, and how often another doc.",
)
@click.option(
    "--assume",
    "assumed",
    multiple=True,
    metavar="NAME",
    help="low, middle, high, or how many positives a query are missing in the top 10. [default: all three]",
)
@click.option(
    "--depth", type=click.IntRange(min=1), default=DEPTH, show_default=True, help="Rank looked down to."
)
@click.option(
    "--most-queries",
    type=click.IntRange(min=40),
    default=MOST_QUERIES,
    show_default=True,
    help="Simulate on at most so many queries, drawn at random.",
)
@click.option(
    "--repeats", type=click.IntRange(min=2), default=N_REPEATS, show_default=True, help="Simulations."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all draws.")
@click.option("--plot", metavar="FILE", help="Write cost against error as a Vega-Lite specification.")
@click.option(
    "--paragraph", "latex", metavar="FILE", help="Write the cheapest design as a paragraph of LaTeX."
)
@format_option
@out_option
def plan(given: Given, measures: tuple[str, ...], **options: Any) -> None:
    """Plan how many pairs to ask, how deep and how often: cost, errors, and the differences that are told.

    Simulates designs on the runs themselves. Without judgments nobody knows how many positives the qrels
    leave out, so each number comes three times, low/middle/high, as other benchmarks have it.

    Pools: depth(K), the top K of every run; rrf(N), the N first pairs of each query by reciprocal rank
    fusion; settle(C@K), what can still decide C@K; deep(K), and a random tenth of the queries to --depth.
    Votes: one; verify, a second on each positive; until-confirmed, the same until one is confirmed; doubled;
    a third always where two differ.

    found: the share of the positives in the runs' top --depth that are asked. Each measure: how many points
    it is off, + too high, − too low, ± by chance. tells: the least true difference of two runs that is told,
    at 80% power and 5%, after Holm.
    """
    names = measures or MEASURES
    options["seed"] = given.values["seed"]
    lists = _lists(given, options)
    seconds = options["seconds"] or _seconds(given)
    wish = _wish(names[0], options["tell"], options["within"])
    worlds = assumed_worlds(lists, options["assumed"], rates=options["rates"])
    designs = _designs(lists, options)
    n_steps = len(worlds) * len(designs) * options["repeats"]
    with Meter("simulations", n_steps) as meter:
        planned = plan_designs(
            lists,
            worlds,
            names,
            designs=designs,
            budget=options["budget"],
            hours=options["hours"],
            seconds=seconds,
            wish=wish,
            n_repeats=options["repeats"],
            seed=options["seed"],
            tell=meter,
        )
    print_table(planned.designs, given.form, _drawn, basis=_basis(lists, options))
    _say(planned, wish, names[0])
    _write(given, lists, planned, options, wish)
    say_next("pool", "RUN... --qrels QRELS --out pool")


def _lists(given: Given, options: dict[str, Any]) -> Lists:
    own_items = queries_own_items(given)
    depth = options["depth"]
    return lists_of(
        given.runs_to(depth + 1 if own_items else depth),
        given.original,
        depth=depth,
        most_queries=options["most_queries"],
        seed=options["seed"],
        own_items=own_items,
    )


def _designs(lists: Lists, options: dict[str, Any]) -> list[Design]:
    """Return the designs by the pools and votes named, else the usual ones."""
    policies, overlap = options["policies"], options["overlap"]
    if not options["pools"]:
        usual = usual_designs(lists, overlap=overlap)
        return [design for design in usual if not policies or design.policy in policies]
    pools = [parse_pool(text) for text in options["pools"]]
    for strategy, depth in pools:
        if strategy != "rrf" and depth > lists.depth:
            raise UsageError(f"{strategy} to rank {depth}, but the runs are looked at down to {lists.depth}")
    return [
        Design(strategy, depth, policy, overlap)
        for strategy, depth in pools
        for policy in (("verify",) if strategy == "settle" else policies or POLICIES)
    ]


def _seconds(given: Given) -> float:
    """Return the median seconds of the workspace's judgments, nan where there are none."""
    path = made_file("judgments/judgments.csv")
    table = read_delimited(given.use(path), only=["duration_s"]) if path else None
    if table is None or "duration_s" not in table.columns:
        return math.nan
    return float(pd.to_numeric(table["duration_s"], errors="coerce").median())


def _wish(measure: str, tell: float | None, within: float | None) -> Wish | None:
    if tell is None and within is None:
        return None
    return Wish(measure, *(None if points is None else points / 100 for points in (tell, within)))


def _drawn(designs: pd.DataFrame, output_format: str) -> str:
    rows = plan_cells(designs)
    if all(not row["hours"] for row in rows):
        rows = [{name: cell for name, cell in row.items() if name != "hours"} for row in rows]
    return drawn_cells(rows, output_format)


def _basis(lists: Lists, options: dict[str, Any]) -> str:
    """Return what the numbers are of, in words."""
    of_all = "" if lists.n_queries == lists.n_universe else f" of {lists.n_universe:,}, drawn at random"
    true, false = options["rates"]
    return "; ".join(
        [
            f"{n_of(len(lists.run_ids), 'run')} to rank {lists.depth}",
            f"{lists.n_queries:,}{of_all} queries",
            f"votes right on {true:.0%} of positives and {1 - false:.0%} of others",
            f"{options['repeats']} repetitions, seed {options['seed']}",
            "what no run has so deep is not among the positives",
        ]
    )


def _say(planned: Plan, wish: Wish | None, first: str) -> None:
    for each in ASSUMPTIONS:
        if (planned.designs["world"] == each.name).any():
            say(f"{each.name}: {each.missing} positives a query missing in the runs' top 10, {each.source}")
    for line in sentences(planned.designs, planned.best, wish, first):
        say(line)


def _write(given: Given, lists: Lists, planned: Plan, options: dict[str, Any], wish: Wish | None) -> None:
    parameters = {name: value for name, value in options.items() if name not in ("plot", "latex")}
    given.keep(planned.designs, "plan", parameters)
    if options["plot"]:
        _write_text(
            given, options["plot"], json.dumps(cost_plot(planned.designs), indent=1) + "\n", parameters
        )
    if options["latex"]:
        if planned.best.empty:
            raise UsageError("--paragraph describes the design that fulfils a wish; give --tell or --within")
        row = planned.best.iloc[len(planned.best) // 2]
        text = paragraph(
            row,
            source=f"with the assumption ``{row['world']}''",
            n_runs=len(lists.run_ids),
            depth=lists.depth,
            seed=options["seed"],
        )
        _write_text(given, options["latex"], text, parameters)


def _write_text(given: Given, file: str, text: str, parameters: dict[str, Any]) -> None:
    given.write(Path(file), {Path(file).name: text}, "plan", parameters)
