"""CG, DCG, DCG_J and their shares of the ideal, nCG, nDCG and nDCG_J; Rndcg, a mean of nDCG over ranks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, running_count, share, starts_of_groups
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure


def no_discount(rank: npt.NDArray[Any]) -> Floats:
    """Return 1 for every rank."""
    return np.ones(rank.shape)


def log_of_next(rank: npt.NDArray[Any]) -> Floats:
    """Return log2(rank + 1), trec_eval's discount."""
    return np.asarray(np.log2(rank + 1.0))


def log_from_second(rank: npt.NDArray[Any]) -> Floats:
    """Return 1 up to rank 2 and log2(rank) from there: the discount of Järvelin and Kekäläinen."""
    return np.asarray(np.log2(np.maximum(rank, 2.0)))


@measure("CG[@k]", "linear, of top, monotone, graded", unit="gain")
def cumulated_gain(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """The sum of the grades in the top k, or of everything retrieved.

    Source: Järvelin and Kekäläinen, ACM TOIS 2002, eq. 1; SHREC.
    Convention: Negative relevances add nothing. Without a cutoff positives kept below the top do not count.
    """
    return ranking.found.gain(no_discount, ranking.n_retrieved if k is None else k)


@measure("nCG[@k]", "linear, of top, share of top, over positives, graded")
def normalised_gain(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """CG divided by the CG of the ideal ranking.

    Source: Järvelin and Kekäläinen, ACM TOIS 2002; SHREC.
    Convention: The ideal ranking holds all positives of the query, cut at k; 0 for a query without a
    positive.
    """
    gain = ranking.found.gain(no_discount, ranking.n_retrieved if k is None else k)
    return share(gain, ranking.qrels.best_gain(no_discount, k))


@measure("DCG[@k]", "linear, monotone, graded", unit="gain")
def discounted_gain(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """The grades found, each divided by log2(rank + 1), summed.

    Source: The numerator of trec_eval ndcg, ndcg_cut_k.
    Convention: The gain is the grade; nDCG divides it by its ideal. SHREC's DCG is nDCG_J.
    """
    return ranking.found.gain(log_of_next, k)


@measure("nDCG[@k]", "linear, share of top, over positives, graded", also_called=("ndcg_cut",))
def ndcg(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """The grades found, each divided by log2(rank + 1), summed and divided by the largest such sum.

    Source: Järvelin and Kekäläinen, ACM TOIS 2002, with trec_eval's discount: trec_eval ndcg, ndcg_cut_k.
    Convention: The gain is the grade. The ideal ranking holds all positives of the query, cut at k; 0 for a
    query without a positive. nDCG_J has the discount of the paper.
    """
    return share(ranking.found.gain(log_of_next, k), ranking.qrels.best_gain(log_of_next, k))


@measure("DCG_J[@k]", "linear, monotone, graded", unit="gain")
def discounted_gain_j(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """The grades found, those from rank 2 divided by log2(rank), summed.

    Source: Järvelin and Kekäläinen, ACM TOIS 2002, eq. 2, with base 2.
    Convention: The gain is the grade; ranks 1 and 2 are not discounted.
    """
    return ranking.found.gain(log_from_second, k)


@measure("nDCG_J[@k]", "linear, share of top, over positives, graded")
def ndcg_j(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """DCG_J divided by the DCG_J of the ideal ranking.

    Source: Järvelin and Kekäläinen, ACM TOIS 2002; what SHREC and the Princeton Shape Benchmark print as DCG.
    Convention: The ideal ranking holds all positives of the query, cut at k; 0 for a query without a
    positive.
    """
    return share(ranking.found.gain(log_from_second, k), ranking.qrels.best_gain(log_from_second, k))


@measure("Rndcg", "linear, over positives, graded")
def ndcg_at_levels(ranking: JudgedRanking) -> Floats:
    """nDCG, averaged over the ranks at which the ideal ranking passes to a lower grade and over the end of
    the list.

    Source: trec_eval Rndcg.
    Convention: With a positives of grade 2 and b of grade 1 the ranks are a and a + b. The end of the list
    counts where the list is longer than a + b + 1. 0 for a query without a positive.
    """
    found, ideal = ranking.found, ranking.qrels.ideal
    starts = starts_of_groups(ideal.query, ideal.grade)
    ends = ideal.place[starts + np.diff(starts, append=ideal.query.size) - 1]
    query = ideal.query[starts]
    level = running_count(query) - 1
    total = np.zeros(ranking.n_queries)
    for number in range(int(level.max(initial=-1)) + 1):
        own = level == number
        last = np.zeros(ranking.n_queries, dtype=np.int64)
        last[query[own]] = ends[own]
        total += share(found.gain(log_of_next, last), ideal.gain(log_of_next, last))
    n_levels = np.bincount(query, minlength=ranking.n_queries)
    goes_on = ranking.n_retrieved > ranking.n_positives + 1
    best = ranking.qrels.best_gain(log_of_next, None)
    whole = share(found.gain(log_of_next, ranking.n_retrieved), best)
    return share(total + np.where(goes_on, whole, 0.0), np.where(n_levels > 0, n_levels + goes_on, 0))
