"""Whether queries are usable: what annotators said of captions that they saw alone, and one label a query.

In a campaign on captions alone a task's doc is `*`, which no pair of a query and an item has. Its judgments
and labels stay apart from those of pairs.
"""

from __future__ import annotations

from typing import NewType

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.tables.checks import checks_as
from fire_toolkit.tables.specs import SPECS

QueryValidity = NewType("QueryValidity", pd.DataFrame)
QueryLabels = NewType("QueryLabels", pd.DataFrame)

ALONE = "*"  # the doc of a query that is shown without an item

QUERY_VALIDITY, QUERY_LABELS = SPECS["query validity"], SPECS["query labels"]
check_query_validity = checks_as(QueryValidity, QUERY_VALIDITY)
check_query_labels = checks_as(QueryLabels, QUERY_LABELS)


def refuse_alone(doc_ids: pd.Series, what: str) -> None:
    """Raise `JoinError` where docs of pairs are those of queries that were shown alone."""
    if (doc_ids == ALONE).any():
        raise JoinError(
            f"{what}: doc {ALONE!r} marks captions that were judged alone; they say nothing of pairs of a "
            "caption and an item, expected those of a campaign on pairs"
        )
