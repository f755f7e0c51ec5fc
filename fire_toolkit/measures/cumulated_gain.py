"""CG and nCG: the grades found, without a discount."""

from __future__ import annotations

from functools import partial

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.gains import cumulated_gain, no_discount, normalised_gain

CG = Definition(
    name="CG",
    summary="The sum of the grades in the top k, or of everything retrieved.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, eq. 1; SHREC.",
    convention="Negative relevances add nothing.",
    per_query=partial(cumulated_gain, discount=no_discount),
    cutoff="optional",
    unit="gain",
    bounds="monotone",
    is_graded=True,
)
NCG = Definition(
    name="nCG",
    summary="CG divided by the CG of the ideal ranking.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002; SHREC.",
    convention="The ideal ranking holds all positives of the query, cut at k; 0 for a query without a "
    "positive.",
    per_query=partial(normalised_gain, discount=no_discount),
    cutoff="optional",
    bounds="ends",
    is_graded=True,
)

MEASURES = (CG, NCG)
