"""Builders shared by the tests of measures: from dicts of scores and relevances to a joined ranking."""

from collections.abc import Callable, Mapping

import pytest
from small_world import make_qrels, make_run

from fire_toolkit.measures import JudgedRanking, code_qrels, judge_run

Scores = Mapping[str, Mapping[str, float]]
Relevances = Mapping[str, Mapping[str, int]]
Join = Callable[[Scores, Relevances], JudgedRanking]


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
