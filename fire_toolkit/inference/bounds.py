"""Between which values a score lies, whatever the unjudged docs are: in the run's list, or outside of it.

A labelling gives every unjudged doc a grade from 0 to the highest. Two of them are enough. In the best, each
unjudged doc of the list has the highest grade and none outside is relevant; in the worst, none of the list is
relevant, and outside as many docs as the measure can count have the highest grade. A measure says by
`Definition.bounds` which of the two bounds it, so that no measure has code of its own here. How many unjudged
docs there are outside the list is not known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fire_toolkit.arrays import Floats, Ints, count_by_query, rows_of_lists, starts_of_lists
from fire_toolkit.matching.ideal import IdealRanking
from fire_toolkit.measures import JudgedRanking, Measure

EXACT, OUTER = "exact", "outer"
_UNLISTED = "each relevant doc that nobody judged and the run does not list lowers it"
_CELLS = 1 << 17  # docs that are labelled together: a few arrays of them fit into a core's cache


def why_unbounded(measure: Measure) -> str:
    """Return why a measure lacks its lower bound, or both; empty where it has both.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> why_unbounded(parse_measure("Judged@10"))
        'no bounds; it measures how much is judged and is not a score'
        >>> why_unbounded(parse_measure("C@10"))
        ''
    """
    kind = measure.definition.bounds
    if measure.condensed:
        plain = replace(measure, condensed=False).name
        return f"no bounds; it leaves unjudged docs out, and once they are judged it is {plain}"
    if kind == "none":
        return f"no bounds; it {measure.definition.no_bounds}"
    return "" if _is_low_known(measure) else f"no lower bound; {_UNLISTED}"


def describe_bounds(measure: Measure, ranking: JudgedRanking) -> str:
    """Return what the bounds of a run's score are: `exact`, `outer`, or what is lacking and why.

    Exact bounds are reached by some labelling of the docs of the list; outer ones may not be.
    """
    if reason := why_unbounded(measure):
        return reason
    reads_a_gap = (_reach(ranking, measure) > ranking.n_retrieved).any()
    return OUTER if reads_a_gap or measure.definition.bounds != "monotone" else EXACT


def score_bounds(ranking: JudgedRanking, measure: Measure, *, highest: int = 1) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each query over all labellings of the unjudged docs.

    Args:
        ranking: a run joined with qrels; entries below relevance 0 count as unjudged.
        measure: any; see `why_unbounded`.
        highest: the highest grade that an unjudged doc can have; that of the qrels where it is higher.

    Returns:
        Two arrays (n_queries,), nan where there is no bound, and where tied docs share a mean rank. Every
        place of a list that no judged doc holds is one of an unjudged doc, down to the deepest rank that the
        run has, or that the measure reads. As queries are labelled independently, means and medians of
        these bound those of the values.
    """
    low, high = np.full((2, ranking.n_queries), np.nan)
    kind = measure.definition.bounds
    if kind == "none" or measure.condensed or (ranking.rank != np.floor(ranking.rank)).any():
        return low, high
    highest = max(highest, int(ranking.ideal.grade.max(initial=0)))
    ranking = replace(measure.view(ranking), strata=None)
    reach = _reach(ranking, measure)
    step = max(_CELLS // max(int(reach.max(initial=0)), 1), 1)
    for start in range(0, ranking.n_queries, step):
        block = np.arange(start, min(start + step, ranking.n_queries))
        low[block], high[block] = _bounds_of(ranking.of(block), measure, reach[block], highest)
    return low, high


def _is_low_known(measure: Measure) -> bool:
    """Return whether relevant docs outside the list can lower the value no further than to a known end."""
    kind = measure.definition.bounds
    return kind == "monotone" or (kind == "share_of_top" and measure.k is not None)


def _reach(ranking: JudgedRanking, measure: Measure) -> Ints:
    """Return down to which rank of each list an unjudged doc can stand that the measure reads."""
    reach = ranking.n_retrieved if measure.stays_in_top else ranking.last_rank
    if measure.definition.by_first_positive:  # the first unjudged doc is no deeper than this
        judged = count_by_query(ranking.query[ranking.is_judged], ranking.n_queries)
        reach = np.minimum(reach, judged + 1)
    return reach if measure.depth is None else np.minimum(reach, measure.depth)


def _bounds_of(ranking: JudgedRanking, measure: Measure, reach: Ints, highest: int) -> tuple[Floats, Floats]:
    """Return the bounds of each query of a ranking that `view` has returned."""
    value = measure.per_query(ranking)
    if highest < measure.level:
        highest = 0  # no unjudged doc can be a positive
    best, n_added = _with_best_docs(ranking, reach, highest)
    kind = measure.definition.bounds
    if kind in ("monotone", "recall"):
        if kind == "recall":
            best = replace(best, ideal=_with_positives(ranking.ideal, n_added, highest))
        high = measure.per_query(best)
    else:  # the most that the list can hold over the least that there is
        most = np.where(ranking.n_positives > 0, measure.per_query(best), np.where(n_added > 0, 1.0, 0.0))
        high = np.minimum(most, 1.0)
    low = np.full_like(value, np.nan)
    if kind == "monotone":
        low, high = np.minimum(value, high), np.maximum(value, high)
    elif _is_low_known(measure):
        counted = np.full(ranking.n_queries, measure.k if highest else 0)
        low = measure.per_query(replace(ranking, ideal=_with_positives(ranking.ideal, counted, highest)))
    return low, high


def _with_best_docs(ranking: JudgedRanking, reach: Ints, grade: int) -> tuple[JudgedRanking, Ints]:
    """Return the ranking in which every unjudged doc down to `reach` has a grade, and how many these are."""
    start = starts_of_lists(reach)
    query, rank = np.repeat(np.arange(reach.size), reach), rows_of_lists(1, reach)
    relevance = np.full(rank.size, grade, dtype=np.int64)
    judged = np.flatnonzero(ranking.is_judged)
    is_inside = ranking.rank[judged] <= reach[ranking.query[judged]]
    inside, below = judged[is_inside], judged[~is_inside]
    relevance[start[ranking.query[inside]] + ranking.rank[inside].astype(np.int64) - 1] = ranking.relevance[
        inside
    ]
    n_added = (reach - count_by_query(ranking.query[inside], reach.size)) * (grade > 0)
    order: Any = slice(None)
    if below.size:
        order = np.argsort(np.concatenate([query, ranking.query[below]]), kind="stable")
    filled = replace(
        ranking,
        query=np.concatenate([query, ranking.query[below]])[order],
        rank=np.concatenate([rank.astype(np.float64), ranking.rank[below]])[order],
        relevance=np.concatenate([relevance, ranking.relevance[below]])[order],
    )
    return filled, n_added


def _with_positives(ideal: IdealRanking, n_added: Ints, grade: int) -> IdealRanking:
    """Return the ideal rankings with positives of the highest grade added to each query."""
    query = np.concatenate([np.repeat(np.arange(ideal.n_queries), n_added), ideal.query])
    order = np.argsort(query, kind="stable")
    grades = np.concatenate([np.full(query.size - ideal.query.size, grade, dtype=np.int64), ideal.grade])
    return IdealRanking(query[order], grades[order], ideal.n_queries)
