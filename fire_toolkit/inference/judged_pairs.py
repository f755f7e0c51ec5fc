"""Runs joined once with every pair that any qrels hold; then relabelled as often as needed.

A labelling is one relevance for each pair of the union, `ABSENT` where its qrels do not hold the pair.
Original, augmented, and all qrels with somebody's judgments left out are labellings of one join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.ideal import IdealRanking
from fire_toolkit.measures import (
    CodedQrels,
    JudgedRanking,
    Measure,
    Strata,
    parse_measure,
)
from fire_toolkit.measures.depths import Reach, note_depths
from fire_toolkit.measures.stored_runs import AnyRun, judge_stored, list_stored
from fire_toolkit.tables import PoolSources, Qrels

ABSENT = int(np.iinfo(np.int64).min)
PAIR = ["query_id", "doc_id"]
Tell = Callable[[str], None]  # is told what is being worked on


def silent(words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class RelevanceVector:
    """One relevance for each pair of a join, and what follows from it for every run.

    relevance: (n_pairs,), `ABSENT` where there is none; query: (n_pairs,) ascending.
    """

    relevance: Ints
    query: Ints
    n_queries: int

    @cached_property
    def ideal(self) -> IdealRanking:
        """Return the positives of each query, the highest grade first."""
        kept = self.relevance >= 1
        query, grade = self.query[kept], self.relevance[kept]
        order = np.lexsort((-grade, query))
        return IdealRanking(query[order], grade[order], self.n_queries)

    @cached_property
    def n_nonrelevant(self) -> Ints:
        """Return for each query how many docs are judged not relevant."""
        return np.bincount(self.query[self.relevance == 0], minlength=self.n_queries).astype(np.int64)

    @cached_property
    def n_undrawn(self) -> Ints:
        """Return for each query how many docs were pooled but not drawn for judging."""
        is_undrawn = (self.relevance < 0) & (self.relevance != ABSENT)
        return np.bincount(self.query[is_undrawn], minlength=self.n_queries).astype(np.int64)

    def reverted(self, to: RelevanceVector, pairs: Bools) -> RelevanceVector:
        """Return this labelling with the chosen pairs as `to` has them."""
        return replace(self, relevance=np.where(pairs, to.relevance, self.relevance))

    def within(self, queries: Ints) -> RelevanceVector:
        """Return the labelling of some queries (ascending), which become 0, 1, ..."""
        place = places_of(queries, self.n_queries)
        kept = place[self.query] >= 0
        return RelevanceVector(self.relevance[kept], place[self.query[kept]], len(queries))


def places_of(queries: Ints, n_queries: int) -> Ints:
    """Return for each query its place in `queries`, -1 where it is not among them."""
    place = np.full(n_queries, -1, dtype=np.int64)
    place[queries] = np.arange(len(queries))
    return place


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """What `join_runs` returns.

    queries: the universe, sorted; docs: ids; keys: `query * len(docs) + doc` of each pair, ascending;
    places: run → its join, whose `relevance` is the place of the entry's pair in `keys`; stratum: of each
    pair, None where the original qrels have none.
    """

    queries: pd.Index[str]
    docs: pd.Index[str]
    keys: Ints
    places: Mapping[str, JudgedRanking] = field(default_factory=dict)
    stratum: Ints | None = None

    @cached_property
    def query(self) -> Ints:
        """Return the query of each pair."""
        return self.keys // max(len(self.docs), 1)

    def pairs_of(self, table: pd.DataFrame) -> Ints:
        """Return the place of each row's pair, -1 where the join does not hold it."""
        query = self.queries.get_indexer(pd.Index(table["query_id"]))
        doc = self.docs.get_indexer(pd.Index(table["doc_id"]))
        return self.pairs_at(query, doc)

    def pairs_at(self, query: Ints, doc: Ints) -> Ints:
        """Return the place of each pair of codes, -1 where the join does not hold it, or a code is -1."""
        keys = query * len(self.docs) + doc
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        is_known = (query >= 0) & (doc >= 0)
        if len(self.keys):
            is_known &= self.keys[place] == keys
        return np.where(is_known, place, -1).astype(np.int64)

    def label(self, qrels: Qrels) -> RelevanceVector:
        """Return the labelling of qrels whose pairs were part of the join."""
        relevance = np.full(len(self.keys), ABSENT, dtype=np.int64)
        relevance[self.pairs_of(qrels)] = qrels["relevance"].to_numpy(dtype=np.int64)
        return RelevanceVector(relevance, self.query, len(self.queries))

    def within(self, queries: Ints) -> JudgedPairs:
        """Return the join of some queries (ascending), which become 0, 1, ..."""
        place = places_of(queries, len(self.queries))
        kept_pairs = place[self.query] >= 0
        pair_place = np.cumsum(kept_pairs) - 1
        n_docs = max(len(self.docs), 1)
        keys = place[self.query[kept_pairs]] * n_docs + self.keys[kept_pairs] % n_docs
        places = {}
        for run_id, run in self.places.items():
            kept = place[run.query] >= 0
            places[run_id] = replace(
                run,
                query=place[run.query[kept]],
                rank=run.rank[kept],
                relevance=pair_place[run.relevance[kept]],
                n_retrieved=run.n_retrieved[queries],
                last_rank=run.last_rank[queries],
            )
        stratum = None if self.stratum is None else self.stratum[kept_pairs]
        return JudgedPairs(self.queries[queries], self.docs, keys, places, stratum)

    def ranking(self, run_id: str, labelling: RelevanceVector) -> JudgedRanking:
        """Return a run as the qrels of that labelling judge it; equal to joining the two anew."""
        run = self.places[run_id]
        relevance = labelling.relevance[run.relevance]
        kept = relevance != ABSENT
        return replace(
            run,
            query=run.query[kept],
            rank=run.rank[kept],
            relevance=relevance[kept],
            ideal=labelling.ideal,
            n_nonrelevant=labelling.n_nonrelevant,
            n_undrawn=labelling.n_undrawn,
            strata=self._strata(labelling, run.relevance[kept]),
        )

    def note_depths(
        self, labellings: Iterable[RelevanceVector], measures: Sequence[Measure]
    ) -> tuple[str, ...]:
        """Return the note on measures that read deeper than the runs were ranked, if there is one."""
        known = list(labellings)
        reaches = [Reach.of(run, [self.ranking(run, each) for each in known]) for run in self.places]
        note = note_depths(reaches, measures)
        return (note,) if note else ()

    def _strata(self, labelling: RelevanceVector, entries: Ints) -> Strata | None:
        if self.stratum is None:
            return None
        held = labelling.relevance != ABSENT
        return Strata(
            self.stratum[entries], labelling.query[held], self.stratum[held], labelling.relevance[held]
        )


