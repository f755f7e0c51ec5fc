"""The pairs of a gallery: the runs' tops and every positive, their votes, and which to look at again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.matching.own_items import OwnItems, is_own_pair
from fire_toolkit.tables import (
    Disputes,
    Judgments,
    Labels,
    Qrels,
    Queries,
    Run,
    asked_judgments,
    check_labels,
)
from fire_toolkit.tables.columns import PAIR, codes_of, pair_rows

STATES = ("unjudged", "irrelevant", "new", "confirmed", "rejected", "original", "disputed", "shared", "own")
UNJUDGED, IRRELEVANT, NEW, CONFIRMED, REJECTED, ORIGINAL, DISPUTED, SHARED, OWN = range(len(STATES))
# What a query has; together they are one number.
HAS_NEW, SPLIT, WINNER_LOST, HAS_REJECTED, UNUSABLE, HAS_DISPUTED, HAS_UNJUDGED, MORE_WINNERS = (
    1 << n for n in range(8)
)
TOP = 3  # ranks of a run in which a doc stands at the top


@dataclass(frozen=True, eq=False)
class Shown:
    """The pairs of a gallery, by query and doc.

    queries: ids in their order, with `texts`; docs: ids; lists: (n_queries, n_runs, depth), the pair at each
    rank of each run, −1 where there is none; query, doc: of each pair; state: place in `STATES`;
    is_original: a positive of the benchmark; is_relevant: one of the augmented qrels; label: of the pair,
    empty without one; n_votes, n_agree: on it; support: what the label rests on by a model; nan where these
    three are not known; unusable: for each query, whether its caption is.
    """

    queries: pd.Index[str]
    texts: Sequence[str]
    docs: pd.Index[str]
    runs: Sequence[str]
    lists: Ints
    query: Ints
    doc: Ints
    state: Ints
    is_original: Bools
    is_relevant: Bools
    label: Sequence[str]
    n_votes: Floats
    n_agree: Floats
    support: Floats
    unusable: Bools

    @property
    def shown_docs(self) -> pd.Index[str]:
        """The docs of the pairs, each once."""
        return self.docs[pd.unique(self.doc)]

    def n_runs(self, depth: int | None = None) -> Ints:
        """Return how many runs have each pair in their list, or in the top of it."""
        top = self.lists[:, :, :depth]
        return np.bincount(top[top >= 0], minlength=len(self.query))

    @cached_property
    def best_rank(self) -> Ints:
        """The best rank of each pair in the lists; 0 where none has it."""
        best = np.zeros(len(self.query), dtype=np.int64)
        for rank in range(self.lists.shape[2], 0, -1):
            found = self.lists[:, :, rank - 1]
            best[found[found >= 0]] = rank
        return best

    @cached_property
    def changed_winners(self) -> tuple[Bools, Bools]:
        """For each query, whether a winner lost its place, and whether only further runs have it.

        Winners are the runs whose first relevant doc stands highest in the lists; they are compared where
        both labellings have some.
        """
        depth, winners = self.lists.shape[2], []
        for is_relevant in (self.is_original, self.is_relevant):
            found = np.append(is_relevant, False)[self.lists]
            first = np.where(found.any(axis=2), found.argmax(axis=2), depth)
            best = first.min(axis=1, initial=depth)[:, None]
            winners.append((first == best) & (best < depth))
        was, now = winners
        is_known = was.any(axis=1) & now.any(axis=1)
        lost = is_known & (was & ~now).any(axis=1)
        return lost, is_known & ~lost & (now & ~was).any(axis=1)

    def flags(self, is_split: Bools) -> Ints:
        """Return what each query has, as one number; is_split: whether votes on a pair differ."""
        lost, more = self.changed_winners
        flags: Ints = lost * WINNER_LOST + more * MORE_WINNERS + self.unusable * UNUSABLE
        is_open = (self.state == UNJUDGED) | ((self.state == ORIGINAL) & (self.n_runs() > 0))
        for is_so, flag in (
            (self.state == NEW, HAS_NEW),
            (is_split, SPLIT),
            (self.state == REJECTED, HAS_REJECTED),
            (self.state == DISPUTED, HAS_DISPUTED),
            (is_open, HAS_UNJUDGED),
        ):
            flags[np.unique(self.query[is_so])] |= flag
        return flags


def shown_pairs(
    runs: Sequence[Run],
    original: Qrels,
    queries: Queries,
    *,
    labels: Labels | None = None,
    disputes: Disputes | None = None,
    policy: str = "union",
    unusable: Collection[str] = (),
    own_items: OwnItems = MappingProxyType({}),
    depth: int = 5,
) -> Shown:
    """Return the pairs that a gallery shows: the runs' top docs, all positives, and all disputes.

    Args:
        runs: at least to `depth`.
        original: the benchmark's qrels, whose queries are shown, in the order of `queries`.
        queries: with texts; those that lack here follow at the end, without text.
        labels, disputes: of `resolve`; None: nothing was judged.
        policy: of `augment_qrels`, by which a query's winner is found.
        unusable: ids of queries whose caption was judged unusable.
        own_items: the doc that each query starts from: nobody's to judge, and no answer.
        depth: of the lists, 1 or more.
    """
    if labels is None:
        labels = check_labels(pd.DataFrame({name: [] for name in (*PAIR, "label", "relevance")}))
    changes = augment_qrels(original, labels, policy=policy).changes
    disputed = changes[:0] if disputes is None else disputes
    text = queries.set_index("query_id")["text"]
    ids = pd.Index(original["query_id"].unique())
    ids = text.index[text.index.isin(ids)].append(ids.difference(text.index, sort=False))
    tops = [run[[*PAIR, "rank"]][run["rank"] <= depth].assign(number=n) for n, run in enumerate(runs)]
    listed = pd.concat([each.astype(dict.fromkeys(PAIR, "str")) for each in tops])
    is_positive = (changes["original_relevance"].ge(1) | changes["label_relevance"].ge(1)).fillna(False)
    named = pd.concat([changes[is_positive], disputed, listed])[[*PAIR, "number", "rank"]]
    named = named[named["query_id"].isin(ids)]
    docs = pd.Index(named["doc_id"].unique())
    query, doc = ids.get_indexer(pd.Index(named["query_id"])), docs.get_indexer(pd.Index(named["doc_id"]))
    keys, place = np.unique(query.astype(np.int64) * len(docs) + doc, return_inverse=True)
    lists = np.full((len(ids), len(runs), depth), -1, dtype=np.int64)
    is_listed = named["rank"].notna().to_numpy()
    number, rank = named[["number", "rank"]][is_listed].to_numpy(dtype=np.int64).T
    lists[query[is_listed], number, rank - 1] = place[is_listed]
    query, doc = np.divmod(keys, max(len(docs), 1))
    pairs = pd.DataFrame({"query_id": ids[query], "doc_id": docs[doc]})
    row, own = pair_rows(pairs, changes), pair_rows(pairs, labels)
    before, after = (_of(changes, name, row) >= 1 for name in ("original_relevance", "relevance"))
    source = np.append(changes["source"].to_numpy(dtype=object), STATES[UNJUDGED])[row]
    state = np.asarray(pd.Index(STATES).get_indexer(pd.Index(source)), dtype=np.int64)
    state[(state == ORIGINAL) & ~before] = UNJUDGED  # an original relevance below 1 is not a positive
    state[pair_rows(pairs, disputed) >= 0] = DISPUTED
    state[is_own_pair(pairs, own_items) & ~before] = OWN
    return Shown(
        queries=ids,
        texts=text.reindex(ids).fillna("").tolist(),
        docs=docs,
        runs=[str(run["run_id"].cat.categories[0]) for run in runs],
        lists=lists,
        query=query,
        doc=doc,
        state=state,
        is_original=before,
        is_relevant=after,
        label=np.append(labels["label"].to_numpy(dtype=object), "")[own].tolist(),
        n_votes=_of(labels, "n_judgments", own),
        n_agree=_of(labels, "n_agree", own),
        support=_of(labels, "posterior", own),
        unusable=ids.isin(list(unusable)),
    )


def _of(table: pd.DataFrame, name: str, row: Ints) -> Floats:
    """Return a column's value in each row; nan where it is not known."""
    if name not in table:
        return np.full(len(row), np.nan)
    return np.append(table[name].to_numpy(dtype=np.float64, na_value=np.nan), np.nan)[row]


