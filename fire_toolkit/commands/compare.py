"""`compare`: runs against one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from fire_toolkit.commands.command import command, queries_of_lists
from fire_toolkit.commands.types import Option, OwnItem, OwnQueries, Table
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.results import Found, drawn_text
from fire_toolkit.tables import Comparisons, Run


@command
def compare(
    runs: Annotated[Run | Sequence[Run], Table("top_runs")],
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    depth: Annotated[int | Sequence[int], Option(setting=("compare", "depth"), least=1)] = 10,
    rbo_p: Annotated[float | Sequence[float], Option(setting=("compare", "rbo_p"))] = 0.9,
    ties: Literal["broken", "w", "a", "b"] = "broken",
    per_query: bool = False,
) -> Found:
    """Compare the rankings of two runs or more, pair by pair: overlap and rank-biased overlap.

    Values are means over the queries that both runs have, from 0 (disjoint) to 1 (the same). The measures
    are fixed: overlap and average overlap at each --depth, and RBO (truncated, extrapolated, least and
    residual) for each --rbo-p. No qrels are needed; `difference -m` compares the scores of runs.

    Args:
        runs: The runs.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        depth: Compare the docs down to this rank (may be repeated).
        rbo_p: RBO's persistence, between 0 and 1 (may be repeated).
        ties: Docs of equal score: in rank order, or tied (variants of Corsi and Urbano 2024).
        per_query: Also give the value of each query.

    Examples:
        >>> import fire_toolkit as fire
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> found = fire.compare(runs, depth=2)
        >>> found.table[["run_a", "run_b", "measure", "value"]].head(2)
          run_a run_b            measure  value
        0  clip   ssb          overlap@2    1.0
        1  clip   ssb  average_overlap@2    0.5
        >>> found.basis
        '2 runs; 1 query; top 2; ties broken'
    """
    found = compare_runs(runs, depth=depth, rbo_p=rbo_p, ties=ties, per_query=per_query)
    depths = [depth] if isinstance(depth, int) else depth
    more = [queries_of_lists(runs), f"top {', '.join(map(str, depths))}", f"ties {ties}"]
    place = "" if per_query else "comparison/comparison.csv"
    return replace(found, more=more, draw=_drawn, is_long=per_query, place=place)


def _drawn(comparisons: Comparisons, form: str) -> str:
    keys = zip(*(comparisons[name] for name in ("run_a", "run_b", "measure")), strict=True)
    values = dict(zip(keys, comparisons["value"], strict=True))
    measures = list(dict.fromkeys(comparisons["measure"]))
    pairs = dict.fromkeys(zip(comparisons["run_a"], comparisons["run_b"], strict=True))
    rows = [[f"{a} & {b}", *(f"{values[a, b, measure]:.4f}" for measure in measures)] for a, b in pairs]
    header = [name.replace("(", "\n(") for name in measures] if form == "table" else measures
    return drawn_text(rows, ["runs", *header], form)
