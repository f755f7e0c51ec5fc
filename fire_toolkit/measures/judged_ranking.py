"""A run joined with qrels: where the docs of the qrels stand in each query's ranking.

This is all that a measure sees. Docs that the qrels do not hold leave no entry; how many there are
follows from the number retrieved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from fire_toolkit.measures.segments import (
    Bools,
    Floats,
    Ints,
    count_by_query,
    find_pairs,
    running_count,
)
from fire_toolkit.tables import Qrels, Run


@dataclass(frozen=True, eq=False)
class CodedQrels:
    """Qrels as integers: made once, joined with many runs.

    queries: the universe, sorted ids; docs: the ids of the qrels; pairs: `query * len(docs) + doc`,
    ascending; relevance: of each pair.
    """

    queries: pd.Index[str]
    docs: pd.Index[str]
    pairs: Ints
    relevance: Ints

    @property
    def query(self) -> Ints:
        """Return the index in `queries` of each pair."""
        return self.pairs // max(len(self.docs), 1)


@dataclass(frozen=True, eq=False)
class FoundPositives:
    """The positives that stand in the rankings, sorted by query, then rank.

    query, rank and grade of each; place: 1 for the first positive of a ranking, 2 for the second, ...
    """

    query: Ints
    rank: Floats
    grade: Ints
    place: Ints

    def to(self, k: int | None) -> FoundPositives:
        """Return those at rank k or better; all of them when k is None."""
        if k is None:
            return self
        kept = self.rank <= k
        return FoundPositives(self.query[kept], self.rank[kept], self.grade[kept], self.place[kept])


@dataclass(frozen=True, eq=False)
class JudgedRanking:
    """For each query of the qrels, the ranks and relevances of the qrels' docs in a run.

    Attributes:
        query: (n_entries,) index of the query; entries are sorted by query, then rank.
        rank: (n_entries,) 1-based; whole numbers unless tied docs share their mean rank.
        relevance: (n_entries,) below 0: pooled but not judged; 0: judged not relevant; from 1: positive.
        n_retrieved: (n_queries,) length of each ranking; 0 for a query missing from the run.
        ideal_query, ideal_grade: (n_positives,) the qrels' positives, retrieved or not, by query, then
            grade descending.
        n_nonrelevant: (n_queries,) docs judged not relevant, retrieved or not.
        worst_rank: one past the deepest rank: a lower bound for the rank of what was not retrieved.
        n_extra_queries: queries of the run that the qrels do not hold; they are ignored.
    """

    query: Ints
    rank: Floats
    relevance: Ints
    n_retrieved: Ints
    ideal_query: Ints
    ideal_grade: Ints
    n_nonrelevant: Ints
    worst_rank: int
    n_extra_queries: int = 0

    @property
    def n_queries(self) -> int:
        """Return the size of the universe: the queries of the qrels."""
        return self.n_retrieved.size

    @cached_property
    def n_positives(self) -> Ints:
        """Return |G| of each query."""
        return count_by_query(self.ideal_query, self.n_queries)

    @cached_property
    def is_judged(self) -> Bools:
        """Return for each entry whether its doc was judged (relevance 0 or more)."""
        return self.relevance >= 0

    @cached_property
    def is_positive(self) -> Bools:
        """Return for each entry whether its doc is a positive (relevance 1 or more)."""
        return self.relevance >= 1

    @cached_property
    def found(self) -> FoundPositives:
        """Return the positives that stand in the rankings."""
        kept = self.is_positive
        query = self.query[kept]
        place = running_count(query, np.ones(query.size, dtype=bool))
        return FoundPositives(query, self.rank[kept], self.relevance[kept], place)

    @cached_property
    def first_positive(self) -> Floats:
        """Return the rank of each query's first positive; infinite when none was retrieved."""
        rank = np.full(self.n_queries, np.inf)
        is_first = self.found.place == 1
        rank[self.found.query[is_first]] = self.found.rank[is_first]
        return rank

    @cached_property
    def ideal_place(self) -> Ints:
        """Return 1, 2, ... for each query's positives in their ideal order."""
        return running_count(self.ideal_query, np.ones(self.ideal_query.size, dtype=bool))

    def with_level(self, level: int) -> JudgedRanking:
        """Return the ranking in which positives below grade `level` count as judged not relevant."""
        is_kept = self.ideal_grade >= level
        lowered = count_by_query(self.ideal_query[~is_kept], self.n_queries)
        return replace(
            self,
            relevance=np.where(self.relevance >= level, self.relevance, np.minimum(self.relevance, 0)),
            ideal_query=self.ideal_query[is_kept],
            ideal_grade=self.ideal_grade[is_kept],
            n_nonrelevant=self.n_nonrelevant + lowered,
        )

    def condensed(self) -> JudgedRanking:
        """Return the ranking of the judged docs alone, the others left out and the ranks closed up.

        Source: Sakai, Alternatives to Bpref, SIGIR 2007; trec_eval's -J.
        """
        kept = self.is_judged
        query = self.query[kept]
        rank = running_count(query, np.ones(query.size, dtype=bool))
        return replace(
            self,
            query=query,
            rank=rank.astype(np.float64),
            relevance=self.relevance[kept],
            n_retrieved=count_by_query(query, self.n_queries),
            worst_rank=int(rank.max(initial=0)) + 1,
        )


