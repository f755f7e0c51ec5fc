"""`orders`: the order of runs under two labellings or more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from fire_toolkit.commands.command import column_of, command, unpooled
from fire_toolkit.commands.types import (
    ClusteredQueries,
    Clusters,
    FedRuns,
    OwnItem,
    Runs,
    ScoreMeasures,
    Table,
)
from fire_toolkit.inference.judged_pairs import Tell, silent
from fire_toolkit.inference.orders import compare_orders
from fire_toolkit.measures.defaults import SCORE
from fire_toolkit.results import Found
from fire_toolkit.tables import Qrels


@command
def orders(
    runs: Runs,
    labellings: Annotated[
        Mapping[str, Qrels], Table("labellings", option="--qrels", metavar="[NAME=]FILE", is_several=True)
    ],
    *,
    queries: ClusteredQueries = None,
    own_item: OwnItem = None,
    measures: ScoreMeasures = SCORE,
    show: Literal["agreement", "swaps", "scores"] = "agreement",
    clusters: Clusters = None,
    pooled_runs: FedRuns = None,
    tell: Tell = silent,
) -> Found:
    """Compare the order of runs under two or more qrels: original and augmented, or several rules.

    Tau and tau_AP say how alike the orders are; --show swaps gives, for every two runs, the chance that
    they would be ordered differently had other captions been drawn.

    Args:
        runs: The runs.
        labellings: Two qrels or more, the original first. [default: the workspace's original and augmented]
        queries: The queries, with own items and the columns that other options name.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        measures: A measure, such as C@10; may be repeated.
        show: Tau of the orders, every pair of runs, or every place.
        clusters: Intervals over whole clusters of queries, named by this column of the queries.
        pooled_runs: The runs that fed the pool; a note names the others.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> pairs = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "relevance": 1})
        >>> qrels = {"original": check_qrels(pairs[:1]), "augmented": check_qrels(pairs)}
        >>> found = fire.orders(runs, qrels, measures=["R@1"], show="scores")
        >>> found.table[["labelling", "run_id", "value", "place"]]
           labelling run_id  value  place
        0   original   clip    1.0      1
        1   original    ssb    0.0      2
        2  augmented   clip    0.5      1
        3  augmented    ssb    0.5      1
        >>> found.basis
        '2 runs; 1 query; original 1 pair, augmented 2 pairs'
    """
    by = column_of(queries, clusters)
    found = compare_orders(runs, labellings, measures, clusters=by, tell=tell)
    notes = [*found.notes, *(() if pooled_runs is None else unpooled(runs, pooled_runs))]
    return replace(found, notes=notes, shown=show)
