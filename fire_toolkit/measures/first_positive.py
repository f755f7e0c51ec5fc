"""Measures that the rank of the first positive decides: C@k and NN, RR, MedR and MnR."""

from dataclasses import replace

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure
from fire_toolkit.measures.reading import value_of_first


@measure("C@k", "linear, monotone, binary, by first positive", also_called=("Correct",))
def success(ranking: JudgedRanking, *, k: int) -> Floats:
    """1 if a positive stands in the top k, else 0.

    Source: Rodriguez et al. 2022 (FIRE) §2.1; trec_eval success_k.
    Convention: 0 for a query without a positive, or missing from the run. Papers on video and image retrieval
    call it R@K, which it equals where each query has one positive.
    """
    return value_of_first(ranking, lambda rank: rank <= k)


hit = replace(success, name="hit", summary="C@k under another name.", also_called=("hits", "hit_rate", "HR"))
trec_success = replace(success, name="Success", summary="C@k as trec_eval names it.", also_called=())


@measure("NN", "linear, monotone, binary, by first positive", reads=1, also_called=("nearest_neighbor",))
def nearest_neighbour(ranking: JudgedRanking) -> Floats:
    """1 if the first doc is a positive, else 0: C@1 under the name of shape retrieval.

    Source: Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.
    Convention: The query itself must not stand in its own ranking.
    """
    return value_of_first(ranking, lambda rank: rank <= 1)


@measure("RR[@k]", "linear, monotone, by first positive", also_called=("MRR", "recip_rank"))
def reciprocal_rank(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """One divided by the rank of the first positive; its mean is known as MRR.

    Source: trec_eval recip_rank.
    Convention: 0 where no positive was retrieved, or none in the top k.
    """
    last = np.inf if k is None else k
    return value_of_first(ranking, lambda rank: (rank <= last) / rank)


@measure(
    "MedR",
    "smaller is better, monotone, by first positive",
    unit="rank",
    aggregate="median",
    also_called=("median_rank", "MdR", "MedianR"),
)
def median_rank(ranking: JudgedRanking) -> Floats:
    """The median over queries of the rank of the first positive.

    Source: Median rank of text-video retrieval papers (HGR, MMT, CLIP4Clip).
    Convention: Where no positive was retrieved, or the query is missing from the run: one past the run's
    deepest rank, which is a lower bound. For an even number of queries the mean of the middle two.
    """
    return value_of_first(ranking, lambda rank: np.minimum(rank, ranking.worst_rank))


@measure(
    "MnR",
    "linear, smaller is better, monotone, by first positive",
    unit="rank",
    also_called=("mean_rank", "MeanR"),
)
def mean_rank(ranking: JudgedRanking) -> Floats:
    """The rank of the first positive, averaged over queries.

    Source: Mean rank of text-video retrieval papers (MMT, CLIP4Clip).
    Convention: Where no positive was retrieved, or the query is missing from the run: one past the run's
    deepest rank, which is a lower bound; exact for runs that rank the whole collection.
    """
    return value_of_first(ranking, lambda rank: np.minimum(rank, ranking.worst_rank))