def code_qrels(qrels: Qrels, *, queries: pd.Index[str] | None = None) -> CodedQrels:
    """Return `qrels` as integers, over the universe `queries` (sorted; by default its own).

    Pairs of queries outside the universe are left out.
    """
    query, own_queries = pd.factorize(qrels["query_id"])
    doc, docs = pd.factorize(qrels["doc_id"])
    universe = pd.Index(own_queries) if queries is None else queries
    place = universe.get_indexer(own_queries)[query]
    is_kept = place >= 0
    pairs = (place[is_kept] * len(docs) + doc[is_kept]).astype(np.int64)
    order = np.argsort(pairs, kind="stable")
    relevance = qrels["relevance"].to_numpy(dtype=np.int64)[is_kept]
    return CodedQrels(universe, pd.Index(docs), pairs[order], relevance[order])


def judge_run(run: Run, coded: CodedQrels) -> JudgedRanking:
    """Return where the docs of the qrels stand in `run`, which holds one run.

    Ranks are the run's own (score descending, doc id descending). A query that the run lacks has an
    empty ranking; the run's queries outside the universe are ignored and counted.

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> judge_run(rank_run(scored), code_qrels(qrels)).first_positive
        array([2.])
    """
    run_query = run["query_id"].cat
    to_query = coded.queries.get_indexer(run_query.categories)
    to_doc = coded.docs.get_indexer(run["doc_id"].cat.categories)
    n_rows = np.bincount(run_query.codes, minlength=to_query.size)
    in_universe = to_query >= 0
    n_retrieved = np.zeros(len(coded.queries), dtype=np.int64)
    n_retrieved[to_query[in_universe]] = n_rows[in_universe]

    row_query, row_doc = to_query[run_query.codes], to_doc[run["doc_id"].cat.codes]
    rows = np.flatnonzero((row_query >= 0) & (row_doc >= 0))
    keys = row_query[rows] * len(coded.docs) + row_doc[rows]
    place = find_pairs(keys, coded.pairs, len(coded.queries) * len(coded.docs))
    is_known = place >= 0
    rows, place = rows[is_known], place[is_known]
    ideal_query, ideal_grade = _ideal_order(coded)
    return JudgedRanking(
        query=row_query[rows].astype(np.int64),
        rank=run["rank"].to_numpy()[rows].astype(np.float64),
        relevance=coded.relevance[place],
        n_retrieved=n_retrieved,
        ideal_query=ideal_query,
        ideal_grade=ideal_grade,
        n_nonrelevant=count_by_query(coded.query[coded.relevance == 0], len(coded.queries)),
        worst_rank=int(run["rank"].to_numpy()[row_query >= 0].max(initial=0)) + 1,
        n_extra_queries=int(np.count_nonzero(n_rows[~in_universe])),
    )


def _ideal_order(coded: CodedQrels) -> tuple[Ints, Ints]:
    is_positive = coded.relevance >= 1
    query, grade = coded.query[is_positive], coded.relevance[is_positive]
    order = np.lexsort((-grade, query))
    return query[order], grade[order]
