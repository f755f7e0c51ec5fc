"""Small random benchmarks, as tables and as plain dictionaries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from fire_toolkit.errors import JoinError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.matching.joining import AnyRun, HeldRun, rank_pairs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import CodedQrels, JudgedRanking, code_qrels
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Labels, PoolSources, Qrels, Run, check_labels, check_pool_sources, check_qrels

T = TypeVar("T")
SCORED = ["run_id", "query_id", "doc_id", "score"]


def made(check: Callable[[pd.DataFrame], T], columns: str, *rows: tuple[object, ...]) -> T:
    """Return a table of rows, by the columns' names with blanks between, as its check returns it."""
    return check(pd.DataFrame(list(rows), columns=columns.split(), dtype=object))


def make_run(scores: Mapping[str, Mapping[str, float]], run_id: str = "m") -> Run:
    """Return a run from query → doc → score."""
    rows = [(run_id, query, doc, score) for query, docs in scores.items() for doc, score in docs.items()]
    return rank_run(pd.DataFrame(rows, columns=SCORED, dtype=object))


def run_in_order(run_id: str, lists: Mapping[str, Iterable[str]]) -> Run:
    """Return a run from query → docs, best first."""
    return make_run({q: {doc: -float(n) for n, doc in enumerate(docs)} for q, docs in lists.items()}, run_id)


def make_qrels(relevances: Mapping[str, Mapping[str, int]]) -> Qrels:
    """Return qrels from query → doc → relevance."""
    return qrels_of({(query, doc): r for query, docs in relevances.items() for doc, r in docs.items()})


def make_qrels_in_strata(relevances: Mapping[str, Mapping[str, int]]) -> Qrels:
    """Return qrels from query → doc → relevance, of two strata."""
    rows = [(q, d, r, str(len(d + q) % 2)) for q, docs in relevances.items() for d, r in docs.items()]
    return made(check_qrels, "query_id doc_id relevance stratum", *rows)


def orders_of(docs: Mapping[str, int]) -> list[list[str]]:
    """Return every order of the docs that their scores allow."""
    orders: list[list[str]] = [[]]
    for score in sorted(set(docs.values()), reverse=True):
        tied = [doc for doc in docs if docs[doc] == score]
        orders = [above + list(below) for above in orders for below in permutations(tied)]
    return orders


def qrels_of(pairs: Mapping[tuple[str, str], int]) -> Qrels:
    """Return qrels from (query, doc) → relevance."""
    rows = ((*pair, relevance) for pair, relevance in pairs.items())
    return made(check_qrels, "query_id doc_id relevance", *rows)


def drawn(queries: Sequence[str], docs: Sequence[str], values: st.SearchStrategy[T]) -> Any:
    """Draw query → doc → value, with at least a query and a doc of each."""
    of_docs = st.dictionaries(st.sampled_from(docs), values, min_size=1)
    return st.dictionaries(st.sampled_from(queries), of_docs, min_size=1)


class World:
    """Runs, original qrels, labels of the pooled pairs and the pool's sources."""

    def __init__(
        self, seed: int, *, n_queries: int = 6, n_docs: int = 12, depth: int = 8, pool_depth: int = 3
    ) -> None:
        rng = np.random.default_rng(seed)
        queries = [f"q{number:02}" for number in range(n_queries)]
        docs = [f"d{number:02}" for number in range(n_docs)]
        self.run_ids = ["r1", "r2", "r3"]
        lists = {
            (run_id, query): [docs[doc] for doc in rng.permutation(n_docs)[:depth]]
            for run_id in self.run_ids
            for query in queries
        }
        rows = [(*of, doc, -float(place)) for of, own in lists.items() for place, doc in enumerate(own)]
        self.runs: Run = made(rank_run, " ".join(SCORED), *rows)
        positives = [(query, docs[rng.integers(n_docs)], 1) for query in queries]
        self.original: Qrels = made(check_qrels, "query_id doc_id relevance", *positives)
        in_top = self.runs["rank"] <= pool_depth
        pooled = self.runs[in_top].astype(dict.fromkeys(("run_id", "query_id", "doc_id"), "str"))
        self.sources: PoolSources = check_pool_sources(pooled[["query_id", "doc_id", "run_id", "rank"]])
        pairs = pooled[["query_id", "doc_id"]].drop_duplicates().reset_index(drop=True)
        relevance = (rng.random(len(pairs)) < 0.4).astype(int)
        label = np.where(relevance, "relevant", "irrelevant")
        self.labels: Labels = check_labels(pairs.assign(label=label, relevance=relevance))
        self.augmented: Qrels = augment_qrels(self.original, self.labels).qrels

    def means_without(
        self, members: set[str], measures: list[str], policy: str = "union"
    ) -> dict[tuple[str, str], float]:
        """Score the runs without the labels of pairs that only members pooled: by run and measure."""
        finders = self.sources.groupby(["query_id", "doc_id"])["run_id"].agg(set)
        pairs = zip(self.labels["query_id"], self.labels["doc_id"], strict=True)
        kept = check_labels(self.labels[[not finders[pair] <= members for pair in pairs]])
        augmented, _ = augment_qrels(self.original, kept, policy=policy)
        scores = score_runs(self.runs, self.original, measures, augmented=augmented).scores
        return {(s.run_id, s.measure): s.value for s in scores.itertuples() if s.qrels == "augmented"}


def joined_or_why_not(run: AnyRun, original: Qrels, augmented: Qrels) -> list[object] | str:
    """Return what a run joined with both qrels holds, as lists; or in words why it cannot be joined."""
    try:
        joined = join_runs(run, original, augmented)
    except JoinError as error:
        return str(error).partition("(")[0]
    (run_id,) = joined.places
    ranking = joined.ranking(run_id, joined.label(augmented))
    arrays = (ranking.query, ranking.rank, ranking.relevance, ranking.n_retrieved, ranking.last_rank)
    return [*(array.tolist() for array in arrays), ranking.worst_rank, ranking.n_extra_queries]


def judge_matrix(
    scores: np.ndarray, coded: CodedQrels, *, query_ids: list[str], doc_ids: list[str]
) -> JudgedRanking:
    """Return where the docs of the qrels stand when each row of a matrix is ranked."""
    held = [(scores, np.full(len(scores), -np.inf, dtype=scores.dtype))]
    ids = {"query_ids": pd.Index(query_ids, dtype="str"), "doc_ids": pd.Index(doc_ids, dtype="str")}
    return rank_pairs(held, coded, **ids).placed(coded).by(coded)


def judge_run(run: Run, coded: CodedQrels, *, with_ties: bool = False) -> JudgedRanking:
    """Return where the docs of the qrels stand in a run, which need not fit them."""
    ranks = HeldRun("", run).rank_pairs(coded, with_ties=with_ties)
    return ranks.placed(coded, with_ties=with_ties).by(coded)


def join(
    scores: Mapping[str, Mapping[str, float]], relevances: Mapping[str, Mapping[str, int]]
) -> JudgedRanking:
    """Return the ranking of query → doc → score, judged by query → doc → relevance."""
    return judge_run(make_run(scores), code_qrels(make_qrels(relevances)))


def at_ranks(ranks: list[int], *, length: int, total: int) -> JudgedRanking:
    """Return one query of `length` docs, with positives of grade 1 at `ranks`, `total` positives in all."""
    missed = {f"missed{n}": 1 for n in range(total - len(ranks))}
    positives = {f"d{rank:03d}": 1 for rank in ranks} | missed
    return join({"q": {f"d{rank:03d}": -rank for rank in range(1, length + 1)}}, {"q": positives})
