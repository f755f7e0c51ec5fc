"""Whether queries are usable: what annotators said of captions that they saw alone, and one label a query.

In a campaign on captions alone a task's doc is `*`, which no pair of a query and an item has. Its judgments
and labels stay apart from those of pairs.
"""

from __future__ import annotations

from typing import NewType

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.tables.checks import Column, TableSpec, check_table

QueryValidity = NewType("QueryValidity", pd.DataFrame)
QueryLabels = NewType("QueryLabels", pd.DataFrame)

ALONE = "*"  # the doc of a query that is shown without an item

QUERY_VALIDITY = TableSpec(
    "query validity",
    (
        Column("annotator_id", "id"),
        Column("query_id", "id"),
        Column("label", "id"),
        Column("flags", "text", optional=True, missing=True),
        Column("guideline", "id"),
        Column("guideline_sha256", "id"),
        Column("created_at", "text", optional=True, missing=True),
    ),
    ("annotator_id", "query_id"),
    order=("query_id", "annotator_id"),
    extra=True,
)
QUERY_LABELS = TableSpec(
    "query labels",
    (
        Column("query_id", "id"),
        Column("label", "id"),
        Column("is_usable", "bool"),
        Column("n_votes", "int", minimum=0),
        Column("n_agree", "int", minimum=0),
        Column("flags", "text", optional=True, missing=True),
    ),
    ("query_id",),
    extra=True,
)


def check_query_validity(table: pd.DataFrame, *, where: str = "") -> QueryValidity:
    """Return `table` as QueryValidity, or raise `TableError` with all that is wrong with it.

    One row for each annotator and query; guideline_sha256: the hash of the guideline that was shown;
    flags: joined by `;`; created_at: UTC, ISO 8601. Further columns are kept.
    """
    return QueryValidity(check_table(QUERY_VALIDITY, table, where=where))


def check_query_labels(table: pd.DataFrame, *, where: str = "") -> QueryLabels:
    """Return `table` as QueryLabels, or raise `TableError` with all that is wrong with it.

    One row for each query with a label; is_usable: whether the label's grade is 1 or more; n_votes, n_agree:
    votes on it, and those for the label; flags: what any annotator set, joined by `;`. Further columns are
    kept.
    """
    return QueryLabels(check_table(QUERY_LABELS, table, where=where))


def refuse_alone(doc_ids: pd.Series, what: str) -> None:
    """Raise `JoinError` where docs of pairs are those of queries that were shown alone."""
    if (doc_ids == ALONE).any():
        raise JoinError(
            f"{what}: doc {ALONE!r} marks captions that were judged alone; they say nothing of pairs of a "
            "caption and an item, expected those of a campaign on pairs"
        )
