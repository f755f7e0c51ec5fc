"""Between which values a score lies, whatever the unjudged docs of a ranking are.

An assignment makes each unjudged doc that the measure reads (its top k; all that was ranked without a
cutoff) a positive or not; docs outside stay as they are, and positives kept below the run's top stay at
their ranks. For a given number m of added positives, each
measure here is the better the higher they stand: so the best assignment is the first m unjudged docs
for some m, the worst the last m for some m. Measures whose value can only grow with m need one
evaluation for each side. The others divide by |G| or by an ideal: where the definition has sums for all
m at once (`filled`), these say which m to evaluate; else every m is.

Measures that pass unjudged docs over (bpref, infAP, condensed lists) have the values that they take once
every such doc is judged; while some are not, the score itself may lie outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fire_toolkit.inference.judged_pairs import Bools, Floats, Ints
from fire_toolkit.matching.ideal import IdealRanking
from fire_toolkit.measures import JudgedRanking, Measure
from fire_toolkit.measures.filling import Filling

_CELLS = 1 << 22  # of query × rank, looked at together


def is_bounded(measure: Measure) -> bool:
    """Return whether `score_bounds` knows a measure, and so gives numbers; see `why_unbounded`."""
    return measure.definition.bounds != "none"


def why_unbounded(measure: Measure) -> str:
    """Return why a measure has no bounds, as the end of a sentence; empty where it has.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> why_unbounded(parse_measure("Judged@10"))
        'says how much is judged, and is no score'
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
    if not is_bounded(measure) or (ranking.rank % 1).any():
        nothing = np.full(ranking.n_queries, np.nan)
        return nothing, nothing
    if measure.condensed:
        deepest = int(ranking.n_retrieved.max(initial=0))
        ranking, measure = replace(ranking.top, worst_rank=deepest + 1), replace(measure, condensed=False)
    full, place, n_unjudged = _with_unjudged(ranking, measure.depth)
    low, high = np.full(ranking.n_queries, np.inf), np.full(ranking.n_queries, -np.inf)
    for is_added in _candidates(full, place, n_unjudged, measure):
        values = measure.per_query(measure.view(_assigned(full, place, is_added, measure)))
        low, high = np.minimum(low, values), np.maximum(high, values)
    return low, high


def _candidates(full: JudgedRanking, place: Ints, n_unjudged: Ints, measure: Measure) -> Iterator[Bools]:
    """Yield for each entry whether it is an added positive, until every query's best and worst are tried."""
    most = int(n_unjudged.max(initial=0))
    yield np.zeros(len(place), dtype=bool)
    if measure.definition.bounds == "monotone":
        yield place > 0
        return
    if measure.definition.filled is not None:
        best, worst = _best_and_worst(full, place, measure)
        yield (place > 0) & (place <= best[full.query])
        yield place > (n_unjudged - worst)[full.query]
        return
    for number in range(1, most + 1):
        n_added = np.minimum(number, n_unjudged)
        yield (place > 0) & (place <= n_added[full.query])
        if number < most:
            yield place > (n_unjudged - n_added)[full.query]


def _best_and_worst(full: JudgedRanking, place: Ints, measure: Measure) -> tuple[Ints, Ints]:
    """Return how many of its first unjudged docs are best for each query, and of its last ones worst.

    From 1 up; 0 where a query has no unjudged doc. Sums over blocks of queries find both.
    """
    best = np.zeros(full.n_queries, dtype=np.int64)
    worst = best.copy()
    depth = int(full.rank[place > 0].max(initial=1))
    step = max(_CELLS // depth, 1)
    for start in range(0, full.n_queries, step):
        queries = np.arange(start, min(start + step, full.n_queries))
        entries = full.entries_of(queries)
        unjudged = entries[place[entries] > 0]
        is_open = np.zeros((queries.size, depth), dtype=bool)
        is_open[full.query[unjudged] - start, full.rank[unjudged].astype(np.int64) - 1] = True
        filling = Filling(measure.view(full.of(queries)), is_open, measure.level)
        first, last = measure.filled(filling)
        rows = np.arange(queries.size)
        at_best = np.where(is_open, first, -np.inf).argmax(axis=1)
        at_worst = np.where(is_open, last, np.inf).argmin(axis=1)
        best[queries] = filling.n_added[0][rows, at_best]
        worst[queries] = filling.n_added[1][rows, at_worst]
    return best, worst


def _with_unjudged(ranking: JudgedRanking, depth: int | None) -> tuple[JudgedRanking, Ints, Ints]:
    """Return the ranking with an entry for each unjudged doc down to `depth`, and their places.

    place: 1, 2, ... for each query's unjudged docs in rank order, 0 for judged ones; then their number.
    """
    kept = ranking.is_judged | ~ranking.is_in_top
    query, rank, relevance = ranking.query[kept], ranking.rank[kept], ranking.relevance[kept]
    length = ranking.n_retrieved if depth is None else np.minimum(ranking.n_retrieved, depth)
    start = np.cumsum(length) - length
    is_open: Bools = np.ones(int(length.sum()), dtype=bool)
    is_inside = rank <= length[query]
    is_open[start[query[is_inside]] + rank[is_inside].astype(np.int64) - 1] = False
    slot = np.flatnonzero(is_open)
    open_query = np.repeat(np.arange(ranking.n_queries), length)[slot]
    n_open = np.bincount(open_query, minlength=ranking.n_queries).astype(np.int64)
    place = np.arange(len(slot)) - (np.cumsum(n_open) - n_open)[open_query] + 1
    all_query = np.concatenate([query, open_query])
    all_rank = np.concatenate([rank, (slot - start[open_query] + 1).astype(np.float64)])
    order = np.lexsort((all_rank, all_query))
    full = replace(
        ranking,
        query=all_query[order],
        rank=all_rank[order],
        relevance=np.concatenate([relevance, np.zeros(len(slot), dtype=np.int64)])[order],
    )
    return full, np.concatenate([np.zeros(len(query), dtype=np.int64), place])[order], n_open


def _assigned(full: JudgedRanking, place: Ints, is_added: Bools, measure: Measure) -> JudgedRanking:
    """Return the ranking in which the chosen unjudged docs are positives and the others not."""
    is_of_judged = measure.definition.skips_unjudged
    kept = np.ones(len(place), dtype=bool) if is_of_judged else (place == 0) | is_added
    lost = np.bincount(full.query[(place > 0) & ~is_added], minlength=full.n_queries)
    grade = np.full(int(np.count_nonzero(is_added)), measure.level, dtype=np.int64)
    ideal_query = np.concatenate([full.ideal.query, full.query[is_added]])
    ideal_grade = np.concatenate([full.ideal.grade, grade])
    order = np.lexsort((-ideal_grade, ideal_query))
    return replace(
        full,
        query=full.query[kept],
        rank=full.rank[kept],
        relevance=np.where(is_added, measure.level, full.relevance)[kept],
        ideal=IdealRanking(ideal_query[order], ideal_grade[order], full.n_queries),
        n_nonrelevant=full.n_nonrelevant + lost if is_of_judged else full.n_nonrelevant,
    )
