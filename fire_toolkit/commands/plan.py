"""`plan`: how many pairs, how deep, how often, before anybody judges."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import Measures, Option, Original, PooledQueries, Table
from fire_toolkit.errors import UsageError
from fire_toolkit.measures import parse_measures
from fire_toolkit.measures.defaults import PLANNED
from fire_toolkit.planning.lists import Lists, draw_pilot, lists_of, pilot_votes
from fire_toolkit.planning.plan import DEPTH, MOST_QUERIES, RATES, plan_lists
from fire_toolkit.planning.relevance import POOL_DEPTH
from fire_toolkit.planning.words import MOST_WIDTH, Wish, judgments_of, plan_text
from fire_toolkit.resolution.resolve import grades_or_usual
from fire_toolkit.resolution.votes import Grades
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Judgments, Run
from fire_toolkit.words import n_of


@command
def plan(
    runs: Annotated[Run | Sequence[Run], Table("planned_runs")],
    qrels: Original,
    *,
    queries: PooledQueries = None,
    measures: Measures = PLANNED,
    budget: Annotated[str | None, Option(metavar="N")] = None,
    seconds: Annotated[float | None, Option(least=0, most=86_400, is_above=True)] = None,
    so_far: Annotated[float, Table("seconds_so_far", is_told=True)] = math.nan,
    points: Annotated[
        float | None, Option(("--tell",), metavar="POINTS", least=0, most=100, is_above=True)
    ] = None,
    within: Annotated[float | None, Option(metavar="POINTS", least=0, most=100, is_above=True)] = None,
    n_drawn: Annotated[int | None, Option(("--draw-pilot",), metavar="N", least=1)] = None,
    pilot: Annotated[Judgments | None, Table("pilot")] = None,
    grades: Annotated[Grades | None, Table("grades_of_pilot", takes="Grades | None", is_told=True)] = None,
    every: Annotated[bool, Option(("--all",))] = False,
    seed: Annotated[int, Option(least=0)] = 0,
) -> Found:
    """Plan how many pairs to judge and how often: cost, errors and detectable differences.

    Each row is a way to have the runs' tops judged, as deep as the measures read. Votes: one; verify, a
    second on each positive; until-confirmed, the same until one is confirmed; doubled; a third where two
    differ. "off by" is the expected error of a score in points: + mostly too high, − mostly too low, ± by
    chance.

    Without judgments the numbers are ranges over assumptions. --draw-pilot N --out FILE writes a pool of
    random pairs for `tasks --overlap 1`; with their judgments as --pilot the numbers are of your own
    benchmark, with 95% intervals in brackets. Only C@k and P@k are predicted.

    Args:
        runs: The runs.
        qrels: The original qrels: their queries are planned for, their positives are known.
        queries: The queries: their own items (column reference) are left out.
        measures: A measure, such as C@10; may be repeated.
        budget: At most N judgments, or hours of them, as in 80h.
        seconds: Seconds that one judgment takes. [default: the median of the workspace's judgments]
        so_far: The median seconds of the judgments so far, which count where no others are given.
        points: Find the cheapest design that detects differences of this many points between any two runs.
        within: Find the cheapest design that gets every run's score right to this many points. [default: 2,
            without --tell]
        n_drawn: Draw a pool of N random pairs, which --out writes for `tasks`.
        pilot: Judgments of such a pool, or any others of pairs chosen by rank.
        grades: The grade of each label of the pilot; those that labels spell, unless given.
        every: Show all designs, and every estimate in a row of its own.
        seed: Seed of all draws.

    Examples:
        >>> import numpy as np
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> queries, scores = [f"q{n}" for n in range(60)], np.random.default_rng(0).random((2, 60, 8))
        >>> runs = [fire.run(each, name, query_ids=queries, doc_ids=list("abcdefgh"))
        ...         for name, each in zip(["clip", "ssb"], scores)]
        >>> originals = check_qrels(pd.DataFrame({"query_id": queries, "doc_id": "a", "relevance": 1}))
        >>> found = fire.plan(runs, originals, measures=["C@1", "AP"])
        >>> found.table[["design", "policy", "measure"]].values.tolist()[0]
        ['depth 1', 'one', 'C@1']
    """
    lists = lists_of(runs, qrels, depth=DEPTH, most_queries=MOST_QUERIES, seed=seed, own_items=queries)
    wishes = {"tell": points, "within": within}
    if n_drawn:
        others = {"pilot": pilot, "budget": budget, **wishes, "all": every or None}
        if unread := next((name for name, value in others.items() if value is not None), None):
            raise UsageError(f"--draw-pilot does not read --{unread}; leave one of them out")
        return _drawn_pilot(lists, n_drawn, measures, seed)
    votes, rests_on = None, [f"votes right on {RATES[0]:.0%} of positives and {1 - RATES[1]:.0%} of others"]
    if pilot is not None:
        judged = pilot_votes(lists, pilot, pilot["label"].map(grades_or_usual(pilot, grades)))
        votes = judged[judged["pair"] >= 0]
        rests_on = [f"a pilot of {n_of(len(votes), 'pair')}, {n_of(int(votes['n_votes'].sum()), 'vote')}"]
        if n_unknown := len(judged) - len(votes):
            rests_on.append(f"{n_of(n_unknown, 'judged pair')} not in these runs left out")
    seconds = so_far if seconds is None else seconds
    wish = Wish(*(each and each / 100 for each in (points, within or (None if points else 2))))
    found = plan_lists(
        lists,
        measures,
        votes=votes,
        budget=judgments_of(budget, seconds),
        seconds=seconds,
        wish=wish,
        seed=seed,
    )
    chosen = "" if found.best.empty else f" {found.best['pool_options'].iloc[0]}"
    return replace(
        found,
        more=[*_of_queries(lists), *rests_on],
        said=[line for each in found.said for line in textwrap.wrap(each, MOST_WIDTH)],
        draw=partial(plan_text, every=every),
        next=Next(f"pool{chosen}", "{RUNS} --qrels {QRELS} --out pool"),
    )


def _drawn_pilot(lists: Lists, n_pairs: int, measures: Sequence[str], seed: int) -> Found:
    """Return a pool of random pairs by band of ranks, as deep as the measures that can be predicted read."""
    depths = [measure.depth for measure in parse_measures(measures) if measure.depth]
    pool = draw_pilot(lists, n_pairs, depth=max([POOL_DEPTH, *depths]), seed=seed)
    of_bands = pool.sort_values("best_rank").groupby("stratum", sort=False)
    bands = of_bands.agg(n_pairs=("doc_id", "size"), probability=("inclusion_probability", "first"))
    queries = int(pool["query_id"].nunique())
    return Found(
        {"bands": bands.reset_index(names="ranks"), "pool": pool},
        more=_of_queries(lists),
        written=pool,
        counts={"pairs": len(pool), "queries": queries},
        words=f"{n_of(len(pool), 'pair')} of {n_of(queries, 'query')} in {{out}}",
        next=Next("tasks {out} --overlap 1", "--queries {QUERIES} --out {stem}.tasks.json"),
    )


def _of_queries(lists: Lists) -> list[str]:
    is_part = lists.n_queries < lists.n_universe
    return [f"{lists.n_queries:,} of the queries, drawn at random"] if is_part else []
