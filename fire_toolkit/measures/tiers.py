"""Rprec, FT and ST: recall in as many docs as the query has positives, and in twice as many."""

from __future__ import annotations

from functools import partial

from fire_toolkit.arrays import Floats, share
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.reading import Seen, count_found


def recall_at_multiple(seen: Seen, *, multiple: int) -> Floats:
    """Return the share of each query's positives that stand in the top `multiple` × |G|."""
    n_positives = seen.ranking.n_positives
    return share(count_found(seen, multiple * n_positives), n_positives)


RPREC = Definition(
    name="Rprec",
    summary="The share of positives in the top R, where R is the number of positives of the query.",
    source="trec_eval Rprec.",
    convention="Divided by R, also where fewer docs were retrieved; 0 for a query without a positive.",
    per_query=partial(recall_at_multiple, multiple=1),
    is_linear=True,
    over_positives=True,
    also_called=("R-precision", "RP"),
)
FT = Definition(
    name="FT",
    summary="The first tier: the share of the query's positives that stand in the top |G|.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="|G| is the size of the query's class without the query (|C| − 1), which must not stand in "
    "its own ranking; equals Rprec. 0 for a query without a positive.",
    per_query=partial(recall_at_multiple, multiple=1),
    is_linear=True,
    over_positives=True,
    also_called=("first_tier",),
)
ST = Definition(
    name="ST",
    summary="The second tier: the share of the query's positives that stand in the top 2|G|.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="|G| is the size of the query's class without the query, as for FT. 0 for a query without a "
    "positive.",
    per_query=partial(recall_at_multiple, multiple=2),
    is_linear=True,
    over_positives=True,
    also_called=("second_tier",),
)

MEASURES = (RPREC, FT, ST)
