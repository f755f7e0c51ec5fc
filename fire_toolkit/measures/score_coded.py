"""The values of many measures at once, from a run and qrels as integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from fire_toolkit.kernels import compiled
from fire_toolkit.measures.coded import CodedQrels, CodedRun
from fire_toolkit.measures.definition import Measure
from fire_toolkit.measures.gains import log_of_next
from fire_toolkit.measures.judged_ranking import JudgedRanking, judge_run
from fire_toolkit.measures.segments import Floats, Ints

_WHOLE = 2**31 - 1
_TABLE_PLACES, _TABLE_RANKS = 32, 1 << 11  # quotients that are looked up
_MOST_CELLS = 1 << 22  # grades × ranks
# Of each loop: the sum above (`` for the count), its upper bound, what stands below.
LOOPS = {
    "hit": ("", 1.0, "1"),
    "precision": ("", np.inf, "depth"),
    "recall": ("", np.inf, "positives"),
    "reciprocal": ("", 1.0, "first rank"),
    "ap": ("precisions", np.inf, "positives"),
    "ap_min": ("precisions", np.inf, "positives to depth"),
    "ap_fire": ("precisions", np.inf, "count"),
    "ndcg": ("gains", np.inf, "ideal"),
    "recall_at_g": ("", np.inf, "positives"),
    "recall_at_2g": ("", np.inf, "positives"),
}


def score_coded(
    run: CodedRun,
    coded: CodedQrels,
    measures: Sequence[Measure],
    *,
    ranking: JudgedRanking | None = None,
) -> Floats:
    """Return the value of each measure for each query of the qrels: measures × queries.

    Equal to `per_query` of each measure on what `judge_run` returns, and faster where many are asked for:
    one pass over the rows, compiled where there are many, computes all that have a loop. `ranking` is what
    `judge_run` returns, where that is known already.

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.measures import code_qrels, code_run, parse_measure
        >>> from fire_toolkit.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> coded = code_qrels(qrels)
        >>> run = code_run(rank_run(scored), coded)
        >>> score_coded(run, coded, [parse_measure("C@1"), parse_measure("RR")])
        array([[0. ],
               [0.5]])
    """
    values = np.empty((len(measures), len(coded.queries)))
    can_loop = (
        compiled(run.doc.size) is not None
        and _n_ranks(run, coded) * len(coded.positives.grades[1]) <= _MOST_CELLS
    )
    by_loop = [can_loop and _has_loop(measure) for measure in measures]
    if any(by_loop):
        chosen = [place for place, has in enumerate(by_loop) if has]
        own = values if all(by_loop) else np.empty((len(chosen), len(coded.queries)))
        _by_loops(run, coded, [measures[place] for place in chosen], own)
        if own is not values:
            values[chosen] = own
    if not all(by_loop):
        chosen = [place for place, has in enumerate(by_loop) if not has]
        view = partial(Measure.view, ranking=ranking or judge_run(run, coded))
        values[chosen] = score_views(view, [measures[place] for place in chosen])
    return values


def score_views(view: Callable[[Measure], JudgedRanking], measures: Sequence[Measure]) -> Floats:
    """Return the value of each measure for each query: measures × queries.

    Args:
        view: returns what a measure is computed on; asked once for each level and form of list.
        measures: one or more.
    """
    views: dict[tuple[int, bool], JudgedRanking] = {}
    rows = []
    for measure in measures:
        key = (measure.level, measure.condensed)
        if key not in views:
            views[key] = view(measure)
        rows.append(measure.per_query(views[key]))
    return np.stack(rows)


def _has_loop(measure: Measure) -> bool:
    return bool(measure.definition.loop) and measure.level == 1 and not measure.condensed


def _n_ranks(run: CodedRun, coded: CodedQrels) -> int:
    return max(run.worst_rank, coded.most_positives) + 1


def _by_loops(run: CodedRun, coded: CodedQrels, measures: Sequence[Measure], values: Floats) -> None:
    from fire_toolkit.kernels.score_loops import ROOM, score_queries

    positives, (grade, grades) = coded.positives, coded.positives.grades
    ranks = np.maximum(np.arange(_n_ranks(run, coded) + ROOM), 1)
    places = np.arange(1, _TABLE_PLACES + 1 if ranks.size <= _TABLE_RANKS else 1)
    score_queries(
        (run.doc, run.gapped_rank, run.start, run.stop),
        (run.codes_of(positives), grade, positives.ideal_sums, positives.start),
        len(run.docs),
        ((places[:, None] / ranks).ravel(), (grades[:, None] / log_of_next(ranks)).ravel(), ranks.size),
        _plan(tuple(measures)),
        values,
    )


class _Plan(NamedTuple):
    """What `score_queries` is asked for; see there."""

    to: Ints
    times: Ints
    summed: Ints
    gained: Ints
    above: Ints
    most_above: Floats
    below: Ints
    most_below: Floats


@lru_cache(maxsize=64)
def _plan(measures: tuple[Measure, ...]) -> _Plan:
    """Return the plan of measures that have a loop: each depth is counted to, and summed to, once."""
    depth_of = [_depth(measure) for measure in measures]
    kinds = [LOOPS[measure.definition.loop] for measure in measures]
    depths = list(dict.fromkeys(depth_of))
    sums = {
        name: list(dict.fromkeys(d for d, kind in zip(depth_of, kinds, strict=True) if kind[0] == name))
        for name in ("precisions", "gains")
    }
    counts = {depth: 3 + place for place, depth in enumerate(depths)}
    precisions = {depth: 3 + len(depths) + place for place, depth in enumerate(sums["precisions"])}
    n_before = 3 + len(depths) + len(precisions)
    gains = {depth: n_before + 2 * place for place, depth in enumerate(sums["gains"])}
    above = {"": counts, "precisions": precisions, "gains": gains}
    rows = []
    for depth, (name, most, below) in zip(depth_of, kinds, strict=True):
        under = {
            "1": (2, 1.0),
            "depth": (2, float(depth[0])),
            "positives": (0, np.inf),
            "positives to depth": (0, float(depth[0])),
            "first rank": (1, np.inf),
            "count": (counts[depth], np.inf),
            "ideal": (gains.get(depth, 0) + 1, np.inf),
        }
        rows.append((above[name][depth], most, *under[below]))
    upper, most_upper, lower, most_lower = zip(*rows, strict=True)
    return _Plan(
        np.array([to for to, _ in depths]),
        np.array([times for _, times in depths]),
        np.array([depths.index(depth) for depth in sums["precisions"]], dtype=np.int64),
        np.array([depths.index(depth) for depth in sums["gains"]], dtype=np.int64),
        np.array(upper),
        np.array(most_upper),
        np.array(lower),
        np.array(most_lower),
    )


def _depth(measure: Measure) -> tuple[int, int]:
    """Return how deep a measure counts: to a rank, and to so many times |G| beyond."""
    times = {"recall_at_g": 1, "recall_at_2g": 2}.get(measure.definition.loop, 0)
    return (0 if times else _WHOLE if measure.depth is None else measure.depth, times)
