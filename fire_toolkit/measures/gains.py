"""Sums of grades over a ranking and over its ideal, under a discount: what CG, DCG and nDCG share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, share, sum_by_query
from fire_toolkit.matching.ideal import Discount, at_ranks
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.filling import Ends, Filling


def no_discount(rank: npt.NDArray[Any]) -> Floats:
    """Return 1 for every rank."""
    return np.ones(rank.shape)


def log_of_next(rank: npt.NDArray[Any]) -> Floats:
    """Return log2(rank + 1), trec_eval's discount."""
    return np.asarray(np.log2(rank + 1.0))


def log_from_second(rank: npt.NDArray[Any]) -> Floats:
    """Return 1 up to rank 2 and log2(rank) from there: the discount of Järvelin and Kekäläinen."""
    return np.asarray(np.log2(np.maximum(rank, 2.0)))


def cumulated_gain(ranking: JudgedRanking, *, discount: Discount, k: int | None = None) -> Floats:
    """Return Σ grade / discount(rank) over the positives of the top k (of all, without k)."""
    found = ranking.found.to(k)
    return sum_by_query(found.query, found.grade / at_ranks(found.rank, discount), ranking.n_queries)


def ideal_gain(ranking: JudgedRanking, *, discount: Discount, k: int | None = None) -> Floats:
    """Return the largest `cumulated_gain` that any ranking of the query's positives can have."""
    return ranking.ideal.gain(discount, k)


def normalised_gain(ranking: JudgedRanking, *, discount: Discount, k: int | None = None) -> Floats:
    """Return `cumulated_gain` / `ideal_gain` for each query; 0 for a query without a positive."""
    found = cumulated_gain(ranking, discount=discount, k=k)
    return share(found, ideal_gain(ranking, discount=discount, k=k))


def filled_normalised_gain(filling: Filling, *, discount: Discount, k: int | None = None) -> Ends:
    """Return `normalised_gain` as unjudged docs become positives."""
    return normalised_filling(filling, cumulated_gain(filling.ranking, discount=discount, k=k), discount, k)


def normalised_filling(filling: Filling, start: Floats, discount: Discount, k: int | None) -> Ends:
    """Return a gain, `start` before any unjudged doc is a positive, over that of the ideal ranking."""
    first, last = filling.gains(start, discount)
    ideal_first, ideal_last = filling.ideal_gains(discount, k)
    return share(first, ideal_first), share(last, ideal_last)
