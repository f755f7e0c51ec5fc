"""Whether queries are usable: what annotators said of captions that they saw alone, and one label a query.

In a campaign on captions alone a task's doc is `*`, which no pair of a query and an item has. Its judgments
and labels stay apart from those of pairs.
"""

from __future__ import annotations

from typing import NewType

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.tables.checks import Column, TableSpec, checks_as, columns_of, if_any

QueryValidity = NewType("QueryValidity", pd.DataFrame)
QueryLabels = NewType("QueryLabels", pd.DataFrame)

ALONE = "*"  # the doc of a query that is shown without an item

QUERY_VALIDITY = TableSpec(
    "query validity",
    (
        *columns_of("id", "annotator_id", "query_id", "label"),
        *if_any("text", "flags"),
        *columns_of("id", "guideline", "guideline_sha256"),
        *if_any("text", "created_at"),
    ),
    ("annotator_id", "query_id"),
    order=("query_id", "annotator_id"),
    extra=True,
    about="""One row for each annotator and query; guideline_sha256: the hash of the guideline that was shown;
    flags: joined by `;`; created_at: UTC, ISO 8601. Further columns are kept.""",
)
QUERY_LABELS = TableSpec(
    "query labels",
    (
        *columns_of("id", "query_id", "label"),
        Column("is_usable", "bool"),
        *columns_of("int", "n_votes", "n_agree", minimum=0),
        *if_any("text", "flags"),
    ),
    ("query_id",),
    extra=True,
    file="query_labels.csv",
    about="""One row for each query with a label; is_usable: whether the label's grade is 1 or more; n_votes,
    n_agree: votes on it, and those for the label; flags: what any annotator set, joined by `;`. Further
    columns are kept.""",
)
check_query_validity = checks_as(QueryValidity, QUERY_VALIDITY)
check_query_labels = checks_as(QueryLabels, QUERY_LABELS)


def refuse_alone(doc_ids: pd.Series, what: str) -> None:
    """Raise `JoinError` where docs of pairs are those of queries that were shown alone."""
    if (doc_ids == ALONE).any():
        raise JoinError(
            f"{what}: doc {ALONE!r} marks captions that were judged alone; they say nothing of pairs of a "
            "caption and an item, expected those of a campaign on pairs"
        )
