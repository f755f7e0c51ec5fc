"""The values of many measures at once, from a run and qrels as integers."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from fire_toolkit.kernels import LOOPS, compiled
from fire_toolkit.measures.coded import CodedQrels, CodedRun
from fire_toolkit.measures.definition import Measure
from fire_toolkit.measures.gains import log_of_next
from fire_toolkit.measures.judged_ranking import JudgedRanking, judge_run
from fire_toolkit.measures.segments import Floats

_WHOLE = 2**31 - 2


def score_coded(run: CodedRun, coded: CodedQrels, measures: Sequence[Measure]) -> Floats:
    """Return the value of each measure for each query of the qrels: measures × queries.

    Equal to `per_query` of each measure on what `judge_run` returns, and faster where many are asked for:
    one pass over the rows, compiled where there are many, computes all that have a loop.

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
    loops = compiled(run.doc.size)
    has_loop = [loops is not None and _has_loop(measure) for measure in measures]
    if loops is not None and any(has_loop):
        chosen = [place for place, has in enumerate(has_loop) if has]
        own = values if all(has_loop) else np.empty((len(chosen), len(coded.queries)))
        _by_loops(loops, run, coded, [measures[place] for place in chosen], own)
        if own is not values:
            values[chosen] = own
    if not all(has_loop):
        ranking = judge_run(run, coded)
        views: dict[tuple[int, bool], JudgedRanking] = {}
        for place, measure in enumerate(measures):
            if not has_loop[place]:
                key = (measure.level, measure.condensed)
                views[key] = views.get(key) or measure.view(ranking)
                values[place] = measure.per_query(views[key])
    return values


def _has_loop(measure: Measure) -> bool:
    return bool(measure.definition.loop) and measure.level == 1 and not measure.condensed


def _by_loops(
    loops: ModuleType, run: CodedRun, coded: CodedQrels, measures: Sequence[Measure], values: Floats
) -> None:
    positives = coded.positives
    deepest = max(run.worst_rank, int(np.diff(positives.start).max(initial=0)) + 1)
    loops.score_queries(
        run.doc,
        run.gapped_rank,
        (run.start, run.stop),
        run.codes_of(positives),
        positives.relevance,
        positives.start,
        len(run.docs),
        coded.ideal[1],
        log_of_next(np.arange(deepest + 1)),
        np.array([LOOPS.index(measure.definition.loop) for measure in measures]),
        np.array([_WHOLE if measure.depth is None else measure.depth for measure in measures]),
        values,
    )
