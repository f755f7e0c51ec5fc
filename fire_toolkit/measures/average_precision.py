"""AP and its kin, which divide the sum of precisions by |G|, by min(k, |G|) or by the positives found."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, count_by_query, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_precisions


def average_precision(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """Return the sum of the precisions at the positives of the top k (of all, without k), over |G|."""
    return share(precision_sum(ranking, k=k), ranking.n_positives)


def precision_sum(ranking: JudgedRanking, *, k: int | None) -> Floats:
    """Return for each query the sum of the precision at the rank of each positive in the top k."""
    found = ranking.found.to(k)
    return sum_by_query(found.query, found.place / found.rank, ranking.n_queries)


def expected_average_precision(tied: TiedRanking, *, k: int | None = None) -> Floats:
    """Return its mean over all orders of tied docs."""
    return share(expected_precisions(tied, k=k), tied.ranking.n_positives)


def average_precision_min(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the sum of the precisions at the positives of the top k, over min(k, |G|)."""
    return share(precision_sum(ranking, k=k), np.minimum(ranking.n_positives, k))


def expected_average_precision_min(tied: TiedRanking, *, k: int) -> Floats:
    """Return its mean over all orders of tied docs."""
    return share(expected_precisions(tied, k=k), np.minimum(tied.ranking.n_positives, k))


def average_precision_fire(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the mean precision at the positives of the top k for each query; 0 where it has none."""
    n_found = count_by_query(ranking.found.to(k).query, ranking.n_queries)
    return share(precision_sum(ranking, k=k), n_found)


def average_precision_at_r(ranking: JudgedRanking) -> Floats:
    """Return the sum of the precisions at the positives of the top |G|, over |G|."""
    found = ranking.found
    is_in = found.rank <= ranking.n_positives[found.query]
    precisions = (found.place / found.rank)[is_in]
    return share(sum_by_query(found.query[is_in], precisions, ranking.n_queries), ranking.n_positives)


def expected_average_precision_at_r(tied: TiedRanking) -> Floats:
    """Return its mean over all orders of tied docs."""
    n_positives = tied.ranking.n_positives
    return share(expected_precisions(tied, k=n_positives), n_positives)


AP = Definition(
    name="AP",
    summary="The precision at the rank of each positive found, summed, over all positives |G|.",
    source="trec_eval map, and map_cut_k with a cutoff.",
    convention="Divided by |G|, with a cutoff too (AP@k/min and AP_fire@k divide otherwise); 0 for a query "
    "without a positive. Without a cutoff it depends on how deep the run is; positives kept below the top "
    "count at their exact ranks.",
    per_query=average_precision,
    expected=expected_average_precision,
    cutoff="optional",
    bounds="share",
    over_positives=True,
    also_called=("mAP", "map_cut", "average_precision"),
)
GM_MAP = Definition(
    name="gm_map",
    summary="AP, averaged over queries by the geometric mean, which low values weigh on most.",
    source="Robertson, CIKM 2006; trec_eval gm_map.",
    convention="An AP below 0.00001 counts as 0.00001, so that no query makes the whole 0; the value of a "
    "query is its AP.",
    per_query=average_precision,
    aggregate="geometric mean",
    bounds="share",
    over_positives=True,
    also_called=("GMAP", "gm_ap"),
)
AP_MIN = Definition(
    name="AP",
    variant="min",
    summary="The precision at the rank of each positive in the top k, summed, over min(k, |G|).",
    source="mAP@K of composed-image retrieval: Baldrati et al. 2023 (CIRCO).",
    convention="1 when the top k holds nothing but positives, or all of them first; 0 for a query without "
    "a positive.",
    per_query=average_precision_min,
    expected=expected_average_precision_min,
    cutoff="required",
    bounds="share_of_top",
    over_positives=True,
    also_called=("mAP/min",),
)
AP_FIRE = Definition(
    name="AP_fire",
    summary="The precision at the rank of each positive in the top k, averaged over those positives.",
    source="Rodriguez et al. 2022 (FIRE), its public code: top 20; top 10 for the augmented labels of MSVD.",
    convention="Divided by the positives found, not by |G|: a query with one positive at rank 1 scores 1 "
    "however many it misses. Only for reproducing figures.",
    per_query=average_precision_fire,
    cutoff="required",
)
MAP_AT_R = Definition(
    name="mAP@R",
    summary="The precision at the rank of each positive in the top |G|, summed, over |G|.",
    source="Musgrave et al., ECCV 2020; ECCV Caption (Chun et al., ECCV 2022), eccv_map_at_r.",
    convention="R is the number of positives |G| of the query, and no number is typed for it. A positive "
    "below rank |G| adds nothing; 0 for a query without a positive.",
    per_query=average_precision_at_r,
    expected=expected_average_precision_at_r,
    over_positives=True,
    also_called=("AP@R",),
)

MEASURES = (AP, GM_MAP, AP_MIN, AP_FIRE, MAP_AT_R)
