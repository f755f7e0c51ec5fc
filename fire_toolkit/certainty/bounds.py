"""Between which values a score lies, whatever the unjudged docs of a ranking are.

An assignment makes each unjudged doc that the measure reads (its top k; the whole list without a
cutoff) a positive or not; docs outside stay as they are. For a given number m of added positives, each
measure here is the better the higher they stand: so the best assignment is the first m unjudged docs
for some m, the worst the last m for some m. Measures whose value can only grow with m need one
evaluation for each side; the others, which divide by |G| or by an ideal, one for each m.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fire_toolkit.certainty.joined import Bools, Floats, Ints, depth_read
from fire_toolkit.measures import JudgedRanking, Measure

# Can only grow (or, for ranks, only fall) with every positive added.
_MONOTONE = frozenset(
    {"C", "hit", "Success", "NN", "R", "P", "F", "E", "RR", "RBP", "CG", "DCG", "DCG_J", "MedR", "MnR"}
)
_DIVIDED = frozenset({"AP", "AP/min", "AP_fire", "nDCG", "nDCG_J", "nCG", "Rprec", "FT", "ST"})


def is_bounded(measure: Measure) -> bool:
    """Return whether `score_bounds` is exact for a measure, and so gives numbers.

    It is not for measures that treat unjudged docs apart: bpref, infAP, Judged, unjudged,
    RBP_residual, and condensed lists.
    """
    return _key(measure) in _MONOTONE | _DIVIDED and not measure.condensed


def score_bounds(ranking: JudgedRanking, measure: Measure) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each query over all assignments of unjudged docs.

    Args:
        ranking: a run joined with qrels; entries below relevance 0 count as unjudged.
        measure: an unjudged doc that is a positive has the measure's level as its grade.

    Returns:
        Two arrays (n_queries,); nan throughout where the measure `is_bounded` not, and where tied docs
        share a mean rank. As queries are
        assigned independently, means and medians of these are the exact bounds of means and medians.
    """
    if not is_bounded(measure) or (ranking.rank % 1).any():
        nothing = np.full(ranking.n_queries, np.nan)
        return nothing, nothing
    full, place, n_unjudged = _with_unjudged(ranking, depth_read(measure))
    most = int(n_unjudged.max(initial=0))
    numbers = [most] if _key(measure) in _MONOTONE else list(range(1, most + 1))
    low = high = measure.per_query(measure.view(ranking))
    for number in numbers:
        n_added = np.minimum(number, n_unjudged)
        first = place <= n_added[full.query]
        last = place > (n_unjudged - n_added)[full.query]
        for is_added in (first,) if number == most else (first, last):
            values = measure.per_query(measure.view(_assigned(full, place, is_added, n_added, measure.level)))
            low, high = np.minimum(low, values), np.maximum(high, values)
    return low, high


def _key(measure: Measure) -> str:
    variant = measure.definition.variant
    return measure.definition.name + (f"/{variant}" if variant else "")


def _with_unjudged(ranking: JudgedRanking, depth: int | None) -> tuple[JudgedRanking, Ints, Ints]:
    """Return the ranking with an entry for each unjudged doc down to `depth`, and their places.

    place: 1, 2, ... for each query's unjudged docs in rank order, 0 for judged ones; then their number.
    """
    kept = ranking.is_judged
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


def _assigned(full: JudgedRanking, place: Ints, is_added: Bools, n_added: Ints, grade: int) -> JudgedRanking:
    """Return the ranking in which the chosen unjudged docs are positives and the others not."""
    kept = (place == 0) | is_added
    ideal_query = np.concatenate([full.ideal_query, np.repeat(np.arange(full.n_queries), n_added)])
    ideal_grade = np.concatenate([full.ideal_grade, np.full(int(n_added.sum()), grade, dtype=np.int64)])
    order = np.lexsort((-ideal_grade, ideal_query))
    return replace(
        full,
        query=full.query[kept],
        rank=full.rank[kept],
        relevance=np.where(place > 0, grade, full.relevance)[kept],
        ideal_query=ideal_query[order],
        ideal_grade=ideal_grade[order],
    )
