"""unjudged@k: the share of the top k that nobody judged."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.judged import expected_judged, judged_at_k


def unjudged_at_k(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return 1 − Judged@k for each query; 0 where nothing was retrieved."""
    return np.where(ranking.n_retrieved > 0, 1 - judged_at_k(ranking, k=k), 0.0)


def expected_unjudged(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    return np.where(tied.ranking.n_retrieved > 0, 1 - expected_judged(tied, k=k), 0.0)


UNJUDGED = Definition(
    name="unjudged",
    summary="The share of the docs in the top k that have no judgment.",
    source="One minus Judged@k.",
    convention="Divided by min(k, docs ranked); pooled but not judged (a negative relevance) is unjudged. 0 "
    "where nothing was retrieved.",
    per_query=unjudged_at_k,
    of_top=True,
    expected=expected_unjudged,
    cutoff="required",
    larger_is_better=False,
    no_bounds="says how much is judged, and is no score",
    is_score=False,
    also_called=("hole",),
)

MEASURES = (UNJUDGED,)
