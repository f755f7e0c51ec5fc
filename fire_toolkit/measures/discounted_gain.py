"""DCG with trec_eval's discount; DCG_J and nDCG_J with that of Järvelin and Kekäläinen."""

from __future__ import annotations

from functools import partial

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_gain, expected_normalised_gain
from fire_toolkit.measures.gains import (
    cumulated_gain,
    filled_normalised_gain,
    log_from_second,
    log_of_next,
    normalised_gain,
)

DCG = Definition(
    name="DCG",
    summary="The grades found, each divided by log2(rank + 1), summed.",
    source="The numerator of trec_eval ndcg, ndcg_cut_k.",
    convention="The gain is the grade; nDCG divides it by its ideal. SHREC's DCG is nDCG_J.",
    per_query=partial(cumulated_gain, discount=log_of_next),
    expected=partial(expected_gain, discount=log_of_next),
    cutoff="optional",
    unit="gain",
    bounds="monotone",
    is_graded=True,
)
DCG_J = Definition(
    name="DCG_J",
    summary="The grades found, those from rank 2 divided by log2(rank), summed.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, eq. 2, with base 2.",
    convention="The gain is the grade; ranks 1 and 2 are not discounted.",
    per_query=partial(cumulated_gain, discount=log_from_second),
    expected=partial(expected_gain, discount=log_from_second),
    cutoff="optional",
    unit="gain",
    bounds="monotone",
    is_graded=True,
)
NDCG_J = Definition(
    name="nDCG_J",
    summary="DCG_J divided by the DCG_J of the ideal ranking.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002; what SHREC and the Princeton Shape Benchmark print as "
    "DCG.",
    convention="The ideal ranking holds all positives of the query, cut at k; 0 for a query without a "
    "positive.",
    per_query=partial(normalised_gain, discount=log_from_second),
    expected=partial(expected_normalised_gain, discount=log_from_second),
    cutoff="optional",
    bounds="ends",
    filled=partial(filled_normalised_gain, discount=log_from_second),
    is_graded=True,
)

MEASURES = (DCG, DCG_J, NDCG_J)
