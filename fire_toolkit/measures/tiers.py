"""FT and ST: recall in the first tier, as many docs as there are positives, and in twice as many."""

from __future__ import annotations

from functools import partial

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.r_precision import (
    expected_recall_at_multiple,
    filled_recall_at_multiple,
    recall_at_multiple,
)

FT = Definition(
    name="FT",
    summary="The first tier: the share of the query's positives that stand in the top |G|.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="|G| is the size of the query's class without the query (|C| − 1), which must not stand in "
    "its own ranking; equals Rprec. 0 for a query without a positive.",
    per_query=partial(recall_at_multiple, multiple=1),
    expected=partial(expected_recall_at_multiple, multiple=1),
    bounds="ends",
    filled=partial(filled_recall_at_multiple, multiple=1),
    also_called=("first_tier",),
)
ST = Definition(
    name="ST",
    summary="The second tier: the share of the query's positives that stand in the top 2|G|.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="|G| is the size of the query's class without the query, as for FT. 0 for a query without a "
    "positive.",
    per_query=partial(recall_at_multiple, multiple=2),
    expected=partial(expected_recall_at_multiple, multiple=2),
    bounds="ends",
    filled=partial(filled_recall_at_multiple, multiple=2),
    also_called=("second_tier",),
)

MEASURES = (FT, ST)
