"""One run under one qrels: the values of measures, and those at either end of its ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures import JudgedRanking, Measure
from fire_toolkit.measures.views import expected_values, score_views, settled_view

_ENDS = ("pessimistic", "optimistic")


@dataclass(frozen=True, eq=False)
class TieEnds:
    """The queries with tied docs of the qrels, and values of measures × those, at either end."""

    queries: Ints
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Judged:
    """One run under one qrels.

    values: measures × queries. ends: where ties were looked for. ranking: the run joined with the qrels.
    """

    values: Floats
    ends: TieEnds | None
    ranking: JudgedRanking


def judge_tied(tied: TiedRanking, measures: Sequence[Measure], *, ties: str | None) -> Judged:
    """Return what measures make of a run joined with qrels.

    Args:
        tied: as `join_stored` returns it.
        measures: one or more, each once.
        ties: a tie rule; None leaves the order of the run, and its ties are not looked at.
    """
    if ties == "expected":
        values = expected_values(tied, measures)
    else:
        values = score_views(partial(settled_view, tied=tied, rule=ties), measures)
    if ties is None:
        return Judged(values, None, tied.ranking)
    queries = tied.tied_queries
    low, high = (
        score_views(partial(settled_view, tied=tied, rule=rule, queries=queries), measures) for rule in _ENDS
    )
    return Judged(values, TieEnds(queries, low, high), tied.ranking)
