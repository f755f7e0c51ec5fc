"""Rprec, FT and ST: recall in as many docs as the query has positives, and in twice as many."""

from __future__ import annotations

from functools import partial
from typing import Any

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.lookup import count_to
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_found


def recall_at_multiple(ranking: JudgedRanking, *, multiple: int) -> Floats:
    """Return the share of each query's positives that stand in the top `multiple` × |G|."""
    found = ranking.found
    return share(count_to(found.query, found.rank, multiple * ranking.n_positives), ranking.n_positives)


def expected_recall_at_multiple(tied: TiedRanking, *, multiple: int) -> Floats:
    """Return the mean of `recall_at_multiple` over all orders of tied docs."""
    n_positives = tied.ranking.n_positives
    return share(expected_found(tied, k=multiple * n_positives), n_positives)


def _of_multiple(multiple: int) -> dict[str, Any]:
    """Return what the definitions share, of recall in the top `multiple` × |G|."""
    return {
        "per_query": partial(recall_at_multiple, multiple=multiple),
        "expected": partial(expected_recall_at_multiple, multiple=multiple),
    }


RPREC = Definition(
    name="Rprec",
    summary="The share of positives in the top R, where R is the number of positives of the query.",
    source="trec_eval Rprec.",
    convention="Divided by R, also where fewer docs were retrieved; 0 for a query without a positive.",
    **_of_multiple(1),
    over_positives=True,
    also_called=("R-precision", "RP"),
)
FT = Definition(
    name="FT",
    summary="The first tier: the share of the query's positives that stand in the top |G|.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="|G| is the size of the query's class without the query (|C| − 1), which must not stand in "
    "its own ranking; equals Rprec. 0 for a query without a positive.",
    **_of_multiple(1),
    over_positives=True,
    also_called=("first_tier",),
)
ST = Definition(
    name="ST",
    summary="The second tier: the share of the query's positives that stand in the top 2|G|.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="|G| is the size of the query's class without the query, as for FT. 0 for a query without a "
    "positive.",
    **_of_multiple(2),
    over_positives=True,
    also_called=("second_tier",),
)

MEASURES = (RPREC, FT, ST)