_COLUMNS = ["pair", "who", "label", "flags", "comment"]


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes on shown pairs.

    table: each vote, by pair, then in the order in which they were given: pair (its place), who (the number
    of the annotator, from 1), label, flags and comment, empty where there are none; n_for, n_against: how
    many of each pair are positive and negative.
    """

    table: pd.DataFrame
    n_for: Ints
    n_against: Ints

    @property
    def is_split(self) -> Bools:
        """Whether the votes on each pair differ."""
        return (self.n_for > 0) & (self.n_against > 0)


def votes_on(
    shown: Shown, judgments: Judgments | None, *, grades: Grades, numbers: Mapping[str, int]
) -> Votes:
    """Return the votes on shown pairs.

    Args:
        shown: the pairs.
        judgments: answers not asked of their annotator are left out; None: votes are not known one by one.
        grades: label → relevance, None where the label is not a vote.
        numbers: annotator → number in the gallery.

    Returns:
        `Votes`; without judgments none, with n_for and n_against by the labels.
    """
    if judgments is None:
        is_for = np.isin(shown.state, [NEW, CONFIRMED])
        agree, n_votes = (np.nan_to_num(each).astype(np.int64) for each in (shown.n_agree, shown.n_votes))
        other = np.maximum(n_votes - agree, 0)
        nothing = pd.DataFrame({name: [] for name in _COLUMNS})
        return Votes(nothing, np.where(is_for, agree, other), np.where(is_for, other, agree))
    asked = asked_judgments(judgments)
    who = asked["annotator_id"].map(numbers).astype("int64")
    pairs = pd.DataFrame({"query_id": shown.queries[shown.query], "doc_id": shown.docs[shown.doc]})
    table = asked.assign(pair=pair_rows(asked, pairs), who=who)
    table = table.reindex(columns=[*_COLUMNS, "created_at"])[table["pair"] >= 0].fillna("")
    when = codes_of(table["created_at"].astype("str"), in_order=True)
    table = table.iloc[np.lexsort((table["who"], when, table["pair"]))]
    is_for = table["label"].map({label: grade >= 1 for label, grade in grades.items() if grade is not None})
    counts = [
        np.bincount(table["pair"][is_for.eq(side)], minlength=len(shown.query)) for side in (True, False)
    ]
    return Votes(table, *counts)


MOST = 500
LOW_SUPPORT = 0.9


class Finding(NamedTuple):
    """Pairs worth a look, the most first: why, their places among those shown, and how many there are."""

    why: str
    pairs: Ints
    n: int


def findings(shown: Shown, votes: Votes, *, most: int = MOST) -> list[Finding]:
    """Return false negatives, then labels to look at again by the reasons there are; nothing without labels.

    False negatives are new positives, the most convincing first: by votes against, whether several are for
    it, the number of runs that have the doc in their top 3, votes for, its best rank, query and doc.

    Labels to look at again stand under the first reason that holds: original positives that were rejected,
    the fewest votes against first; not relevant by one vote though every run lists the doc; decided by one
    vote of several; relevant by one vote, a doc that one run lists or none; less sure by a model of
    annotators than `LOW_SUPPORT`.
    """
    state, n_runs, n_all, best = shown.state, shown.n_runs(), len(shown.runs), shown.best_rank
    n_votes, support = votes.n_for + votes.n_against, np.nan_to_num(shown.support, nan=1.0)
    is_labelled, is_single = np.isin(state, [IRRELEVANT, NEW, REJECTED]), (n_votes == 1) & (n_all > 1)
    is_close = (n_votes > 2) & (abs(votes.n_for - votes.n_against) == 1)
    # Each reason with what it holds of, and what its pairs are ordered by, the last first.
    reasons: list[tuple[str, Bools, tuple[Any, ...]]] = [
        (
            "judged relevant, but not a positive of the benchmark",
            state == NEW,
            (best, -votes.n_for, -shown.n_runs(TOP), votes.n_for < 2, votes.n_against),
        ),
        (
            "a positive of the benchmark that was judged not relevant",
            state == REJECTED,
            (-n_runs, -votes.n_for, votes.n_against),
        ),
        (
            "not relevant by one vote alone, though every run lists it",
            (state == IRRELEVANT) & is_single & (n_runs == n_all),
            (best,),
        ),
        ("decided by one vote of several", is_labelled & is_close, (-n_runs, n_votes)),
        (
            "relevant by one vote alone, and no second run lists it",
            (state == NEW) & is_single & (n_runs < 2),
            (-best, n_runs),
        ),
        (f"less than {LOW_SUPPORT:.0%} sure by the model of annotators", support < LOW_SUPPORT, (support,)),
    ]
    found: list[Finding] = []
    is_taken = np.zeros(len(state), dtype=bool)
    for why, is_so, order in reasons:
        pairs = np.flatnonzero(is_so & ~is_taken)
        is_taken |= is_so & bool(found)  # a false negative may be looked at again
        places = np.lexsort([pairs, *(key[pairs] for key in order)])
        found.append(Finding(why, pairs[places][:most], len(pairs)))
    return [found[0], *(each for each in found[1:] if each.n)] if any(shown.label) else []
