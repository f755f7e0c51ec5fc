"""F and F@k: the harmonic mean of precision and recall of a set."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats, Ints, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition, Parameter
from fire_toolkit.measures.expected import expected_found


def f_measure(ranking: JudgedRanking, *, k: int | None = None, beta: float = 1.0) -> Floats:
    """Return (1 + β²) P R / (β² P + R) of the top k (of all retrieved, without k) for each query."""
    taken = ranking.top if k is None else ranking
    return _of_found(ranking, count_by_query(taken.found.to(k).query, ranking.n_queries), k, beta)


def expected_f_measure(tied: TiedRanking, *, k: int | None = None, beta: float = 1.0) -> Floats:
    """Return its mean over all orders of tied docs."""
    n_found = expected_found(tied, k=tied.ranking.n_retrieved if k is None else k)
    return _of_found(tied.ranking, n_found, k, beta)


def _of_found(ranking: JudgedRanking, n_found: Ints | Floats, k: int | None, beta: float) -> Floats:
    n_taken = ranking.n_retrieved if k is None else np.full(ranking.n_queries, k)
    f = share((1 + beta**2) * n_found, beta**2 * ranking.n_positives + n_taken)
    return np.where(ranking.n_positives > 0, f, 0.0)


F = Definition(
    name="F",
    summary="The weighted harmonic mean of precision and recall of the top k, or of everything retrieved.",
    source="van Rijsbergen 1979; trec_eval set_F without a cutoff, its parameter being β².",
    convention="With a cutoff precision divides by k, as P@k does. Recall weighs β times as much as "
    "precision; 0 where no positive was found. Positives kept below the top are not retrieved.",
    per_query=f_measure,
    of_top=True,
    expected=expected_f_measure,
    cutoff="optional",
    parameters=(Parameter("beta", example=2.0, default=1.0),),
    bounds="monotone",
    also_called=("F1", "F-measure"),
)

MEASURES = (F,)
