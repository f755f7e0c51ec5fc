"""Measures that the rank of the first positive decides: C@k and NN, RR, MedR and MnR."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure

_CELLS = 1 << 16


def value_of_first(ranking: JudgedRanking, value: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Floats:
    """Return value(rank) of each query's first positive, whose rank is infinite where none was retrieved.

    Of r positives among n tied docs the first has place i + 1 with probability r / (n − i), where it has none
    of the i before.
    """
    values = value(ranking.first_positive if ranking.ties is None else np.full(ranking.n_queries, np.inf))
    values = values.astype(np.float64)
    if ranking.ties is None:
        return values
    query, first, size, number, place, _ = ranking.by_score(ranking.is_positive)
    values[query], on, left = 0.0, np.flatnonzero(place == 1), np.ones((query.size, 1))
    start = 0
    while on.size:  # some places of each score at a time, until its first positive must have come
        above = np.arange(start, start := start + 1 + _CELLS // on.size)
        chance = number[on, None] / np.maximum(size[on, None] - above, number[on, None])
        is_none = left[on] * np.cumprod(1 - chance, axis=1)
        weights = np.hstack((left[on], is_none[:, :-1])) * chance
        values[query[on]] += (weights * value(first[on, None] + above)).sum(axis=1)
        left[on] = is_none[:, -1:]
        on = on[is_none[:, -1] > 0]
    return values


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
