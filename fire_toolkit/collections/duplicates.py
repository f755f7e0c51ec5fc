"""Captions that are the same, or nearly, which a benchmark keyed by captions cannot tell apart.

Captions that are alike suggest pairs: a query is matched to the items of captions like its own. On real
captions these stand in badly for people (Rodriguez et al., arXiv 2210.05038: from far too few pairs to one
video in ten), so what they say goes into a pool to be judged, or beside a task as a guess, and carries its
matcher's name. Captions of the same text may share their judgments.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.collections.similarity import similar_pairs
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.own_items import own_items_of, without_own_pairs
from fire_toolkit.tables import (
    SHARED,
    Disputes,
    Judgments,
    Labels,
    Qrels,
    Queries,
    check_judgments,
    check_labels,
)
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows

MAX_PAIRS = 20_000_000
_MAX_EDITS = 8
_MATCHER = "tfidf"
_COLUMNS = ["query_id", "doc_id", "matcher", "score", "via_query_id"]
_NO_PAIRS = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def text_groups(queries: Queries, *, ignore_case: bool = True) -> pd.Series:
    """Return by query_id a number, the same for queries that ask the same, in the order of the table.

    Queries that are seen too ask the same only where what is seen is the same: columns media_url and
    reference, where they are there. A query without text is like no other.

    ignore_case: letters of either case and runs of white space are the same.

    Examples:
        >>> from fire_toolkit.tables import check_queries
        >>> rows = {"query_id": ["a", "b", "c"], "text": "in red", "reference": ["v1", "v1", "v2"]}
        >>> text_groups(check_queries(pd.DataFrame(rows))).tolist()
        [0, 0, 1]
    """
    keys = queries.assign(seen=seen_beside_text(queries), own=np.arange(len(queries)))
    keys["text"] = keys["text"].map(normal_text) if ignore_case else keys["text"]
    keys["own"] = keys["own"].where(~has_text(queries), -1)
    return keys.groupby(["text", "seen", "own"], sort=False).ngroup().set_axis(queries["query_id"])


def seen_beside_text(queries: Queries) -> npt.NDArray[np.int64]:
    """Return a number for each query, the same where media_url and reference are; 0 without both."""
    names = [name for name in ("media_url", "reference") if name in queries.columns]
    if not names:
        return np.zeros(len(queries), dtype=np.int64)
    return np.asarray(queries.groupby(names, dropna=False, sort=False).ngroup(), dtype=np.int64)


def has_text(queries: Queries) -> pd.Series:
    """Return for each query whether it is a caption, of more than white space."""
    return pd.Series(queries["text"].str.strip() != "", index=queries.index)


def like_earlier(table: pd.DataFrame, keys: Sequence[Any], *, by: str, name: str) -> pd.DataFrame:
    """Return the rows whose key an earlier row has; the column `name` has the first one's id (`by`).

    Examples:
        >>> like_earlier(pd.DataFrame({"id": ["c", "b", "a"]}), ["x", "y", "x"], by="id", name="like")
          id like
        0  a    c
    """
    key = pd.Series(keys, index=table.index)
    named = table.assign(**{name: table.groupby(key, sort=False)[by].transform("first")})
    return named[key.duplicated()].sort_values([name, by]).reset_index(drop=True)


def duplicate_captions(queries: Queries) -> pd.DataFrame:
    """Return every query whose text an earlier query has, with that query.

    Returns:
        Columns query_id, same_as (the first of the table with that text), same (`text`, or `case` where
        only case or white space differs), text. By same_as and query_id; empty when all texts differ.

    Examples:
        >>> from fire_toolkit.tables import check_queries
        >>> queries = check_queries(pd.DataFrame({"query_id": ["a", "c"], "text": ["A dog", "a dog"]}))
        >>> duplicate_captions(queries)[["query_id", "same_as", "same"]]
          query_id same_as  same
        0        c       a  case
    """
    found = like_earlier(queries, text_groups(queries).array, by="query_id", name="same_as")
    is_same = found["text"] == found["same_as"].map(queries.set_index("query_id")["text"])
    return found.assign(same=np.where(is_same, "text", "case"))[["query_id", "same_as", "same", "text"]]


def _passed_on(rows: pd.DataFrame, groups: pd.Series, key: list[str], known: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the other queries of a group get them, but those that `known` has of the query itself.

    Of equal rows (`key`) of a group it is the first query's, which from_query_id names.
    """
    named = groups[groups.duplicated(keep=False)].rename("group").reset_index()
    given = rows.merge(named, on="query_id").sort_values("query_id", kind="stable")
    given = given.drop_duplicates(["group", *key]).rename(columns={"query_id": "from_query_id"})
    own = known[["query_id", *key]].drop_duplicates()
    got = named.merge(given, on="group").merge(own, how="left", indicator="is_own")
    return got[got["is_own"] == "left_only"]


def shared_positives(queries: Queries, qrels: Qrels) -> pd.DataFrame:
    """Return positives that a query lacks and another query of the same text has.

    They are false negatives known for free: the same caption cannot be right for one query's item
    and wrong for the other's.

    Returns:
        Columns query_id, doc_id, relevance, from_query_id (the first that has the pair), by query_id and
        doc_id. A pair that the query's own qrels hold, with any grade, is not among them.
    """
    found = _passed_on(qrels[qrels["relevance"] >= 1], text_groups(queries), ["doc_id"], qrels)
    return found[[*PAIR, "relevance", "from_query_id"]].sort_values(PAIR).reset_index(drop=True)


