"""Judgments shared among queries of the same text: one answer, every caption that asks the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import pandas as pd

from fire_toolkit.collections.duplicates import text_groups
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.tables import Judgments, Labels, Queries, check_judgments, check_labels
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows

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


@dataclass(frozen=True)
class SharedOnce:
    """Labels with those that pairs judged once take from their group, and what was counted.

    labels: shared ones have a column shared_from, the pair (query id, doc id) whose label they are, and
    n_judgments 0; n_shared: so many, n_positive of them positive; n_own: pairs not asked that were judged all
    the same, whose own answers stand, n_differ: of them, with another relevance than an asked pair of their
    group; n_waiting: pairs whose group has no label; n_conflicts: pairs whose group has labels that differ.
    """

    labels: Labels
    n_shared: int = 0
    n_positive: int = 0
    n_own: int = 0
    n_differ: int = 0
    n_waiting: int = 0
    n_conflicts: int = 0


def share_among_alike(labels: Labels, pairs: pd.DataFrame, *, disputed: pd.DataFrame) -> SharedOnce:
    """Return labels with those of pairs that were judged once given to the pairs that ask the same.

    A pair that was judged itself keeps its own label, and stays without one where it is in dispute. Where
    labels of a group differ in relevance nothing is shared in it.

    Args:
        labels: what people's judgments became.
        pairs: query_id, doc_id, group, is_asked, of `pooling.judge_once`.
        disputed: query_id, doc_id of judged pairs without a label.

    Examples:
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": ["q1"], "doc_id": "d", "label": "relevant", "relevance": [1]}))
        >>> pairs = pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": "d", "group": 1,
        ...                       "is_asked": [True, False]})
        >>> shared = share_among_alike(labels, pairs, disputed=labels[:0])
        >>> shared.n_shared, shared.labels[["query_id", "relevance", "shared_from"]].values.tolist()
        (1, [['q1', 1, ''], ['q2', 1, 'q1 d']])
    """
    rows = pair_rows(pairs, labels)
    known = pairs[rows >= 0].assign(row=rows[rows >= 0])
    known["relevance"] = labels["relevance"].to_numpy()[known["row"]]
    known = known.sort_values(["group", "is_asked", *PAIR], ascending=[True, False, True, True])
    n_grades = known.groupby("group")["relevance"].nunique()
    first = known.drop_duplicates("group").set_index("group")
    others = pairs[~pairs["is_asked"] & (rows < 0) & (pair_rows(pairs, disputed) < 0)]
    of_group = others["group"].map(n_grades).fillna(0)
    taking = others[of_group == 1]
    source = first.loc[taking["group"]]
    added = labels.iloc[source["row"].to_numpy()].reset_index(drop=True)
    names = (source["query_id"] + " " + source["doc_id"]).to_numpy()
    added = added.assign(**{name: taking[name].to_numpy() for name in PAIR}, shared_from=names)
    added = added.assign(method="shared", n_judgments=0, n_agree=0)
    own = known[~known["is_asked"]]
    asked = own["group"].map(first.loc[first["is_asked"].to_numpy(dtype=bool), "relevance"])
    before: pd.DataFrame = labels if "shared_from" in labels else labels.assign(shared_from="")
    whole = check_labels(pd.concat([before, added[before.columns]], ignore_index=True))
    return SharedOnce(
        labels=whole if len(added) else labels,
        n_shared=len(added),
        n_positive=int((added["relevance"] >= 1).sum()),
        n_own=len(own) + int((~pairs["is_asked"] & (pair_rows(pairs, disputed) >= 0)).sum()),
        n_differ=int((asked.notna() & (asked != own["relevance"])).sum()),
        n_waiting=int((of_group == 0).sum()),
        n_conflicts=int((of_group > 1).sum()),
    )


def _share(
    judged: pd.DataFrame, queries: Queries, choice: str, other_key: list[str], mark: str
) -> tuple[pd.DataFrame, int, int]:
    if choice not in CHOICES:
        raise UsageError(f"sharing {choice!r} is unknown; expected one of {', '.join(CHOICES)}")
    unknown = judged.loc[~are_in(judged["query_id"], queries["query_id"]), "query_id"].unique()
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
