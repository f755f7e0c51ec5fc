"""Rprec: the precision at the rank that equals the number of positives."""

from __future__ import annotations

from functools import partial

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.lookup import count_to
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_found
from fire_toolkit.measures.filling import Ends, Filling


def r_precision(ranking: JudgedRanking) -> Floats:
    """Return |positives in the top |G|| / |G| for each query; 0 where |G| is 0."""
    return recall_at_multiple(ranking, multiple=1)


def recall_at_multiple(ranking: JudgedRanking, *, multiple: int) -> Floats:
    """Return the share of each query's positives that stand in the top `multiple` × |G|."""
    found = ranking.found
    return share(count_to(found.query, found.rank, multiple * ranking.n_positives), ranking.n_positives)


def expected_recall_at_multiple(tied: TiedRanking, *, multiple: int) -> Floats:
    """Return the mean of `recall_at_multiple` over all orders of tied docs."""
    n_positives = tied.ranking.n_positives
    return share(expected_found(tied, k=multiple * n_positives), n_positives)


def filled_recall_at_multiple(filling: Filling, *, multiple: int) -> Ends:
    """Return `recall_at_multiple` as unjudged docs become positives."""
    first, last = filling.n_positives
    return filling.shares(filling.counts_to((multiple * first, multiple * last)))


RPREC = Definition(
    name="Rprec",
    summary="The share of positives in the top R, where R is the number of positives of the query.",
    source="trec_eval Rprec.",
    convention="Divided by R, also where fewer docs were retrieved; 0 for a query without a positive.",
    per_query=r_precision,
    expected=partial(expected_recall_at_multiple, multiple=1),
    bounds="ends",
    filled=partial(filled_recall_at_multiple, multiple=1),
    also_called=("R-precision", "RP"),
)

MEASURES = (RPREC,)
