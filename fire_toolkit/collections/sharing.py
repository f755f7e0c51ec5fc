"""Judgments shared among queries of the same text: one answer, every caption that asks the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import pandas as pd

from fire_toolkit.collections.duplicates import text_groups
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.tables import Judgments, Labels, Queries, check_judgments, check_labels
from fire_toolkit.tables.columns import PAIR, pair_rows

Table = TypeVar("Table", Judgments, Labels)

CHOICES = ("same-text", "same-text-any-case")
_SHARED = "shared from "


@dataclass(frozen=True)
class Shared(Generic[Table]):
    """The table with what was shared; n_added rows; n_conflicts pairs whose sources disagree."""

    table: Table
    n_added: int
    n_conflicts: int


def share_judgments(judgments: Judgments, queries: Queries, *, choice: str) -> Shared[Judgments]:
    """Return judgments with each also given to the other queries of the same text.

    Args:
        judgments: one row for each annotator and pair.
        queries: of the same collection.
        choice: `same-text`: equal texts; `same-text-any-case`: equal when case and
            white space are ignored.

    Returns:
        What an annotator judged stays as it is; a pair that the annotator did not judge takes the label
        that the annotator gave to the doc under a query of the same text (of several equal ones the first
        query's row), with `shared from <query id>` as its origin. Where those labels differ nothing is
        shared, and the pair counts in n_conflicts. Texts that stand once change nothing.

    Raises:
        UsageError: an unknown choice.
        JoinError: judgments on queries that `queries` does not have.

    Examples:
        >>> from fire_toolkit.tables import check_queries
        >>> queries = check_queries(pd.DataFrame({"query_id": ["q1", "q2"], "text": "a dog"}))
        >>> judgments = check_judgments(pd.DataFrame(
        ...     {"query_id": ["q1"], "doc_id": ["d"], "annotator_id": ["u"], "label": ["relevant"]}))
        >>> shared = share_judgments(judgments, queries, choice="same-text")
        >>> shared.n_added, shared.table[["query_id", "doc_id", "label", "origin"]].values.tolist()[1]
        (1, ['q2', 'd', 'relevant', 'shared from q1'])
    """
    table, n_added, n_conflicts = _share(judgments, queries, choice, ["annotator_id", "doc_id"], "origin")
    return Shared(check_judgments(table), n_added, n_conflicts)


def share_labels(labels: Labels, queries: Queries, *, choice: str) -> Shared[Labels]:
    """Return labels with each also given to the other queries of the same text.

    As `share_judgments`, one label a pair; the method of a shared label is `shared from <query id>`.
    """
    table, n_added, n_conflicts = _share(labels, queries, choice, ["doc_id"], "method")
    return Shared(check_labels(table), n_added, n_conflicts)


def mark_shared(labels: Labels, judgments: Judgments) -> Labels:
    """Return labels with a column shared_from: the queries whose judgments a label rests on alone.

    Args:
        labels: made from `judgments`.
        judgments: as `share_judgments` gives them.

    Returns:
        shared_from holds query ids, sorted, a space between them; it is empty where somebody judged the
        pair itself. The rows are those of `labels`.
    """
    origins = judgments["origin"].astype("str").fillna("")
    is_shared = origins.str.startswith(_SHARED)
    given = judgments.loc[is_shared, PAIR].assign(shared_from=origins[is_shared].str.removeprefix(_SHARED))
    given = given[pair_rows(given, judgments[~is_shared]) < 0]
    given = given.drop_duplicates([*PAIR, "shared_from"]).sort_values("shared_from")
    named = given.groupby(PAIR)["shared_from"].agg(" ".join).reset_index()
    return check_labels(labels.merge(named, on=PAIR, how="left").fillna({"shared_from": ""}))


def _share(
    judged: pd.DataFrame, queries: Queries, choice: str, other_key: list[str], mark: str
) -> tuple[pd.DataFrame, int, int]:
    if choice not in CHOICES:
        raise UsageError(f"sharing {choice!r} is unknown; expected one of {', '.join(CHOICES)}")
    unknown = judged.loc[~judged["query_id"].isin(queries["query_id"]), "query_id"].unique()
    if len(unknown):
        raise JoinError(
            f"{len(unknown)} judged queries are not among the queries ({', '.join(unknown[:3])}); expected "
            "judgments of the same collection"
        )
    groups = text_groups(queries, ignore_case=choice == "same-text-any-case")
    named = pd.DataFrame({"query_id": queries["query_id"], "group": groups})
    named = named[named["group"].duplicated(keep=False)]
    rows = judged.merge(named, on="query_id").sort_values(["query_id", *other_key], kind="stable")
    key = ["group", *other_key]
    n_labels = rows.groupby(key)["label"].nunique().rename("n_labels").reset_index()
    sources = rows.drop_duplicates(key).rename(columns={"query_id": "from_query_id"})
    wanted = named.merge(sources.merge(n_labels, on=key), on="group")
    own = judged[["query_id", *other_key]].assign(own=True)
    wanted = wanted.merge(own, on=["query_id", *other_key], how="left")
    wanted = wanted[wanted["own"].isna()]
    agreed = wanted[wanted["n_labels"] == 1]
    added = agreed.assign(**{mark: _SHARED + agreed["from_query_id"].astype("str")})[judged.columns]
    whole = pd.concat([judged, added], ignore_index=True) if len(added) else judged
    return whole, len(added), len(wanted) - len(agreed)
