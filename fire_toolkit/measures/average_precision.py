"""AP and its kin, which divide the sum of precisions by |G|, by min(k, |G|) or by the positives found."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.reading import Seen, count_found, sum_precisions


def average_precision(seen: Seen, *, k: int | None = None) -> Floats:
    """Return the sum of the precisions at the positives of the top k (of all, without k), over |G|."""
    return share(sum_precisions(seen, k), seen.ranking.n_positives)


def average_precision_min(seen: Seen, *, k: int) -> Floats:
    """Return the sum of the precisions at the positives of the top k, over min(k, |G|)."""
    return share(sum_precisions(seen, k), np.minimum(seen.ranking.n_positives, k))


def average_precision_fire(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the mean precision at the positives of the top k for each query; 0 where it has none."""
    return share(sum_precisions(ranking, k), count_found(ranking, k))


def average_precision_at_r(seen: Seen) -> Floats:
    """Return the sum of the precisions at the positives of the top |G|, over |G|."""
    n_positives = seen.ranking.n_positives
    return share(sum_precisions(seen, n_positives), n_positives)


AP = Definition(
    name="AP",
    summary="The precision at the rank of each positive found, summed, over all positives |G|.",
    source="trec_eval map, and map_cut_k with a cutoff.",
    convention="Divided by |G|, with a cutoff too (AP@k/min and AP_fire@k divide otherwise); 0 for a query "
    "without a positive. Without a cutoff it depends on how deep the run is; positives kept below the top "
    "count at their exact ranks.",
    per_query=average_precision,
    is_linear=True,
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
    is_linear=True,
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
    is_linear=True,
    over_positives=True,
    also_called=("AP@R",),
)

MEASURES = (AP, GM_MAP, AP_MIN, AP_FIRE, MAP_AT_R)
