"""Measures of how many positives were found: P@k, R@k, F and E, and those of all that was retrieved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fire_toolkit.arrays import Floats, Ints, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition, Parameter
from fire_toolkit.measures.expected import expected_found

Number = Ints | Floats  # of positives found, or expected to be


def by_count(value: Callable[..., Floats], **fixed: Any) -> dict[str, Any]:
    """Return `per_query` and `expected` of a measure that the number of positives found decides.

    Args:
        value: from a ranking, the number of positives in its top k (of all retrieved, without k), and `k`
            and the parameters by name, to the value of each query.
        fixed: `k`, or parameters, that the name does not say.
    """

    def per_query(ranking: JudgedRanking, **given: Any) -> Floats:
        k = (fixed | given).get("k")
        taken = ranking.top if k is None else ranking
        n_found = count_by_query(taken.found.to(k).query, ranking.n_queries)
        return value(ranking, n_found, **({"k": k} | fixed | given))

    def expected(tied: TiedRanking, **given: Any) -> Floats:
        k = (fixed | given).get("k")
        n_found = expected_found(tied, k=tied.ranking.n_retrieved if k is None else k)
        return value(tied.ranking, n_found, **({"k": k} | fixed | given))

    return {"per_query": per_query, "expected": expected}


def precision(ranking: JudgedRanking, n_found: Number, *, k: int) -> Floats:
    """Return |positives in the top k| / k for each query."""
    return n_found / k


def recall(ranking: JudgedRanking, n_found: Number, *, k: int | None) -> Floats:
    """Return |positives found| / |G| for each query; 0 where |G| is 0."""
    return share(n_found, ranking.n_positives)


def f_measure(ranking: JudgedRanking, n_found: Number, *, k: int | None, beta: float = 1.0) -> Floats:
    """Return (1 + β²) P R / (β² P + R) of the top k (of all retrieved, without k) for each query."""
    n_taken = ranking.n_retrieved if k is None else np.full(ranking.n_queries, k)
    f = share((1 + beta**2) * n_found, beta**2 * ranking.n_positives + n_taken)
    return np.where(ranking.n_positives > 0, f, 0.0)


def number_found(ranking: JudgedRanking, n_found: Number, *, k: None) -> Floats:
    """Return how many positives of each query were retrieved, those kept below the top not counted."""
    return n_found.astype(np.float64)


def set_precision(ranking: JudgedRanking, n_found: Number, *, k: None) -> Floats:
    """Return the share of the docs retrieved that are positives."""
    return share(n_found, ranking.n_retrieved)


def set_map(ranking: JudgedRanking, n_found: Number, *, k: None) -> Floats:
    """Return precision times recall of everything retrieved."""
    return set_precision(ranking, n_found, k=k) * recall(ranking, n_found, k=k)


def set_relative_precision(ranking: JudgedRanking, n_found: Number, *, k: None) -> Floats:
    """Return set_P over the largest that the query allows."""
    return share(n_found, np.minimum(ranking.n_retrieved, ranking.n_positives))


P = Definition(
    name="P",
    summary="The number of positives in the top k, divided by k.",
    source="trec_eval P_k.",
    convention="Divided by k, also where fewer than k docs were retrieved.",
    **by_count(precision),
    cutoff="required",
    bounds="monotone",
    is_precision=True,
    also_called=("Precision", "Prec"),
)
R = Definition(
    name="R",
    summary="The share of all positives of the query that stand in the top k.",
    source="Manning et al. 2008; FIRE eq. 1; trec_eval recall_k.",
    convention="Divided by |G|, also where |G| > k; 0 for a query without a positive. Papers on video and "
    "image retrieval call C@k by this name; the two are equal where each query has one positive.",
    **by_count(recall),
    cutoff="required",
    bounds="recall",
    over_positives=True,
    also_called=("Recall",),
)
F = Definition(
    name="F",
    summary="The weighted harmonic mean of precision and recall of the top k, or of everything retrieved.",
    source="van Rijsbergen 1979; trec_eval set_F without a cutoff, its parameter being β².",
    convention="With a cutoff precision divides by k, as P@k does. Recall weighs β times as much as "
    "precision; 0 where no positive was found. Positives kept below the top are not retrieved.",
    **by_count(f_measure),
    of_top=True,
    cutoff="optional",
    parameters=(Parameter("beta", example=2.0, default=1.0),),
    bounds="recall",
    over_positives=True,
    also_called=("F1", "F-measure"),
)
E = Definition(
    name="E",
    summary="The harmonic mean of precision and recall of the first 32 docs: F@32.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="Larger is better, as the benchmark's figures have it; van Rijsbergen's E is one minus "
    "this. Precision divides by 32 also where fewer were retrieved.",
    **by_count(f_measure, k=32),
    reads=32,
    bounds="recall",
    over_positives=True,
    also_called=("E-measure", "E@32"),
)
_EMPTY = "0 where nothing was retrieved, and for a query without a positive."


def _define(
    name: str,
    value: Callable[..., Floats],
    summary: str,
    convention: str = _EMPTY,
    **more: Any,
) -> Definition:
    """Return the definition of a measure of all that was retrieved; `more`: further fields of it."""
    return Definition(
        name=name,
        summary=summary,
        source=f"trec_eval {name}.",
        convention=convention,
        **by_count(value),
        of_top=True,
        **more,
    )


_OF_SETS = (
    _define(
        "set_P",
        set_precision,
        "The share of the docs retrieved that are positives.",
        f"Divided by all docs retrieved, however many they are. {_EMPTY}",
        bounds="monotone",
    ),
    _define(
        "set_recall",
        recall,
        "The share of the query's positives among the docs retrieved.",
        bounds="recall",
        over_positives=True,
    ),
    _define(
        "set_F",
        f_measure,
        "The harmonic mean of set_P and set_recall: F of everything retrieved.",
        bounds="recall",
        over_positives=True,
    ),
    _define("set_map", set_map, "set_P times set_recall.", bounds="recall", over_positives=True),
    _define(
        "set_relative_P",
        set_relative_precision,
        "The number of positives retrieved, over the most that could be: the smaller of |G| and the "
        "number retrieved.",
        bounds="recall",
    ),
    _define(
        "num_rel_ret",
        number_found,
        "The number of positives retrieved.",
        "Summed over queries.",
        bounds="monotone",
        unit="count",
        aggregate="sum",
    ),
)

MEASURES = (P, R, F, E, *_OF_SETS)
