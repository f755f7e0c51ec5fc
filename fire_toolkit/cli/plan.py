"""`plan`: how many pairs, how deep, how often, before anybody judges."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import Range, format_option, made_file, n_of, say, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, judgments_from
from fire_toolkit.cli.options import measure_option, out_option, reads
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.cli.printing import drawn_cells, print_table, shown_as
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.measures import parse_measures
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.late import late_costs
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.pilot import PilotVotes, draw_pilot, pilot_votes
from fire_toolkit.planning.plan import DEPTH, MOST_QUERIES, RATES, Plan, plan_lists
from fire_toolkit.planning.relevance import POOL_DEPTH
from fire_toolkit.planning.words import MOST_WIDTH, Wish, plan_cells

_LATE = {
    "depth": ("depth", ""),
    "n_before": ("pairs before", ",.0f"),
    "n_added": ("added", ",.0f"),
    "share_added": ("share", ".0%"),
    "n_judgments": ("judgments", ",.0f"),
    "hours": ("hours", ",.0f"),
}


@click.command()
@reads(
    "runs",
    qrels="Original qrels: their queries are planned for, their positives are known.",
    queries="The queries: their own items (column reference) are left out.",
)
@measure_option
@click.option("--budget", metavar="N", help="At most N judgments, or hours of them, as in 80h.")
@click.option(
    "--seconds",
    type=Range(0, 86_400, min_open=True),
    help="Seconds that one judgment takes. [default: the median of the workspace's judgments]",
)
@click.option(
    "--tell",
    type=Range(0, 100, min_open=True),
    metavar="POINTS",
    help="Find the cheapest design that detects differences of this many points between any two runs.",
)
@click.option(
    "--within",
    type=Range(0, 100, min_open=True),
    metavar="POINTS",
    help="Find the cheapest design that gets every run's score right to this many points. [default: 2, "
    "without --tell]",
)
@click.option(
    "--draw-pilot", type=click.IntRange(min=1), metavar="N", help="Write a pool of N random pairs to --out."
)
@click.option(
    "--pilot", metavar="FILE", help="Judgments of such a pool, or any others of pairs chosen by rank."
)
@click.option(
    "--late",
    multiple=True,
    metavar="RUN",
    help="Show what a run that comes later would add (may be repeated).",
)
@click.option(
    "--all", "every", is_flag=True, help="Show more designs, and every estimate in a row of its own."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all draws.")
@format_option
@out_option
def plan(given: Given, measures: tuple[str, ...], **options: Any) -> None:
    """Plan how many pairs to judge and how often: cost, errors and detectable differences.

    Each row is a way to have the runs' tops judged, as deep as the measures read. Votes: one; verify, a
    second on each positive; until-confirmed, the same until one is confirmed; doubled; a third where two
    differ.
    "off by" is the expected error of a score in points, after the correction for errors of votes where there
    is one: + mostly too high, − too low, ± by chance.

    Without judgments these are ranges over assumptions. --draw-pilot writes a pool of random pairs for
    `tasks --overlap 1`; with their judgments as --pilot the numbers are of your own benchmark, and brackets
    hold what the pilot leaves open (95%). Only C@k and P@k are predicted: AP, nDCG and R hang on positives
    that nobody has looked for.
    """
    options["seed"] = seed = given.values["seed"]
    _refuse_unread(options)
    late = Given({**given.values, "runs": options["late"]}).runs_to(DEPTH + 1) if options["late"] else []
    lists = _lists(given, late, seed)
    if options["draw_pilot"]:
        _draw_pilot(given, lists, measures or PLANNED, options["draw_pilot"], seed)
        return
    seconds = options["seconds"] or _seconds(given)
    if late:
        table = late_costs(lists, [run_id_of(run) for run in late], seconds=seconds)
        print_table(table, given.form, shown_as(_LATE), basis=_basis(lists))
        given.keep(table, "plan", options)
        return
    votes = _votes(given, lists, options["pilot"]) if options["pilot"] else None
    points = {name: options[name] and options[name] / 100 for name in ("tell", "within")}
    planned = plan_lists(
        lists,
        measures or PLANNED,
        votes=votes,
        budget=_judgments(options["budget"], seconds),
        seconds=seconds,
        wish=Wish(**points) if any(points.values()) else None,
        every=options["every"],
        seed=seed,
    )
    _show(given, lists, planned, options["every"], votes)
    given.keep(planned.designs, "plan", {**options, "measures": list(measures or PLANNED)})
    chosen = "" if planned.best.empty else f" {planned.best['pool_options'].iloc[0]}"
    say_next(f"pool{chosen}", "RUN... --qrels QRELS --out pool")


def _refuse_unread(options: dict[str, Any]) -> None:
    """Raise UsageError for options that the others given would leave unread."""
    designing = ("pilot", "budget", "tell", "within", "every")
    for name, others in (("draw_pilot", ("late", *designing)), ("late", designing)):
        unread = next((each for each in others if options[name] and options[each]), None)
        if unread:
            shown = {"every": "all"}.get(unread, unread)
            raise UsageError(f"--{name.replace('_', '-')} does not read --{shown}; leave one of them out")


def _lists(given: Given, late: list[Any], seed: int) -> Lists:
    own_items = queries_own_items(given)
    runs = [*given.runs_to(DEPTH + 1 if own_items else DEPTH), *late]
    return lists_of(
        runs, given.original, depth=DEPTH, most_queries=MOST_QUERIES, seed=seed, own_items=own_items
    )


def _seconds(given: Given) -> float:
    """Return the median seconds of the workspace's judgments, nan where there are none."""
    path = made_file("judgments/judgments.csv")
    table = read_delimited(given.use(path), only=["duration_s"]) if path else None
    if table is None or "duration_s" not in table.columns:
        return math.nan
    return float(pd.to_numeric(table["duration_s"], errors="coerce").median())


