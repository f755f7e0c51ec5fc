"""Judged@k and unjudged@k: the shares of the top k that were judged, and were not."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.reading import Seen, sum_judged


def judged_at_k(seen: Seen, *, k: int) -> Floats:
    """Return |judged docs in the top k| / min(k, retrieved) for each query; 0 where nothing was retrieved."""
    n_judged = sum_judged(seen, np.ones_like, k=k, in_top=True)
    return share(n_judged, np.minimum(seen.ranking.n_retrieved, k))


def unjudged_at_k(seen: Seen, *, k: int) -> Floats:
    """Return 1 − Judged@k for each query; 0 where nothing was retrieved."""
    return np.where(seen.ranking.n_retrieved > 0, 1 - judged_at_k(seen, k=k), 0.0)


JUDGED = Definition(
    name="Judged",
    summary="The share of the docs in the top k that have a judgment.",
    source="FIRE's p_annotated_preds (top 10); ir_measures Judged@k.",
    convention="Divided by min(k, docs ranked); positives kept below the top do not count. A negative "
    "relevance is pooled but not judged, and does not count (ir_measures counts it). 0 where nothing was "
    "retrieved.",
    per_query=judged_at_k,
    of_top=True,
    is_linear=True,
    cutoff="required",
    no_bounds="measures how much is judged and is not a score",
    is_score=False,
)
UNJUDGED = Definition(
    name="unjudged",
    summary="The share of the docs in the top k that have no judgment.",
    source="One minus Judged@k.",
    convention="Divided by min(k, docs ranked); pooled but not judged (a negative relevance) is unjudged. 0 "
    "where nothing was retrieved.",
    per_query=unjudged_at_k,
    of_top=True,
    is_linear=True,
    cutoff="required",
    larger_is_better=False,
    no_bounds="measures how much is judged and is not a score",
    is_score=False,
    also_called=("hole",),
)

MEASURES = (JUDGED, UNJUDGED)
