"""Judgments shared among queries of the same text: one answer, every caption that asks the same."""

from typing import NamedTuple

import pandas as pd

from fire_toolkit.collections.duplicates import text_groups
from fire_toolkit.errors import JoinError
from fire_toolkit.tables import SHARED, Disputes, Judgments, Labels, Queries, check_judgments, check_labels
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows


class Shared(NamedTuple):
    """Judgments with those that were shared; n_added of them; n_conflicts pairs whose sources disagree."""

    judgments: Judgments
    n_added: int
    n_conflicts: int


def share_judgments(judgments: Judgments, queries: Queries) -> Shared:
    """Return judgments with each also given to the other queries of the same text.

    Args:
        judgments: one row for each annotator and pair.
        queries: of the same collection; texts are the same to the letter.

    Returns:
        What an annotator judged stays as it is; a pair that the annotator did not judge takes the label
        that the annotator gave to the doc under a query of the same text (of several equal ones the first
        query's row), with `shared from <query id>` as its origin. Where those labels differ nothing is
        shared, and the pair counts in n_conflicts. Texts that stand once change nothing.

    Raises:
        JoinError: judgments on queries that `queries` does not have.

    Examples:
        >>> from fire_toolkit.tables import check_queries
        >>> queries = check_queries(pd.DataFrame({"query_id": ["q1", "q2"], "text": "a dog"}))
        >>> judgments = check_judgments(pd.DataFrame(
        ...     {"query_id": ["q1"], "doc_id": ["d"], "annotator_id": ["u"], "label": ["relevant"]}))
        >>> shared = share_judgments(judgments, queries)
        >>> shared.n_added, shared.judgments[["query_id", "doc_id", "label", "origin"]].values.tolist()[1]
        (1, ['q2', 'd', 'relevant', 'shared from q1'])
    """
    unknown = judgments.loc[~are_in(judgments["query_id"], queries["query_id"]), "query_id"].unique()
    if len(unknown):
        raise JoinError(
            f"{len(unknown)} judged queries are not among the queries ({', '.join(unknown[:3])}); expected "
            "judgments of the same collection"
        )
    own_key = ["query_id", "annotator_id", "doc_id"]
    groups = text_groups(queries, ignore_case=False)
    named = pd.DataFrame({"query_id": queries["query_id"], "group": groups})
    named = named[named["group"].duplicated(keep=False)]
    rows = judgments.merge(named, on="query_id").sort_values(own_key, kind="stable")
    key = ["group", "annotator_id", "doc_id"]
    n_labels = rows.groupby(key)["label"].nunique().rename("n_labels").reset_index()
    sources = rows.drop_duplicates(key).rename(columns={"query_id": "from_query_id"})
    wanted = named.merge(sources.merge(n_labels, on=key), on="group")
    wanted = wanted.merge(judgments[own_key].assign(own=True), on=own_key, how="left")
    wanted = wanted[wanted["own"].isna()]
    agreed = wanted[wanted["n_labels"] == 1]
    added = agreed.assign(origin=SHARED + agreed["from_query_id"].astype("str"))[judgments.columns]
    whole = pd.concat([judgments, added], ignore_index=True) if len(added) else judgments
    return Shared(check_judgments(whole), len(added), len(wanted) - len(agreed))


def one_of_each(disputes: Disputes, judgments: Judgments, queries: Queries | None) -> Disputes:
    """Return disputes that somebody judged, one of each doc under queries of the same text.

    The vote that settles one of them is shared with the others.

    Args:
        disputes: made from shared judgments.
        judgments: before they were shared.
        queries: of the same collection; None: which have one text is not known.
    """
    own = disputes[pair_rows(disputes, judgments) >= 0]
    asked = own[PAIR]
    if queries is not None:
        groups = pd.Series(text_groups(queries, ignore_case=False).to_numpy(), index=queries["query_id"])
        asked = asked.assign(query_id=asked["query_id"].map(groups))
    return Disputes(own[~asked.duplicated()].reset_index(drop=True))


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
    is_shared = origins.str.startswith(SHARED)
    given = judgments.loc[is_shared, PAIR].assign(shared_from=origins[is_shared].str.removeprefix(SHARED))
    given = given[pair_rows(given, judgments[~is_shared]) < 0]
    given = given.drop_duplicates([*PAIR, "shared_from"]).sort_values("shared_from")
    named = given.groupby(PAIR)["shared_from"].agg(" ".join).reset_index()
    return check_labels(labels.merge(named, on=PAIR, how="left").fillna({"shared_from": ""}))
