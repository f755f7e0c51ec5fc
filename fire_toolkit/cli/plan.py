"""`plan`: how many pairs, how deep, how often, before anybody judges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import Range, format_option, n_of, say, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.meter import Meter
from fire_toolkit.cli.options import measure_option, out_option, reads
from fire_toolkit.cli.plan_inputs import (
    designs_given,
    lists_given,
    refuse_unread,
    seconds_given,
    worlds_given,
)
from fire_toolkit.cli.printing import drawn_cells, print_table, shown_as
from fire_toolkit.errors import UsageError
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.designs import POLICIES
from fire_toolkit.planning.doubt import n_simulations
from fire_toolkit.planning.late import late_costs
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.pilot import draw_pilot
from fire_toolkit.planning.plan import (
    DEPTH,
    MOST_QUERIES,
    N_REPEATS,
    OVERLAP,
    RATES,
    Plan,
    plan_worlds,
)
from fire_toolkit.planning.relevance import ASSUMPTIONS, RelevanceModel
from fire_toolkit.planning.table import Wish
from fire_toolkit.planning.words import cost_plot, paragraph, plan_cells, sentences

_LATE = {
    "world": ("positives", ""),
    "depth": ("depth", ""),
    "n_before": ("pairs before", ",.0f"),
    "n_added": ("added", ",.0f"),
    "share_added": ("share", ".0%"),
    "n_judgments": ("judgments", ",.0f"),
    "hours": ("hours", ",.0f"),
    "n_positives": ("new positives", ",.0f"),
}


@click.command()
@reads(
    "runs",
    qrels="Original qrels: their queries are planned for, their positives are known.",
    queries="The queries: their own items (column reference) are left out.",
)
@measure_option
@click.option("--budget", type=Range(min=1), metavar="PAIRS", help="The budget in pairs.")
@click.option("--hours", type=Range(min=0, min_open=True), metavar="H", help="Hours of judging.")
@click.option(
    "--seconds",
    type=Range(0, 86_400, min_open=True),
    help="Seconds that one judgment takes. [default: the median of the workspace's judgments]",
)
@click.option(
    "--tell",
    type=Range(0, 100, min_open=True),
    metavar="POINTS",
    help="Find the cheapest design that detects differences of this many points in the first measure.",
)
@click.option(
    "--within",
    type=Range(0, 100, min_open=True),
    metavar="POINTS",
    help="Find the cheapest design whose error in every run's first measure is at most this many points.",
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    metavar="NAME",
    help="As for `pool`: depth, rrf(k=60), rbp(p=.95), …, or settle(C@10).",
)
@click.option("--depth", "depths", multiple=True, type=click.IntRange(min=1), help="For the strategy depth.")
@click.option(
    "--per-query", multiple=True, type=click.IntRange(min=1), metavar="N", help="Of other strategies."
)
@click.option(
    "--deep-queries",
    type=Range(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Judge this share of the queries, drawn at random, to --deep-depth.",
)
@click.option(
    "--votes", "policies", multiple=True, type=click.Choice(POLICIES), help="Which pairs get further votes."
)
@click.option(
    "--overlap",
    type=Range(0, 1),
    default=OVERLAP,
    show_default=True,
    help="Share of pairs that two people judge, for alpha.",
)
@click.option(
    "--rates",
    nargs=2,
    type=Range(0, 1, min_open=True, max_open=True),
    default=RATES,
    show_default=True,
    help="How often a vote calls a positive relevant, and how often another doc.",
)
@click.option(
    "--rates-known",
    is_flag=True,
    help="Use --rates as given: they rest on many more votes than the pilot's (see `score --honest`).",
)
@click.option(
    "--assume",
    "assumed",
    multiple=True,
    metavar="NAME",
    help="low, middle, high, or how many positives a query are missing in the top 10. [default: all three]",
)
@click.option(
    "--deep-depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="Deepest rank read.",
)
@click.option(
    "--most-queries",
    type=click.IntRange(min=40),
    default=MOST_QUERIES,
    show_default=True,
    help="Simulate on at most this many queries, drawn at random.",
)
@click.option(
    "--repeats", type=click.IntRange(2, 10_000), default=N_REPEATS, show_default=True, help="Simulations."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all draws.")
@click.option(
    "--settle", is_flag=True, help="Show what settling C@1, C@5 and C@10 would cost, beside whole pools."
)
@click.option(
    "--late",
    multiple=True,
    metavar="RUN",
    help="Show what a run that comes later would add (may be repeated).",
)
@click.option(
    "--draw-pilot", type=click.IntRange(min=1), metavar="N", help="Write a pool of N random pairs to --out."
)
@click.option(
    "--pilot", metavar="FILE", help="Judgments of such a pool, or any others: how many positives there are."
)
@click.option("--guideline", metavar="NAME", help="The guideline that the pilot was judged by.")
@click.option("--plot", metavar="FILE", help="Write cost against error as a Vega-Lite specification.")
@click.option(
    "--paragraph",
    "latex",
    metavar="FILE",
    help="Write the cheapest design, or the only one, as a paragraph of LaTeX.",
)
@format_option
@out_option
def plan(given: Given, measures: tuple[str, ...], **options: Any) -> None:
    """Plan how many pairs to judge, how deep and how often: cost, errors and detectable differences.

    Simulates designs on the runs themselves. Without judgments nobody knows how many positives the qrels
    leave out, so numbers come three times, low/middle/high, as other benchmarks have it. --draw-pilot writes
    a pool of a few hundred random pairs for `tasks --overlap 1`; with their judgments as --pilot the numbers
    are of your own benchmark.

    Strategies: depth, the top --depth of every run; any other of `pool` that needs no answers, the first
    --per-query pairs of each query; settle(C@k), what can still decide C@k. Votes: one; verify, a second on
    each positive; until-confirmed, the same until one is confirmed; doubled; a third where two differ.

    found: the share of the positives in the runs' top --deep-depth that are asked. Each measure: how many
    points it is off, + too high, − too low, ± by chance; in brackets, what a pilot leaves open of it (95%).
    tells: the least true difference of two runs that is told, at 80% power and 5%, after Holm.
    """
    options["seed"] = given.values["seed"]
    refuse_unread(options)
    lists = lists_given(given, options)
    if options["draw_pilot"]:
        _draw_pilot(given, lists, options["draw_pilot"], options["seed"])
        return
    options["seconds"] = options["seconds"] or seconds_given(given)
    worlds = worlds_given(given, lists, options)
    if options["late"]:
        _show_late(given, lists, worlds, options)
        return
    names = measures or PLANNED
    wish = _wish(names[0], options["tell"], options["within"])
    planned = _planned(lists, worlds, names, wish, options)
    print_table(planned.designs, given.form, _drawn, basis=_basis(lists, worlds, options))
    _say(planned, wish, names[0])
    _write(given, lists, planned, {**options, "measures": list(names)})
    chosen = "" if planned.best.empty else f" {_middle(planned.best)['pool_options']}"
    say_next(f"pool{chosen}", "RUN... --qrels QRELS --out pool")


def _planned(
    lists: Lists,
    worlds: dict[str, RelevanceModel],
    measures: Sequence[str],
    wish: Wish | None,
    options: dict[str, Any],
) -> Plan:
    designs = designs_given(lists, options)
    if options["latex"] and wish is None and len(designs) > 1:
        raise UsageError(
            "--paragraph: which design? Give --tell or --within, or name one, as in --depth 10 --votes verify"
        )
    each = sum(n_simulations(model, options["repeats"]) for model in worlds.values())
    with Meter("simulations", len(designs) * each) as meter:
        return plan_worlds(
            lists,
            worlds,
            measures,
            designs=designs,
            budget=options["budget"],
            hours=options["hours"],
            seconds=options["seconds"],
            wish=wish,
            n_repeats=options["repeats"],
            seed=options["seed"],
            tell=meter,
        )


def _draw_pilot(given: Given, lists: Lists, n_pairs: int, seed: int) -> None:
    """Write a pool of random pairs by band of ranks."""
    folder = given.out("plan/pilot")
    pool = draw_pilot(lists, n_pairs, seed=seed)
    counts = {"pairs": len(pool), "queries": int(pool["query_id"].nunique())}
    given.write(folder, {"pool.csv": pool}, "plan", {"draw_pilot": n_pairs, "seed": seed}, counts)
    bands = (
        pool.groupby("stratum", sort=False)
        .size()
        .sort_index(key=lambda names: names.str.split("-").str[0].astype(int))
    )
    shown = ", ".join(f"{n:,} of ranks {band}" for band, n in bands.items())
    say(f"{n_of(len(pool), 'pair')} of {n_of(counts['queries'], 'query')} in {folder / 'pool.csv'}: {shown}")
    known = f"--queries {given.hint('QUERIES')} --out {folder / 'tasks.json'}"
    say_next(f"tasks {folder} --overlap 1", known)


def _show_late(
    given: Given, lists: Lists, worlds: dict[str, RelevanceModel], options: dict[str, Any]
) -> None:
    """Print what the late runs add to the pool of the others."""
    table = late_costs(
        lists,
        options["late"],
        worlds,
        depths=options["depths"] or (5, 10, 20),
        overlap=options["overlap"],
        seconds=options["seconds"],
        seed=options["seed"],
    )
    print_table(table, given.form, shown_as(_LATE), basis=_basis(lists, worlds, options))
    given.keep(table, "plan", _parameters(options))


def _wish(measure: str, tell: float | None, within: float | None) -> Wish | None:
    if tell is None and within is None:
        return None
    return Wish(measure, *(None if points is None else points / 100 for points in (tell, within)))


def _drawn(designs: pd.DataFrame, output_format: str) -> str:
    return drawn_cells(plan_cells(designs), output_format)


def _basis(lists: Lists, worlds: dict[str, RelevanceModel], options: dict[str, Any]) -> str:
    """Return what the numbers are of, in words."""
    of_all = "" if lists.n_queries == lists.n_universe else f" of {lists.n_universe:,}, drawn at random"
    true, false = next(iter(worlds.values())).rates
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


def _write(given: Given, lists: Lists, planned: Plan, options: dict[str, Any]) -> None:
    parameters, latex = _parameters(options), ""
    if options["latex"]:
        row = _described(planned, options)
        by_pilot = "with positives as a pilot suggests"
        source = by_pilot if row["world"] == "pilot" else f"with the assumption ``{row['world']}''"
        latex = paragraph(
            row, source=source, n_runs=len(lists.run_ids), depth=lists.depth, seed=options["seed"]
        )
    given.keep(planned.designs, "plan", parameters)
    if options["plot"]:
        _write_text(
            given, options["plot"], json.dumps(cost_plot(planned.designs), indent=1) + "\n", parameters
        )
    if latex:
        _write_text(given, options["latex"], latex, parameters)


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("plot", "latex")}


def _described(planned: Plan, options: dict[str, Any]) -> pd.Series:
    """Return the row that a paragraph describes: of the cheapest design, or the first of the only one.

    Raises:
        UsageError: none does what is wished.
    """
    if not planned.best.empty:
        return _middle(planned.best)
    designs = planned.designs
    if options["tell"] or options["within"]:
        raise UsageError("--paragraph: none of these designs does what is wished, so none is described")
    return _middle(designs.groupby("world", sort=False).head(1))


def _middle(best: pd.DataFrame) -> pd.Series:
    """Return the design of the middle world of those that have one."""
    return best.iloc[len(best) // 2]


def _write_text(given: Given, file: str, text: str, parameters: dict[str, Any]) -> None:
    given.write(Path(file), {Path(file).name: text}, "plan", parameters)
