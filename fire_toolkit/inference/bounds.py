"""Between which values a score lies, whatever the unjudged docs of a ranking are.

An assignment makes each unjudged doc that the measure reads (its top k; all that was ranked without a
cutoff) a positive or not; docs outside stay as they are, and positives kept below the run's top stay at
their ranks. For a given number m of added positives, each
measure here is the better the higher they stand: so the best assignment is the first m unjudged docs
for some m, the worst the last m for some m. Measures whose value can only grow with m need one
evaluation for each side. The others divide by |G| or by an ideal: where the definition has the values for
all m at once (`filled`), these are taken; else every m is evaluated. Queries are taken a block at a time,
so that memory does not grow with the number of unjudged docs.

Measures that pass unjudged docs over (bpref, infAP, condensed lists) have the values that they take once
every such doc is judged; while some are not, the score itself may lie outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, count_by_query
from fire_toolkit.kernels import compiled
from fire_toolkit.matching.ideal import IdealRanking
from fire_toolkit.measures import JudgedRanking, Measure
from fire_toolkit.measures.filling import Filling

_CELLS = 1 << 17  # of query × rank, looked at together: a few arrays of them fit into a core's cache


def is_bounded(measure: Measure) -> bool:
    """Return whether `score_bounds` knows a measure, and so gives numbers; see `why_unbounded`."""
    return measure.definition.bounds != "none"


def why_unbounded(measure: Measure) -> str:
    """Return why a measure has no bounds, as the end of a sentence; empty where it has.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> why_unbounded(parse_measure("Judged@10"))
        'measures how much is judged and is not a score'
    """
    return "" if is_bounded(measure) else measure.definition.no_bounds


def score_bounds(ranking: JudgedRanking, measure: Measure) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each query over all assignments of unjudged docs.

    Args:
        ranking: a run joined with qrels; entries below relevance 0 count as unjudged.
        measure: an unjudged doc that is a positive has the measure's level as its grade. A measure of
            condensed lists has the bounds of the measure itself on the top: with all docs judged none is
            left out.

    Returns:
        Two arrays (n_queries,); nan throughout where the measure `is_bounded` not, and where tied docs
        share a mean rank. As queries are
        assigned independently, means and medians of these are the exact bounds of means and medians.
    """
    low, high = np.full((2, ranking.n_queries), np.nan)
    if not is_bounded(measure) or (ranking.rank != np.floor(ranking.rank)).any():
        return low, high
    if measure.condensed:
        deepest = int(ranking.n_retrieved.max(initial=0))
        ranking, measure = replace(ranking.top, worst_rank=deepest + 1), replace(measure, condensed=False)
    ranking = replace(measure.view(ranking), strata=None)
    depth = int(ranking.n_retrieved.max(initial=0))
    depth = depth if measure.depth is None else min(depth, measure.depth)
    if measure.definition.bounds == "monotone" and measure.definition.by_first_positive:
        depth = min(depth, _most_judged(ranking) + 1)  # the first unjudged doc stands here
    compiled(ranking.n_queries * depth)  # the blocks alone are too small to load the loops for
    step = max(_CELLS // max(depth, 1), 1)
    for start in range(0, ranking.n_queries, step):
        block = np.arange(start, min(start + step, ranking.n_queries))
        low[block], high[block] = _bounds_of_block(ranking.of(block), measure, depth)
    return low, high


def _most_judged(ranking: JudgedRanking) -> int:
    """Return the greatest number of judged docs in a top."""
    judged = ranking.query[ranking.is_judged & ranking.is_in_top]
    return int(count_by_query(judged, ranking.n_queries).max(initial=0))


def _bounds_of_block(ranking: JudgedRanking, measure: Measure, depth: int) -> tuple[Floats, Floats]:
    """Return the bounds of each query of a ranking that `view` has returned."""
    is_open = _find_open(ranking, depth)
    low = measure.per_query(_without_added(ranking, is_open, measure))
    high = low.copy()
    if depth and measure.definition.bounds == "ends" and measure.definition.filled is not None:
        first, last = measure.filled(Filling(ranking, is_open, measure.level))
        return np.minimum(low, last.min(axis=1)), np.maximum(high, first.max(axis=1))
    for is_added in _candidates(is_open, measure):
        values = measure.per_query(_assigned(ranking, is_open, is_added, measure))
        low, high = np.minimum(low, values), np.maximum(high, values)
    return low, high


def _find_open(ranking: JudgedRanking, depth: int) -> Bools:
    """Return (n_queries, depth): where the unjudged docs of each top stand."""
    is_open: Bools = np.arange(1, depth + 1) <= ranking.n_retrieved[:, None]
    shut = np.flatnonzero(ranking.is_judged & (ranking.rank <= depth))
    is_open[ranking.query[shut], ranking.rank[shut].astype(np.int64) - 1] = False
    return is_open


def _candidates(is_open: Bools, measure: Measure) -> Iterator[Bools]:
    """Yield which unjudged docs are added positives, until every query's best and worst are tried."""
    number = np.cumsum(is_open, axis=1, dtype=np.int32)
    if measure.definition.bounds == "monotone":
        yield is_open & (number == 1) if measure.definition.by_first_positive else is_open
        return
    n_open = number[:, -1:]
    for n_added in range(1, int(n_open.max(initial=0)) + 1):
        yield is_open & (number <= n_added)
        yield is_open & (number > n_open - n_added)


def _without_added(ranking: JudgedRanking, is_open: Bools, measure: Measure) -> JudgedRanking:
    """Return the ranking in which no unjudged doc is a positive."""
    if measure.definition.skips_unjudged:
        return _assigned(ranking, is_open, np.zeros_like(is_open), measure)
    kept = _are_shut(ranking, is_open)
    return ranking if kept.all() else ranking.take(kept)


def _are_shut(ranking: JudgedRanking, is_open: Bools) -> Bools:
    """Return for each entry whether it is of no doc that an assignment decides on."""
    kept = np.ones(ranking.query.size, dtype=bool)
    inside = np.flatnonzero(ranking.rank <= is_open.shape[1])
    kept[inside] = ~is_open[ranking.query[inside], ranking.rank[inside].astype(np.int64) - 1]
    return kept


def _assigned(ranking: JudgedRanking, is_open: Bools, is_added: Bools, measure: Measure) -> JudgedRanking:
    """Return the ranking in which the chosen unjudged docs are positives and the others not.

    The others have an entry only where the measure passes over docs without one.
    """
    kept, skips = _are_shut(ranking, is_open), measure.definition.skips_unjudged
    query, place = np.nonzero(is_open if skips else is_added)
    relevance = np.where(is_added[query, place], measure.level, 0)
    query = np.concatenate([ranking.query[kept], query])
    rank = np.concatenate([ranking.rank[kept], place + 1.0])
    order = np.argsort(query * (rank.max(initial=0) + 1) + rank, kind="stable")
    return replace(
        ranking,
        query=query[order],
        rank=rank[order],
        relevance=np.concatenate([ranking.relevance[kept], relevance])[order],
        ideal=_with_added(ranking.ideal, np.count_nonzero(is_added, axis=1), measure.level),
        n_nonrelevant=ranking.n_nonrelevant + skips * np.count_nonzero(is_open & ~is_added, axis=1),
    )


def _with_added(ideal: IdealRanking, n_added: Ints, grade: int) -> IdealRanking:
    """Return the ideal rankings with positives of the lowest grade added to each query."""
    added = np.repeat(np.arange(ideal.n_queries), n_added)
    query = np.concatenate([ideal.query, added])
    order = np.argsort(query, kind="stable")
    grades = np.concatenate([ideal.grade, np.full(added.size, grade, dtype=np.int64)])
    return IdealRanking(query[order], grades[order], ideal.n_queries)
