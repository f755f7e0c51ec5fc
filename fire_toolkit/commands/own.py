"""`own`: what each run brought to the pool."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from fire_toolkit import inference
from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import LabelsOf, Original, OwnItem, OwnQueries, PoolOf
from fire_toolkit.results import Found


@command
def own(
    pool_sources: PoolOf,
    labels: LabelsOf,
    qrels: Original,
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    show: Literal["runs", "sets"] = "runs",
) -> Found:
    """Count the pairs that each run pooled, those that it alone pooled, and how they were judged.

    Original positives that were confirmed are counted apart from new positives. What a run's own pairs
    change in the scores of a measure, `reuse -m` and `report table4 -m` say.

    Args:
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        labels: The labels: labels.csv, or its folder.
        qrels: The original qrels; their queries count.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        show: Count by run, or by set of runs, as an UpSet plot does.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_labels, check_qrels
        >>> run = fire.run([[2, 1]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["x"], "relevance": 1}))
        >>> pairs = {"query_id": "q", "doc_id": ["x", "y"], "label": "match", "relevance": 1}
        >>> sources = fire.pool([run], depth=2).pool_sources
        >>> found = fire.own(sources, check_labels(pd.DataFrame(pairs)), qrels)
        >>> found.table[["run_id", "n_pooled", "confirmed", "new"]]
          run_id  n_pooled  confirmed  new
        0   clip         2          1    1
        >>> found.basis
        '1 query; 1 pair in the original qrels; 2 labels; 2 pairs in the pool'
    """
    return replace(inference.contributions(pool_sources, labels, qrels), shown=show)
