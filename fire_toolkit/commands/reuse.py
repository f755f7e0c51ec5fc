"""`reuse`: what scores and places are without each run's own judgments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fire_toolkit.commands.command import command, unpooled
from fire_toolkit.commands.types import (
    Augmented,
    Measures,
    Option,
    Original,
    OwnItem,
    OwnQueries,
    PoolOf,
    Runs,
)
from fire_toolkit.errors import UsageError
from fire_toolkit.inference import leave_out
from fire_toolkit.measures.defaults import REUSABILITY
from fire_toolkit.results import Found


def _families(given: tuple[str, ...]) -> dict[str, str]:
    families: dict[str, str] = {}
    for each in given:
        name, equals, members = each.partition("=")
        if not equals or not name or not members:
            raise UsageError(f"--family {each!r}; expected NAME=RUN,RUN, as in clip=clip-b,clip-l")
        for run_id in members.split(","):
            if run_id in families:
                raise UsageError(f"--family: run {run_id!r} is in {families[run_id]!r} and in {name!r}")
            families[run_id] = name
    return families


@command
def reuse(
    runs: Runs,
    qrels: Original,
    augmented: Augmented,
    pool_sources: PoolOf,
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    families: Annotated[
        Mapping[str, str] | None, Option(("--family",), metavar="NAME=RUN,RUN...", parse=_families)
    ] = None,
    measures: Measures = REUSABILITY,
    show: Literal["own", "orders", "all"] = "own",
) -> Found:
    """Leave out each run's own judgments, or a family's: how far do scores and places move?

    A run that falls far would have been underrated had it come later; so will be one like it.

    Args:
        runs: The runs.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        families: Runs that are left out together, run to family (may be repeated); the others one by one.
        measures: A measure, such as C@10; may be repeated.
        show: Each run left out, the orders that remain, or every run under each leaving-out.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> pairs = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "relevance": 1})
        >>> both, qrels = check_qrels(pairs), check_qrels(pairs[:1])
        >>> sources = fire.pool(runs, depth=1).pool_sources
        >>> fire.reuse(runs, qrels, both, sources, measures=["C@1"]).table[["run_id", "all", "without"]]
          run_id  all  without
        0   clip  1.0      1.0
        3    ssb  1.0      0.0
    """
    found = leave_out(runs, qrels, augmented, measures, sources=pool_sources, families=families)
    own = found.scores[found.scores["is_left_out"]].drop(columns="is_left_out")
    tables = {"own": own, "orders": found.orders, "all": found.scores}
    fed = set(pool_sources["run_id"].unique())
    return Found(tables, [*found.notes, *unpooled(runs, fed)], shown=show)
