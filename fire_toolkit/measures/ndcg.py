"""nDCG and nDCG@k: discounted cumulative gain over that of the ideal ranking."""

from __future__ import annotations

import numpy as np

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.judged_ranking import JudgedRanking
from fire_toolkit.measures.segments import Floats, share, sum_by_query


def ndcg(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """Return DCG / ideal DCG of the top k (of the whole ranking, without k) for each query."""
    found = ranking.found.to(k)
    dcg = sum_by_query(found.query, found.grade / np.log2(found.rank + 1), ranking.n_queries)
    is_in = ranking.ideal_place <= (np.inf if k is None else k)
    discounted = ranking.ideal_grade[is_in] / np.log2(ranking.ideal_place[is_in] + 1)
    return share(dcg, sum_by_query(ranking.ideal_query[is_in], discounted, ranking.n_queries))


NDCG = Definition(
    name="nDCG",
    summary="The grades found, each divided by log2(rank + 1), summed and divided by the largest such sum.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, with trec_eval's discount: trec_eval ndcg, ndcg_cut_k.",
    convention="The gain is the grade. The ideal ranking holds all positives of the query, cut at k; 0 for a "
    "query without a positive.",
    per_query=ndcg,
    cutoff="optional",
)

MEASURES = (NDCG,)
