"""gm_map: the geometric mean of average precision over queries."""

from __future__ import annotations

from fire_toolkit.measures.average_precision import average_precision, filled_average_precision
from fire_toolkit.measures.definition import Definition

GM_MAP = Definition(
    name="gm_map",
    summary="AP, averaged over queries by the geometric mean, which low values weigh on most.",
    source="Robertson, CIKM 2006; trec_eval gm_map.",
    convention="An AP below 0.00001 counts as 0.00001, so that no query makes the whole 0; the value of a "
    "query is its AP.",
    per_query=average_precision,
    aggregate="geometric mean",
    bounds="ends",
    filled=filled_average_precision,
    also_called=("GMAP", "gm_ap"),
)

MEASURES = (GM_MAP,)
