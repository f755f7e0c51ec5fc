"""nDCG and nDCG@k: discounted cumulated gain over that of the ideal ranking."""

from __future__ import annotations

from functools import partial

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_normalised_gain
from fire_toolkit.measures.gains import filled_normalised_gain, log_of_next, normalised_gain

NDCG = Definition(
    name="nDCG",
    summary="The grades found, each divided by log2(rank + 1), summed and divided by the largest such sum.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, with trec_eval's discount: trec_eval ndcg, ndcg_cut_k.",
    convention="The gain is the grade. The ideal ranking holds all positives of the query, cut at k; 0 for "
    "a query without a positive. nDCG_J has the discount of the paper.",
    per_query=partial(normalised_gain, discount=log_of_next),
    expected=partial(expected_normalised_gain, discount=log_of_next),
    cutoff="optional",
    bounds="ends",
    filled=partial(filled_normalised_gain, discount=log_of_next),
    is_graded=True,
)

MEASURES = (NDCG,)