def _judgments(budget: str | None, seconds: float) -> float | None:
    """Return a budget in judgments."""
    if budget is None:
        return None
    try:
        number = float(budget.removesuffix("h").replace(",", ""))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"--budget {budget}: expected judgments, as in 5000, or hours, as in 80h")
    if not budget.endswith("h"):
        return number
    if math.isnan(seconds):
        raise UsageError("a budget in hours needs the seconds that a judgment takes; give --seconds")
    return number * 3600 / seconds


def _votes(given: Given, lists: Lists, file: str) -> PilotVotes:
    """Return the pilot's votes on pairs of these lists, and say how many there are."""
    path = given.use(file)
    judgments = judgments_from(path)
    grades = grades_of(judgments, None)
    if grades is None:
        found = ", ".join(sorted(judgments["label"].unique())[:5])
        raise UsageError(
            f"{path}: no grade is known for labels {found}; expected 0 and 1, or a column guideline"
        )
    votes = pilot_votes(lists, judgments, judgments["label"].map(grades))
    left_out = (
        f"; {n_of(votes.n_unknown, 'judged pair')} not in these runs left out" if votes.n_unknown else ""
    )
    say(f"pilot: {n_of(len(votes.pair), 'pair')}, {n_of(int(votes.n_votes.sum()), 'vote')}{left_out}")
    return votes


def _draw_pilot(given: Given, lists: Lists, measures: Any, n_pairs: int, seed: int) -> None:
    """Write a pool of random pairs by band of ranks, as deep as the measures that can be predicted read."""
    depths = [measure.depth for measure in parse_measures(measures) if measure.depth]
    folder = given.out("plan/pilot")
    pool = draw_pilot(lists, n_pairs, depth=max([POOL_DEPTH, *depths]), seed=seed)
    counts = {"pairs": len(pool), "queries": int(pool["query_id"].nunique())}
    given.write(folder, {"pool.csv": pool}, "plan", {"draw_pilot": n_pairs, "seed": seed}, counts)
    sizes = pool.groupby("stratum", sort=False).size()
    sizes = sizes.sort_index(key=lambda names: names.str.split("-").str[0].astype(int))
    shown = ", ".join(f"{n:,} of ranks {band}" for band, n in sizes.items())
    say(f"{n_of(len(pool), 'pair')} of {n_of(counts['queries'], 'query')} in {folder / 'pool.csv'}: {shown}")
    known = f"--queries {given.hint('QUERIES')} --out {folder / 'tasks.json'}"
    say_next(f"tasks {folder} --overlap 1", known)


def _show(given: Given, lists: Lists, planned: Plan, every: bool, votes: PilotVotes | None) -> None:
    def draw(designs: pd.DataFrame, output_format: str) -> str:
        return drawn_cells(plan_cells(designs, every=every), output_format)

    true, false = RATES
    rates = "" if votes else f"; votes right on {true:.0%} of positives and {1 - false:.0%} of others"
    print_table(planned.designs, given.form, draw, basis=_basis(lists) + rates)
    for sentence in planned.sentences:
        say(textwrap.fill(sentence, MOST_WIDTH))


def _basis(lists: Lists) -> str:
    of_all = "" if lists.n_queries == lists.n_universe else f" of {lists.n_universe:,}, drawn at random"
    return f"{n_of(len(lists.run_ids), 'run')}; {lists.n_queries:,}{of_all} queries"
