"""Measures of how many positives were found: P@k, R@k, F and E, and those of all that was retrieved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.measures.definition import Definition, Parameter
from fire_toolkit.measures.reading import Seen, count_found


def precision(seen: Seen, *, k: int) -> Floats:
    """Return |positives in the top k| / k for each query."""
    return count_found(seen, k) / k


def recall(seen: Seen, *, k: int | None = None) -> Floats:
    """Return |positives found| / |G| for each query; 0 where |G| is 0."""
    return share(number_found(seen, k=k), seen.ranking.n_positives)


def f_measure(seen: Seen, *, k: int | None = None, beta: float = 1.0) -> Floats:
    """Return (1 + β²) P R / (β² P + R) of the top k (of all retrieved, without k) for each query."""
    ranking = seen.ranking
    n_taken = ranking.n_retrieved if k is None else np.full(ranking.n_queries, k)
    f = share((1 + beta**2) * number_found(seen, k=k), beta**2 * ranking.n_positives + n_taken)
    return np.where(ranking.n_positives > 0, f, 0.0)


def number_found(seen: Seen, *, k: int | None = None) -> Floats:
    """Return how many positives stand in the top k; without k in all that was retrieved, to the top's end."""
    return count_found(seen, seen.ranking.n_retrieved if k is None else k).astype(np.float64)


def set_precision(seen: Seen) -> Floats:
    """Return the share of the docs retrieved that are positives."""
    return share(number_found(seen), seen.ranking.n_retrieved)


def set_map(seen: Seen) -> Floats:
    """Return precision times recall of everything retrieved."""
    return set_precision(seen) * recall(seen)


def set_relative_precision(seen: Seen) -> Floats:
    """Return set_P over the largest that the query allows."""
    ranking = seen.ranking
    return share(number_found(seen), np.minimum(ranking.n_retrieved, ranking.n_positives))


P = Definition(
    name="P",
    summary="The number of positives in the top k, divided by k.",
    source="trec_eval P_k.",
    convention="Divided by k, also where fewer than k docs were retrieved.",
    per_query=precision,
    is_linear=True,
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
    per_query=recall,
    is_linear=True,
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
    per_query=f_measure,
    is_linear=True,
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
    per_query=partial(f_measure, k=32),
    is_linear=True,
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
        per_query=value,
        is_linear=True,
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
