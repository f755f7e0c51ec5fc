"""`coverage`: how much of a new run is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fire_toolkit import inference
from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import Measures, Original, OwnItem, OwnQueries, Runs, Table
from fire_toolkit.measures.defaults import COVERAGE
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Judgments, Qrels, check_pool
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of


@command
def coverage(
    runs: Runs,
    qrels: Original,
    augmented: Annotated[Qrels, Table("settled")],
    judgments: Annotated[Judgments | None, Table("earlier_judgments")] = None,
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    measures: Measures = COVERAGE,
    highest_grade: Annotated[int, Table("highest_grade", is_told=True)] = 1,
) -> Found:
    """Measure how much of a new run is judged, how far its scores can move, and what the rest would cost.

    --out writes the pairs to judge as a pool, for `tasks`.

    Args:
        runs: The runs, pooled or not.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        judgments: Earlier judgments: how long one takes, and how many a pair gets.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        measures: A measure, such as C@10; may be repeated.
        highest_grade: The highest grade that an unjudged doc can have.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> run = fire.run([[1, 2]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["x"], "relevance": 1}))
        >>> found = fire.coverage([run], qrels, qrels, measures=["C@1"])
        >>> found.table[["run_id", "augmented", "lower", "upper", "n_open"]]
          run_id  augmented  lower  upper  n_open
        0   clip        0.0    0.0    1.0       1
        >>> found.said
        ['clip: judged 0% at 1, 50% at 5, 50% at 10']
    """
    seconds, labels = float("nan"), 1.0
    said = []
    if judgments is not None:
        labels = len(judgments) / max(1, len(judgments.drop_duplicates(PAIR)))
        seconds = float(judgments["duration_s"].mean())
        said = [f"cost: {seconds:.1f} s a judgment and {labels:.2f} judgments a pair, as in the judgments"]
    found = inference.coverage(
        runs,
        qrels,
        augmented,
        measures,
        seconds=seconds,
        labels_per_pair=max(1.0, labels),
        highest_grade=highest_grade,
    )
    for run_id, own in found.judged.groupby("run_id", sort=False):
        shares = ", ".join(f"{row.judged:.0%} at {row.k}" for row in own.itertuples())
        said.append(f"{run_id}: judged {shares}")
    each = found.pairs.drop_duplicates(["run_id", *PAIR]).groupby(PAIR, sort=True)
    pool = check_pool(each.agg(best_rank=("rank", "min"), n_runs=("run_id", "nunique")).reset_index())
    return replace(
        found,
        said=said,
        written=pool,
        counts={"pairs": len(pool)},
        words=f"{n_of(len(pool), 'pair')} to judge in {{out}}",
        next=Next("tasks {out}", "--queries {QUERIES} --out {stem}.tasks.json"),
    )
