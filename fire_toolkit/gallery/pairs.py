"""The pairs that a gallery shows: the top docs of each run, and every positive, with what became of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.tables import Changes, Disputes, Labels, Qrels, Queries, Run, check_labels

STATES = ("unjudged", "irrelevant", "new", "confirmed", "rejected", "original", "disputed", "shared")
UNJUDGED, IRRELEVANT, NEW, CONFIRMED, REJECTED, ORIGINAL, DISPUTED, SHARED = range(len(STATES))
# What a query has; together they are one number.
HAS_NEW, SPLIT, WINNER_LOST, HAS_REJECTED, UNUSABLE, HAS_DISPUTED, HAS_UNJUDGED, MORE_WINNERS = (
    1 << n for n in range(8)
)


@dataclass(frozen=True, eq=False)
class Shown:
    """The pairs of a gallery, by query and doc.

    queries: ids in their order, with `texts`; docs: ids; lists: (n_queries, n_runs, depth), the doc at each
    rank of each run, −1 where there is none; query, doc: of each pair; state: place in `STATES`;
    is_original: a positive of the benchmark; is_relevant: one of the augmented qrels; label: of the pair,
    empty without one; n_votes, n_agree: on it, −1 where not known; support: what the label rests on by a
    model, nan where it does not; winner_lost, more_winners: for each query, whether a run that stood first
    does so no longer, or only further runs do so too; unusable: for each query, whether its caption is.
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
    n_votes: Ints
    n_agree: Ints
    support: Any
    winner_lost: Bools
    more_winners: Bools
    unusable: Bools

    @property
    def shown_docs(self) -> pd.Index[str]:
        """The docs of the pairs, each once."""
        return self.docs[pd.unique(self.doc)]

    @property
    def keys(self) -> Ints:
        """A number for each pair, ascending."""
        return self.query * len(self.docs) + self.doc

    @cached_property
    def of_lists(self) -> Ints:
        """(n_queries, n_runs, depth), the pair at each rank of each run, −1 where there is none."""
        keys = np.arange(len(self.queries))[:, None, None] * len(self.docs) + self.lists
        return np.where(self.lists < 0, -1, np.searchsorted(self.keys, keys))

    @cached_property
    def n_runs(self) -> Ints:
        """How many runs have each pair in their list."""
        return np.bincount(self.of_lists[self.of_lists >= 0], minlength=len(self.query))

    @cached_property
    def best_rank(self) -> Ints:
        """The best rank of each pair in the lists; 0 where none has it."""
        best = np.full(len(self.query), self.lists.shape[2] + 1)
        for rank in range(self.lists.shape[2], 0, -1):
            found = self.of_lists[:, :, rank - 1]
            best[found[found >= 0]] = rank
        return np.where(best > self.lists.shape[2], 0, best)

    def flags(self, is_split: Bools) -> Ints:
        """Return what each query has, as one number; is_split: whether votes on a pair differ."""
        flags: Ints = self.winner_lost * WINNER_LOST + self.more_winners * MORE_WINNERS
        flags += self.unusable * UNUSABLE
        for is_so, flag in (
            (self.state == NEW, HAS_NEW),
            (is_split, SPLIT),
            (self.state == REJECTED, HAS_REJECTED),
            (self.state == DISPUTED, HAS_DISPUTED),
            ((self.state == UNJUDGED) | ((self.state == ORIGINAL) & (self.n_runs > 0)), HAS_UNJUDGED),
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
        depth: of the lists, 1 or more.

    Returns:
        `Shown`. A query's winners are the runs whose first relevant doc stands highest in the lists; they
        are compared where both labellings have some.
    """
    labels = _no_labels() if labels is None else labels
    changes = augment_qrels(original, labels, policy=policy).changes
    tops = [run[run["rank"] <= depth] for run in runs]
    others = [changes["doc_id"]] if disputes is None else [changes["doc_id"], disputes["doc_id"]]
    codes = _codes(original, queries, tops, others)
    lists = _lists(codes, tops, depth)
    disputed = np.empty(0, dtype=np.int64) if disputes is None else codes.keys(disputes)
    is_positive = (changes["original_relevance"] >= 1) | (changes["label_relevance"] >= 1)
    known = codes.keys(changes)
    keys = np.unique(
        np.concatenate(
            [codes.listed(lists), known[is_positive.to_numpy(dtype=bool, na_value=False)], disputed]
        )
    )
    keys = keys[keys >= 0]
    row, own = _rows(keys, known), _rows(keys, codes.keys(labels))
    before, after = (_where(changes[name], row) >= 1 for name in ("original_relevance", "relevance"))
    query, doc = np.divmod(keys, max(len(codes.docs), 1))
    text = dict(zip(queries["query_id"], queries["text"], strict=True))
    shown = Shown(
        queries=codes.queries,
        texts=[text.get(each, "") for each in codes.queries],
        docs=codes.docs,
        runs=[str(run["run_id"].cat.categories[0]) for run in runs],
        lists=lists,
        query=query,
        doc=doc,
        state=_states(changes, row, before, np.isin(keys, disputed)),
        is_original=before,
        is_relevant=after,
        label=np.append(labels["label"].to_numpy(dtype=object), "")[own].tolist(),
        n_votes=_counts(labels, "n_judgments", own),
        n_agree=_counts(labels, "n_agree", own),
        support=_support(labels, own),
        winner_lost=np.zeros(len(codes.queries), dtype=bool),
        more_winners=np.zeros(len(codes.queries), dtype=bool),
        unusable=codes.queries.isin(list(unusable)),
    )
    lost, more = _changed_winners(shown.of_lists, before, after)
    return replace(shown, winner_lost=lost, more_winners=more)


@dataclass(frozen=True)
class _Codes:
    """Queries and docs, and the number of each pair of them."""

    queries: pd.Index[str]
    docs: pd.Index[str]

    def keys(self, table: pd.DataFrame) -> Ints:
        """Return the number of each row's pair; −1 where the query or the doc is unknown."""
        query = self.queries.get_indexer(pd.Index(table["query_id"]))
        doc = self.docs.get_indexer(pd.Index(table["doc_id"]))
        keys = np.where((query < 0) | (doc < 0), -1, query * np.int64(len(self.docs)) + doc)
        return np.asarray(keys, dtype=np.int64)

    def listed(self, lists: Ints) -> Ints:
        """Return the numbers of the pairs in lists."""
        start = np.arange(len(self.queries))[:, None, None] * len(self.docs)
        return np.asarray((start + lists)[lists >= 0])


def _codes(
    original: Qrels, queries: Queries, tops: Sequence[pd.DataFrame], others: list[pd.Series]
) -> _Codes:
    """Return the queries of the qrels in their order, and every doc that a list or another table names."""
    universe, named = pd.Index(original["query_id"].unique()), pd.Index(queries["query_id"])
    ids = named[named.isin(universe)].append(universe[~universe.isin(named)])
    used = [pd.Series(top["doc_id"].cat.remove_unused_categories().cat.categories) for top in tops]
    return _Codes(ids, pd.Index(pd.concat([*others, *used], ignore_index=True).unique()))


def _lists(codes: _Codes, tops: Sequence[pd.DataFrame], depth: int) -> Ints:
    """Return (n_queries, n_runs, depth), the doc at each rank of each run, −1 where there is none."""
    lists = np.full((len(codes.queries), len(tops), depth), -1, dtype=np.int64)
    for number, top in enumerate(tops):
        ids, docs = (top[name].cat for name in ("query_id", "doc_id"))
        query = codes.queries.get_indexer(ids.categories)[ids.codes]
        doc = codes.docs.get_indexer(docs.categories)[docs.codes]
        is_in = query >= 0
        lists[query[is_in], number, top["rank"].to_numpy()[is_in] - 1] = doc[is_in]
    return lists


def _states(changes: Changes, row: Ints, is_original: Bools, is_disputed: Bools) -> Ints:
    """Return the place in `STATES` of each pair; an original relevance below 1 is not a positive."""
    source = np.append(changes["source"].to_numpy(dtype=object), STATES[UNJUDGED])[row]
    state = pd.Index(STATES).get_indexer(pd.Index(source))
    state[(state == ORIGINAL) & ~is_original] = UNJUDGED
    state[is_disputed] = DISPUTED
    return np.asarray(state, dtype=np.int64)


def _no_labels() -> Labels:
    return check_labels(pd.DataFrame({"query_id": [], "doc_id": [], "label": [], "relevance": []}))


def _rows(keys: Ints, among: Ints) -> Ints:
    """Return the row of each key among others, −1 where it is none of them."""
    if not len(among):
        return np.full(len(keys), -1, dtype=np.int64)
    order = np.argsort(among, kind="stable")
    place = np.minimum(np.searchsorted(among[order], keys), len(among) - 1)
    rows: Ints = np.where(among[order][place] == keys, order[place], -1)
    return rows


def _where(column: pd.Series, row: Ints) -> Any:
    return np.append(column.to_numpy(dtype=np.float64, na_value=np.nan), np.nan)[row]


def _counts(labels: Labels, name: str, row: Ints) -> Ints:
    if name not in labels:
        return np.full(len(row), -1, dtype=np.int64)
    counts: Ints = np.nan_to_num(_where(labels[name], row), nan=-1).astype(np.int64)
    return counts


def _support(labels: Labels, row: Ints) -> Any:
    if "posterior" in labels:
        return _where(labels["posterior"], row)
    return np.full(len(row), np.nan)


def _changed_winners(of_lists: Ints, before: Bools, after: Bools) -> tuple[Bools, Bools]:
    """Return for each query whether a winner lost its place, and whether only further runs have it."""
    winners = []
    for is_relevant in (before, after):
        found = np.append(is_relevant, False)[of_lists]
        first = np.where(found.any(axis=2), found.argmax(axis=2), of_lists.shape[2])
        best = first.min(axis=1, initial=of_lists.shape[2])
        winners.append((first == best[:, None]) & (best < of_lists.shape[2])[:, None])
    was, now = winners
    is_known = was.any(axis=1) & now.any(axis=1)
    lost = is_known & (was & ~now).any(axis=1)
    return lost, is_known & ~lost & (now & ~was).any(axis=1)
