"""AP and its kin, which divide the sum of precisions by |G|, by min(k, |G|) or by the positives found."""

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure


@measure("AP[@k]", "linear, share, over positives", also_called=("mAP", "map_cut", "average_precision"))
def average_precision(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """The precision at the rank of each positive found, summed, over all positives |G|.

    Source: trec_eval map, and map_cut_k with a cutoff.
    Convention: Divided by |G|, with a cutoff too (AP@k/min and AP_fire@k divide otherwise); 0 for a query
    without a positive. Without a cutoff it depends on how deep the run is; positives kept below the top count
    at their exact ranks.
    """
    return share(ranking.found.precision(k), ranking.n_positives)


@measure("gm_map", "share, over positives", aggregate="geometric mean", also_called=("GMAP", "gm_ap"))
def geometric_mean_precision(ranking: JudgedRanking) -> Floats:
    """AP, averaged over queries by the geometric mean, which low values weigh on most.

    Source: Robertson, CIKM 2006; trec_eval gm_map.
    Convention: An AP below 0.00001 counts as 0.00001, so that no query makes the whole 0; the value of a
    query is its AP.
    """
    return share(ranking.found.precision(), ranking.n_positives)


@measure("AP@k/min", "linear, share of top, over positives", also_called=("mAP/min",))
def average_precision_min(ranking: JudgedRanking, *, k: int) -> Floats:
    """The precision at the rank of each positive in the top k, summed, over min(k, |G|).

    Source: mAP@K of composed-image retrieval: Baldrati et al. 2023 (CIRCO).
    Convention: 1 when the top k holds nothing but positives, or all of them first; 0 for a query without a
    positive.
    """
    return share(ranking.found.precision(k), np.minimum(ranking.n_positives, k))


@measure("AP_fire@k")
def average_precision_fire(ranking: JudgedRanking, *, k: int) -> Floats:
    """The precision at the rank of each positive in the top k, averaged over those positives.

    Source: Rodriguez et al. 2022 (FIRE), its public code: top 20; top 10 for the augmented labels of MSVD.
    Convention: Divided by the positives found, not by |G|: a query with one positive at rank 1 scores 1
    however many it misses. Only for reproducing figures.
    """
    return share(ranking.found.precision(k), ranking.found.count(k))


@measure("mAP@R", "linear, over positives", also_called=("AP@R",))
def average_precision_at_r(ranking: JudgedRanking) -> Floats:
    """The precision at the rank of each positive in the top |G|, summed, over |G|.

    Source: Musgrave et al., ECCV 2020; ECCV Caption (Chun et al., ECCV 2022), eccv_map_at_r.
    Convention: R is the number of positives |G| of the query, and no number is typed for it. A positive below
    rank |G| adds nothing; 0 for a query without a positive.
    """
    n_positives = ranking.n_positives
    return share(ranking.found.precision(n_positives), n_positives)