def near_duplicates(queries: Queries, *, min_similarity: float = 0.9) -> pd.DataFrame:
    """Return pairs of different captions whose character TF-IDF cosine is at least `min_similarity`.

    Returns:
        Columns query_id, other_id, similarity, edit_distance (missing above 8), text, other_text;
        by similarity descending. A text that several queries have stands for them by its first id.
    """
    from rapidfuzz.distance import Levenshtein

    named = queries.assign(normal=queries["text"].map(normal_text)).drop_duplicates("normal")
    named = named[named["normal"] != ""].sort_values("normal", kind="stable")
    found = similar_pairs(named["normal"].tolist(), min_similarity=min_similarity)
    left, right, cosines = (np.concatenate(parts) for parts in zip(_NO_PAIRS, *found, strict=True))
    one, other = (named.iloc[rows].reset_index(drop=True) for rows in (left, right))
    is_turned = one["query_id"] > other["query_id"]
    one, other = one.where(~is_turned, other), other.where(~is_turned, one)
    texts = zip(one["normal"], other["normal"], strict=True)
    edits = pd.Series([Levenshtein.distance(*both, score_cutoff=_MAX_EDITS) for both in texts], dtype="Int64")
    pairs = pd.DataFrame(
        {
            "query_id": one["query_id"],
            "other_id": other["query_id"],
            "similarity": np.round(cosines, 6),
            "edit_distance": edits.where(edits <= _MAX_EDITS),
            "text": one["text"],
            "other_text": other["text"],
        }
    )
    order = ["similarity", "query_id", "other_id"]
    return pairs.sort_values(order, ascending=[False, True, True]).reset_index(drop=True)


def match_by_similarity(queries: Queries, qrels: Qrels, *, min_similarity: float) -> pd.DataFrame:
    """Return pairs of queries with the items of similar captions.

    Args:
        queries: the captions; those without text match nothing, and captions that go with something seen
            (media_url, reference) match only captions of the same.
        qrels: original positives; a caption stands for each of its positives.
        min_similarity: the character TF-IDF cosine from which captions are alike, in (0, 1].

    Returns:
        Columns query_id, doc_id, matcher (`tfidf`), score (the highest cosine of the query with a caption
        of the item), via_query_id (that caption; of equals the first), by query_id and doc_id. Pairs
        that the qrels hold are left out. Similarity blocks keep memory to the pairs suggested.

    Raises:
        UsageError: a similarity out of range, or more than 20 million captions alike.
    """
    if not 0 < min_similarity <= 1:
        raise UsageError(f"similarity {min_similarity}, expected above 0 and at most 1")
    queries = Queries(queries[has_text(queries)])
    ids, seen, own_items = queries["query_id"].to_numpy(), seen_beside_text(queries), own_items_of(queries)
    positives = qrels[PAIR][qrels["relevance"] >= 1].rename(columns={"query_id": "via_query_id"})
    found = [pd.DataFrame(columns=_COLUMNS, dtype="str").astype({"score": float})]
    n_alike = 0
    for one, other, cosines in similar_pairs(queries["text"].tolist(), min_similarity=min_similarity):
        n_alike += 2 * len(one)
        if n_alike > MAX_PAIRS:
            raise UsageError(
                f"more than {MAX_PAIRS:,} pairs of captions are alike from {min_similarity:.6f} on; raise it"
            )
        left, right, scores = np.r_[one, other], np.r_[other, one], np.tile(cosines, 2)
        alike = pd.DataFrame({"query_id": ids[left], "via_query_id": ids[right], "score": scores})
        pairs = alike[seen[left] == seen[right]].merge(positives, on="via_query_id")
        found.append(_best(without_own_pairs(pairs, own_items)))
    pairs = _best(pd.concat(found, ignore_index=True))
    return pairs[pair_rows(pairs, qrels) < 0].assign(matcher=_MATCHER)[_COLUMNS].reset_index(drop=True)


def _best(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each pair once, by the caption that is most like the query's."""
    order = ["query_id", "doc_id", "score", "via_query_id"]
    return pairs.sort_values(order, ascending=[True, True, False, True]).drop_duplicates(PAIR)


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
    key, groups = ["annotator_id", "doc_id"], text_groups(queries, ignore_case=False)
    of_group = [judgments["query_id"].map(groups), *(judgments[name] for name in key)]
    n_labels = judgments.groupby(of_group)["label"].transform("nunique")
    wanted = _passed_on(judgments.assign(n_labels=n_labels), groups, key, judgments)
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
    groups = None if queries is None else text_groups(queries, ignore_case=False)
    asked = own[PAIR] if groups is None else own[PAIR].assign(query_id=own["query_id"].map(groups))
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
    given = judgments[PAIR][is_shared].assign(shared_from=origins[is_shared].str.removeprefix(SHARED))
    given = given[pair_rows(given, judgments[~is_shared]) < 0]
    given = given.drop_duplicates([*PAIR, "shared_from"]).sort_values("shared_from")
    named = given.groupby(PAIR)["shared_from"].agg(" ".join).reset_index()
    return check_labels(labels.merge(named, on=PAIR, how="left").fillna({"shared_from": ""}))


_UNFIT = re.compile("[\x00\ud800-\udfff]")
_BREAKS = re.compile(" *[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+ *")


def plain_text(text: str) -> str:
    """Return `text` on one line: runs of tabs and line ends become a space, invalid characters U+FFFD.

    Examples:
        >>> plain_text("a dog\\n runs\\t fast\\n")
        'a dog runs fast'
        >>> plain_text("a \\ud800 b")
        'a � b'
    """
    if _BREAKS.search(text):
        text = _BREAKS.sub(" ", text).strip(" ")
    return _UNFIT.sub("\ufffd", text)


def normal_text(text: str) -> str:
    """Return `text` as captions are compared: case folded, runs of white space one space.

    Examples:
        >>> normal_text("  A dog\\n runs ")
        'a dog runs'
    """
    return " ".join(text.casefold().split())
