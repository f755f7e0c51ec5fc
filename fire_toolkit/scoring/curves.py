"""Curves over recall and rank: interpolated precision, and the vectors of gain, precision and recall."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import BY_RANK, PRECISION_AT_RECALL
from fire_toolkit.scoring.score import score_runs
from fire_toolkit.tables import Qrels

RECALLS = tuple(step / 10 for step in range(11))


def score_curves(
    runs: AnyRun | Sequence[AnyRun],
    qrels: Qrels,
    *,
    augmented: Qrels | None = None,
    depth: int = 100,
    recalls: Sequence[float] = RECALLS,
) -> pd.DataFrame:
    """Return the precision–recall curve of runs, and their vectors over the ranks 1 to `depth`.

    Args:
        runs, qrels, augmented: as in `score_runs`.
        depth: the last rank, 1 or more; past the end of a list CG, DCG and recall stay as they are.
        recalls: where interpolated precision is given, each in [0, 1].

    Returns:
        Columns run_id, qrels (original, augmented, delta), curve, at and value, means over queries: the
        curve `IPrec` at each of `recalls` (SHREC's precision–recall curve), then `P`, `R`, `CG`, `nCG`,
        `DCG`, `nDCG`, `DCG_J` and `nDCG_J` at each rank. Each value is that of the measure of the name, such
        as `nDCG@7`; `R` against `P` is the curve without interpolation.

    Raises:
        UsageError: a depth below 1, a recall outside [0, 1], no run.
        JoinError: as `score_runs`.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [2, 1]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}))
        >>> curves = score_curves(rank_run(scored), qrels, depth=2, recalls=[0.5])
        >>> curves[curves["curve"].isin(["IPrec", "R"])]
          run_id     qrels  curve   at  value
        0      m  original  IPrec  0.5    0.5
        3      m  original      R  1.0    0.0
        4      m  original      R  2.0    1.0
    """
    if depth < 1:
        raise UsageError(f"depth is {depth}; expected a rank from 1")
    points = [
        (PRECISION_AT_RECALL, float(recall), f"{PRECISION_AT_RECALL}(recall={recall})") for recall in recalls
    ]
    points += [(curve, float(rank), f"{curve}@{rank}") for curve in BY_RANK for rank in range(1, depth + 1)]
    measures = [parse_measure(name) for _, _, name in points]
    scores = score_runs(runs, qrels, measures, augmented=augmented).scores
    run_ids, names = (list(dict.fromkeys(scores[key])) for key in ("run_id", "qrels"))
    # Rows are runs × measures × qrels; a curve's points are wanted one below the other.
    values = scores["value"].to_numpy().reshape(len(run_ids), len(points), len(names)).swapaxes(1, 2)
    n_lists = len(run_ids) * len(names)
    return pd.DataFrame(
        {
            "run_id": np.repeat(np.array(run_ids, dtype=object), len(names) * len(points)),
            "qrels": np.tile(np.repeat(np.array(names, dtype=object), len(points)), len(run_ids)),
            "curve": [curve for curve, _, _ in points] * n_lists,
            "at": [at for _, at, _ in points] * n_lists,
            "value": values.ravel(),
        }
    )
