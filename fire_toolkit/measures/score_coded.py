"""The values of many measures at once, from a run and qrels as integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.coded import CodedQrels, CodedRun
from fire_toolkit.matching.judged_ranking import JudgedRanking, judge_run
from fire_toolkit.measures.definition import Measure


def score_coded(
    run: CodedRun,
    coded: CodedQrels,
    measures: Sequence[Measure],
    *,
    ranking: JudgedRanking | None = None,
) -> Floats:
    """Return the value of each measure for each query of the qrels: measures × queries.

    Args:
        run, coded: a run and the qrels that it was coded for.
        measures: any number.
        ranking: what `judge_run` returns, where that is known already.

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.measures import code_qrels, code_run, parse_measure
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> coded = code_qrels(qrels)
        >>> run = code_run(rank_run(scored), coded)
        >>> score_coded(run, coded, [parse_measure("C@1"), parse_measure("RR")])
        array([[0. ],
               [0.5]])
    """
    if not measures:
        return np.empty((0, len(coded.queries)))
    return score_views(partial(Measure.view, ranking=ranking or judge_run(run, coded)), measures)


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
