"""What a strategy chooses from, the docs in the top of the runs as codes, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import (
    Bools,
    Codes,
    Floats,
    Ints,
    count_by_query,
    find_pairs,
    starts_of_groups,
    starts_of_lists,
)
from fire_toolkit.pooling.tops import Tops
from fire_toolkit.tables import Labels
from fire_toolkit.tables.columns import packed_codes

NO_PAIRS: Ints = np.empty(0, dtype=np.int64)
_NOTHING: Mapping[str, npt.NDArray[Any]] = MappingProxyType({})


class Budget(NamedTuple):
    """How many pairs may be pooled, in all and of one query; None: no limit."""

    in_all: int | None = None
    per_query: int | None = None


class Choice(NamedTuple):
    """What a strategy pools.

    pairs: places among the candidates' pairs, each once, in any order. columns: further columns of the pool
    (stratum, inclusion_probability, design_class, …), with a value for each of `pairs`. stops: why it took
    no more of a query, in a word, with a value for each of `query_ids`; empty where it does not say. again:
    places of judged pairs that need one more vote before it can go on. undrawn: the pairs that a random draw
    left out, with the same columns. population: all pairs that a machine judge's sample could draw, with
    stratum, inclusion_probability, is_drawn and score.
    """

    pairs: Ints
    columns: Mapping[str, npt.NDArray[Any]] = _NOTHING
    stops: Sequence[str] = ()
    again: Ints = NO_PAIRS
    undrawn: Choice | None = None
    population: Choice | None = None


@dataclass(frozen=True)
class Strategy:
    """A way to pool.

    choose: a pure function of `Candidates` and `Budget`, which it keeps to; its keyword parameters are the
    strategy's own, and have a default of type int, float or str, or an annotation where they must be given.
    reads_labels: whether it reads the answers so far; pooled again, it goes on from them. reads_machine:
    whether it reads a machine judge's scores. by_query: whether what it pools of a query depends on that
    query alone, where there is no budget in all; many queries are then pooled a part at a time.
    """

    choose: Callable[..., Choice]
    reads_labels: bool = False
    reads_machine: bool = False
    by_query: bool = False


@dataclass(frozen=True)
class Known:
    """What is known of each pair before it is pooled.

    is_original: an original positive; is_asked: somebody was asked; is_judged: somebody answered; relevance:
    of its label, −1 where it has none; n_agree: the votes for that label, 0 where it has none.
    """

    is_original: Bools
    is_asked: Bools
    is_judged: Bools
    relevance: Ints
    n_agree: Ints


@dataclass(frozen=True)
class Candidates:
    """Every pair in the top of any run, and the entries of the runs that brought it.

    An entry is one doc of one run's list. Entries stand by query, doc and run; pairs by query and doc. Codes
    follow the sorted ids, so that a higher doc code is a higher doc id.

    Attributes:
        query_ids, doc_ids, run_ids: sorted; some queries and docs may have no entry.
        entry_query, entry_doc, run: codes of each entry.
        rank, score: of each entry; depth: the deepest rank that was read.
        query, doc: codes of each pair; pair: the place of each entry's pair; starts: its first entry.
        known: what is known of each pair.
        seed: of what is drawn at random; depth_asked: the pool's depth, however deep the runs are.
        machine_score: of each pair by a machine judge, nan where it has none; empty where none was asked.
    """

    query_ids: pd.Index[str]
    doc_ids: pd.Index[str]
    run_ids: pd.Index[str]
    entry_query: Codes
    entry_doc: Codes
    run: Codes
    rank: Ints
    depth: int
    known: Known = field(repr=False)
    scores: tuple[Sequence[Floats], Ints] = field(repr=False)  # run after run; entry → its place there
    seed: int = 0
    depth_asked: int = 0
    machine_score: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    @cached_property
    def score(self) -> Floats:
        """The score of each entry."""
        parts, order = self.scores
        return np.asarray(np.concatenate(parts)[order], dtype=np.float64)

    @cached_property
    def starts(self) -> Ints:
        """The first entry of each pair."""
        return starts_of_groups(self.entry_query, self.entry_doc)

    @cached_property
    def query(self) -> Codes:
        """The query of each pair."""
        return self.entry_query[self.starts]

    @cached_property
    def doc(self) -> Codes:
        """The doc of each pair."""
        return self.entry_doc[self.starts]

    @cached_property
    def n_runs(self) -> Ints:
        """How many runs brought each pair."""
        return np.diff(self.starts, append=len(self.rank))

    @cached_property
    def pair(self) -> Ints:
        """The pair of each entry."""
        return np.repeat(np.arange(len(self.starts)), self.n_runs)

    @cached_property
    def best_rank(self) -> Ints:
        """The best rank of each pair over the runs."""
        return np.minimum.reduceat(self.rank, self.starts) if len(self.starts) else self.rank

    @cached_property
    def n_pairs(self) -> Ints:
        """How many pairs each of `query_ids` has."""
        return count_by_query(self.query.astype(np.int64), len(self.query_ids))

    @cached_property
    def lists(self) -> tuple[Ints, Ints]:
        """The pairs of each list in rank order, list after list by run and query, and where each begins.

        The list of run r and query q begins at `starts[r * len(query_ids) + q]`.
        """
        pairs = np.empty(len(self.rank), dtype=np.int64)
        pairs[self.scores[1]] = self.pair
        lists = self.run.astype(np.int64) * len(self.query_ids) + self.entry_query
        return pairs, starts_of_lists(count_by_query(lists, len(self.run_ids) * len(self.query_ids)))

    def places_of(self, pairs: pd.DataFrame) -> Ints:
        """Return for each row (query_id, doc_id) its place among the pairs, −1 where it is none of them."""
        query = self.query_ids.get_indexer(pd.Index(pairs["query_id"]))
        doc = self.doc_ids.get_indexer(pd.Index(pairs["doc_id"]))
        n_docs = max(len(self.doc_ids), 1)
        own = self.query.astype(np.int64) * n_docs + self.doc
        is_there = (query >= 0) & (doc >= 0)
        keys = np.where(is_there, query * n_docs + doc, 0)
        return np.where(is_there, find_pairs(keys, own, len(self.query_ids) * n_docs), -1)


def candidates_of(tops: Tops, depth: int, queries: tuple[int, int] | None = None) -> Candidates:
    """Return the candidates at ranks up to `depth`, of a range of queries; nothing is known of them yet."""
    query, doc, run, rank, scores = tops.entries(depth, queries)
    order = np.argsort(packed_codes([query, doc, run]), kind="stable")
    nothing = Known(*(np.empty(0, dtype=kind) for kind in (bool, bool, bool, np.int64, np.int64)))
    return Candidates(
        tops.query_ids,
        tops.doc_ids,
        tops.run_ids,
        *(query[order], doc[order], run[order]),
        rank=rank[order],
        depth=min(depth, int(rank.max(initial=0))),
        known=nothing,
        scores=(scores, order),
    )


def known_of(
    candidates: Candidates,
    *,
    positives: pd.DataFrame | None,
    asked: Sequence[pd.DataFrame] = (),
    judged: pd.DataFrame | None = None,
    labels: Labels | None = None,
) -> Known:
    """Return what is known of each pair; all tables but labels have query_id and doc_id."""

    def marked(tables: Sequence[pd.DataFrame | None]) -> Bools:
        is_there = np.zeros(len(candidates.starts), dtype=bool)
        for table in tables:
            places = np.empty(0, dtype=np.int64) if table is None else candidates.places_of(table)
            is_there[places[places >= 0]] = True
        return is_there

    relevance = np.full(len(candidates.starts), -1)
    n_agree = np.zeros(len(candidates.starts), dtype=np.int64)
    if labels is not None:
        places = candidates.places_of(labels)
        found = places >= 0
        relevance[places[found]] = labels["relevance"].to_numpy()[found]
        votes = labels["n_agree"].fillna(1) if "n_agree" in labels.columns else pd.Series(1, labels.index)
        n_agree[places[found]] = votes.to_numpy(dtype=np.int64)[found]
    is_judged = marked([judged, labels])
    return Known(marked([positives]), marked(asked) | is_judged, is_judged, relevance, n_agree)
