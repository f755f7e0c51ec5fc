"""Measures of everything that was retrieved, in whatever order: set_P, set_recall, num_rel_ret, ..."""

from __future__ import annotations

from collections.abc import Callable

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
SET_P = Definition(
    name="set_P",
    summary="The share of the docs retrieved that are positives.",
    source="trec_eval set_P.",
    convention=f"Divided by all docs retrieved, however many they are. {_EMPTY}",
    per_query=set_precision,
    of_top=True,
    expected=whatever_the_order(set_precision),
    bounds="monotone",
)
SET_RECALL = Definition(
    name="set_recall",
    summary="The share of the query's positives among the docs retrieved.",
    source="trec_eval set_recall.",
    convention=_EMPTY,
    per_query=set_recall,
    of_top=True,
    expected=whatever_the_order(set_recall),
    bounds="monotone",
)
SET_F = Definition(
    name="set_F",
    summary="The harmonic mean of set_P and set_recall: F of everything retrieved.",
    source="trec_eval set_F.",
    convention=_EMPTY,
    per_query=f_measure,
    of_top=True,
    expected=whatever_the_order(f_measure),
    bounds="monotone",
)
SET_MAP = Definition(
    name="set_map",
    summary="set_P times set_recall.",
    source="trec_eval set_map.",
    convention=_EMPTY,
    per_query=set_map,
    of_top=True,
    expected=whatever_the_order(set_map),
    bounds="monotone",
)
SET_RELATIVE_P = Definition(
    name="set_relative_P",
    summary="The number of positives retrieved, over the most that could be: the smaller of |G| and the "
    "number retrieved.",
    source="trec_eval set_relative_P.",
    convention=_EMPTY,
    per_query=set_relative_precision,
    of_top=True,
    expected=whatever_the_order(set_relative_precision),
    bounds="monotone",
)
NUM_REL_RET = Definition(
    name="num_rel_ret",
    summary="The number of positives retrieved.",
    source="trec_eval num_rel_ret.",
    convention="Summed over queries.",
    per_query=found_positives,
    of_top=True,
    expected=whatever_the_order(found_positives),
    unit="count",
    aggregate="sum",
    bounds="monotone",
)

MEASURES = (SET_P, SET_RECALL, SET_F, SET_MAP, SET_RELATIVE_P, NUM_REL_RET)
