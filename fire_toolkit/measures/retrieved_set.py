"""Measures of everything that was retrieved, in whatever order: set_P, set_recall, num_rel_ret, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fire_toolkit.arrays import Floats, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.f_measure import f_measure


def found_positives(ranking: JudgedRanking) -> Floats:
    """Return how many positives of each query were retrieved, those kept below the top not counted."""
    return count_by_query(ranking.top.found.query, ranking.n_queries).astype(np.float64)


def set_precision(ranking: JudgedRanking) -> Floats:
    """Return the share of the docs retrieved that are positives."""
    return share(found_positives(ranking), ranking.n_retrieved)


def set_recall(ranking: JudgedRanking) -> Floats:
    """Return the share of the positives that were retrieved."""
    return share(found_positives(ranking), ranking.n_positives)


def set_map(ranking: JudgedRanking) -> Floats:
    """Return precision times recall of everything retrieved."""
    return set_precision(ranking) * set_recall(ranking)


def set_relative_precision(ranking: JudgedRanking) -> Floats:
    """Return set_P over the largest that the query allows."""
    return share(found_positives(ranking), np.minimum(ranking.n_retrieved, ranking.n_positives))


def whatever_the_order(per_query: Callable[[JudgedRanking], Floats]) -> Callable[[TiedRanking], Floats]:
    """Return what a measure is expected to be over all orders of tied docs, where none changes it."""
    return lambda tied: per_query(tied.ranking)


_EMPTY = "0 where nothing was retrieved, and for a query without a positive."


def _define(
    name: str,
    per_query: Callable[[JudgedRanking], Floats],
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
        per_query=per_query,
        of_top=True,
        expected=whatever_the_order(per_query),
        bounds="monotone",
        **more,
    )


MEASURES = (
    _define(
        "set_P",
        set_precision,
        "The share of the docs retrieved that are positives.",
        f"Divided by all docs retrieved, however many they are. {_EMPTY}",
    ),
    _define("set_recall", set_recall, "The share of the query's positives among the docs retrieved."),
    _define("set_F", f_measure, "The harmonic mean of set_P and set_recall: F of everything retrieved."),
    _define("set_map", set_map, "set_P times set_recall."),
    _define(
        "set_relative_P",
        set_relative_precision,
        "The number of positives retrieved, over the most that could be: the smaller of |G| and the "
        "number retrieved.",
    ),
    _define(
        "num_rel_ret",
        found_positives,
        "The number of positives retrieved.",
        "Summed over queries.",
        unit="count",
        aggregate="sum",
    ),
)
