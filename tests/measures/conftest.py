"""Builders shared by the tests of measures: from dicts of scores and relevances to a joined ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import pytest

from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import JudgedRanking, code_qrels, judge_run
from fire_toolkit.tables import Qrels, Run, check_qrels

Scores = Mapping[str, Mapping[str, float]]
Relevances = Mapping[str, Mapping[str, int]]
Join = Callable[[Scores, Relevances], JudgedRanking]


def make_run(scores: Scores, run_id: str = "m") -> Run:
    rows = [(run_id, q, d, s) for q, docs in scores.items() for d, s in docs.items()]
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"], dtype=object))


def make_qrels(relevances: Relevances) -> Qrels:
    rows = [(q, d, r) for q, docs in relevances.items() for d, r in docs.items()]
    return check_qrels(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"], dtype=object))


@pytest.fixture(scope="session")
def join() -> Join:
    return lambda scores, relevances: judge_run(make_run(scores), code_qrels(make_qrels(relevances)))


@pytest.fixture(scope="session")
def at_ranks() -> Callable[..., JudgedRanking]:
    """One query, `length` docs, positives of grade 1 at `ranks`, `total` positives in all."""

    def build(ranks: list[int], *, length: int, total: int) -> JudgedRanking:
        run = make_run({"q": {f"d{rank:03d}": -rank for rank in range(1, length + 1)}})
        found = {f"d{rank:03d}": 1 for rank in ranks}
        missed = {f"missed{n}": 1 for n in range(total - len(ranks))}
        return judge_run(run, code_qrels(make_qrels({"q": {**found, **missed}})))

    return build
