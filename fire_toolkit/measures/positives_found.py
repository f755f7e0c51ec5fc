"""Measures of how many positives were found: P@k, R@k, F and E, and those of all that was retrieved."""

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Parameter, measure


def _number_found(ranking: JudgedRanking, k: int | None = None) -> Floats:
    """Return how many positives stand in the top k; without k in all that was retrieved, to the top's end."""
    return ranking.found.count(ranking.n_retrieved if k is None else k)


def _harmonic_mean(ranking: JudgedRanking, k: int | None = None, beta: float = 1.0) -> Floats:
    """Return (1 + β²) P R / (β² P + R) of the top k (of all retrieved, without k) for each query."""
    n_taken = ranking.n_retrieved if k is None else np.full(ranking.n_queries, k)
    f = share((1 + beta**2) * _number_found(ranking, k), beta**2 * ranking.n_positives + n_taken)
    return np.where(ranking.n_positives > 0, f, 0.0)


@measure("P@k", "linear, monotone, precision", also_called=("Precision", "Prec"))
def precision(ranking: JudgedRanking, *, k: int) -> Floats:
    """The number of positives in the top k, divided by k.

    Source: trec_eval P_k.
    Convention: Divided by k, also where fewer than k docs were retrieved.
    """
    return ranking.found.count(k) / k


@measure("R@k", "linear, recall, over positives", also_called=("Recall",))
def recall(ranking: JudgedRanking, *, k: int) -> Floats:
    """The share of all positives of the query that stand in the top k.

    Source: Manning et al. 2008; FIRE eq. 1; trec_eval recall_k.
    Convention: Divided by |G|, also where |G| > k; 0 for a query without a positive. Papers on video and
    image retrieval call C@k by this name; the two are equal where each query has one positive.
    """
    return share(ranking.found.count(k), ranking.n_positives)


@measure(
    "F[@k]",
    "linear, of top, recall, over positives",
    parameters=(Parameter("beta", example=2.0, default=1.0),),
    also_called=("F1", "F-measure"),
)
def f_measure(ranking: JudgedRanking, *, k: int | None = None, beta: float = 1.0) -> Floats:
    """The weighted harmonic mean of precision and recall of the top k, or of everything retrieved.

    Source: van Rijsbergen 1979; trec_eval set_F without a cutoff, its parameter being β².
    Convention: With a cutoff precision divides by k, as P@k does. Recall weighs β times as much as precision;
    0 where no positive was found. Positives kept below the top are not retrieved.
    """
    return _harmonic_mean(ranking, k, beta)


@measure("E", "linear, recall, over positives", reads=32, also_called=("E-measure", "E@32"))
def e_measure(ranking: JudgedRanking) -> Floats:
    """The harmonic mean of precision and recall of the first 32 docs: F@32.

    Source: Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.
    Convention: Larger is better, as the benchmark's figures have it; van Rijsbergen's E is one minus this.
    Precision divides by 32 also where fewer were retrieved.
    """
    return _harmonic_mean(ranking, 32)


@measure("set_P", "linear, of top, monotone")
def set_precision(ranking: JudgedRanking) -> Floats:
    """The share of the docs retrieved that are positives.

    Source: trec_eval set_P.
    Convention: Divided by all docs retrieved, however many they are. 0 where nothing was retrieved, and for a
    query without a positive.
    """
    return share(_number_found(ranking), ranking.n_retrieved)


@measure("set_recall", "linear, of top, recall, over positives")
def set_recall(ranking: JudgedRanking) -> Floats:
    """The share of the query's positives among the docs retrieved.

    Source: trec_eval set_recall.
    Convention: 0 where nothing was retrieved, and for a query without a positive.
    """
    return share(_number_found(ranking), ranking.n_positives)


@measure("set_F", "linear, of top, recall, over positives")
def set_f(ranking: JudgedRanking) -> Floats:
    """The harmonic mean of set_P and set_recall: F of everything retrieved.

    Source: trec_eval set_F.
    Convention: 0 where nothing was retrieved, and for a query without a positive.
    """
    return _harmonic_mean(ranking)


@measure("set_map", "linear, of top, recall, over positives")
def set_map(ranking: JudgedRanking) -> Floats:
    """set_P times set_recall.

    Source: trec_eval set_map.
    Convention: 0 where nothing was retrieved, and for a query without a positive.
    """
    return set_precision.per_query(ranking) * set_recall.per_query(ranking)


@measure("set_relative_P", "linear, of top, recall")
def set_relative_precision(ranking: JudgedRanking) -> Floats:
    """The number of positives retrieved, over the most that could be: the smaller of |G| and the number
    retrieved.

    Source: trec_eval set_relative_P.
    Convention: 0 where nothing was retrieved, and for a query without a positive.
    """
    return share(_number_found(ranking), np.minimum(ranking.n_retrieved, ranking.n_positives))


@measure("num_rel_ret", "linear, of top, monotone", unit="count", aggregate="sum")
def number_found(ranking: JudgedRanking) -> Floats:
    """The number of positives retrieved.

    Source: trec_eval num_rel_ret.
    Convention: Summed over queries.
    """
    return _number_found(ranking)