def join_runs(runs: AnyRun | Sequence[AnyRun], original: Qrels, *others: pd.DataFrame) -> JudgedPairs:
    """Return runs joined with every pair of `original` and of `others`.

    Args:
        runs: Run tables, each of one or more runs; or runs that are read when they are joined, such as
            `formats.runs.open_run` returns.
        original: its queries are the universe.
        others: tables with query_id and doc_id: corrected qrels, labels.

    Raises:
        UsageError: no run.
        JoinError: no query; `others` have queries of their own; a run is for another split or collection,
            see `check_run_fits`.
    """
    stored = list_stored(runs)
    if not stored:
        raise UsageError("no run given; expected at least one that is not empty")
    queries = pd.Index(np.unique(original["query_id"].to_numpy(dtype=object)), dtype="str")
    if queries.empty:
        raise JoinError("qrels: no query found, expected at least one judged pair")
    both = pd.concat([original[PAIR], *(table[PAIR] for table in others)], ignore_index=True)
    query = queries.get_indexer(pd.Index(both["query_id"]))
    if (query < 0).any():
        extra = both.loc[query < 0, "query_id"].unique()
        raise JoinError(f"augmented qrels or labels: {len(extra):,} queries are not in the original qrels "
                        f"({', '.join(extra[:3])}); expected labels for the same collection")  # fmt: skip
    doc, docs = pd.factorize(both["doc_id"], sort=True)
    keys = np.unique(query.astype(np.int64) * len(docs) + doc)
    coded = CodedQrels(queries, pd.Index(docs), keys, np.arange(len(keys), dtype=np.int64))
    places = {run.run_id: judge_stored(run, coded) for run in stored}
    joined = JudgedPairs(queries, coded.docs, keys, places)
    if "stratum" not in original:
        return joined
    stratum = np.zeros(len(keys), dtype=np.int64)  # what only others hold is a stratum of its own
    stratum[joined.pairs_of(original)] = 1 + pd.factorize(original["stratum"])[0]
    return replace(joined, stratum=stratum)


def values_of(ranking: JudgedRanking, measure: Measure) -> Floats:
    """Return a measure's value of each query, its modifiers applied."""
    return measure.per_query(measure.view(ranking))


def parse_measures(measures: Sequence[str | Measure]) -> list[Measure]:
    """Return measures by name, each once; a UsageError where there is none."""
    if isinstance(measures, str) or not measures:
        raise UsageError(f"measures: found {measures!r}, expected a list of names such as ['C@1', 'AP@20']")
    return list(dict.fromkeys(parse_measure(m) if isinstance(m, str) else m for m in measures))


def own_pairs(joined: JudgedPairs, sources: PoolSources, members: set[str]) -> Bools:
    """Return which pairs were pooled by `members` alone.

    Pairs that no run pooled (originals added to the pool, say) are nobody's own.
    """
    place = joined.pairs_of(sources)
    is_member = sources["run_id"].isin(members).to_numpy()
    kept = place >= 0
    n_pairs = len(joined.keys)
    by_members = np.bincount(place[kept & is_member], minlength=n_pairs)
    by_others = np.bincount(place[kept & ~is_member], minlength=n_pairs)
    return np.asarray((by_members > 0) & (by_others == 0))
