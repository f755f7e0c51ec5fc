"""NN: whether the first doc is a positive."""

from __future__ import annotations

from functools import partial

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.correct import correct_at_k
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_hit


def nearest_neighbour(ranking: JudgedRanking) -> Floats:
    """Return 1 for each query whose first doc is a positive, else 0."""
    return correct_at_k(ranking, k=1)


NN = Definition(
    name="NN",
    summary="1 if the first doc is a positive, else 0: C@1 under the name of shape retrieval.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="The query itself must not stand in its own ranking.",
    per_query=nearest_neighbour,
    expected=partial(expected_hit, k=1),
    reads=1,
    bounds="monotone",
    is_binary=True,
    by_first_positive=True,
    also_called=("nearest_neighbor",),
)

MEASURES = (NN,)
