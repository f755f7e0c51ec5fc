"""E: the harmonic mean of precision and recall of the first 32 docs, as shape retrieval prints it."""

from __future__ import annotations

from functools import partial

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.f_measure import expected_f_measure, f_measure


def e_measure(ranking: JudgedRanking) -> Floats:
    """Return 2 / (1/P + 1/R) of the first 32 docs for each query; 0 where they hold no positive."""
    return f_measure(ranking, k=32)


E = Definition(
    name="E",
    summary="The harmonic mean of precision and recall of the first 32 docs: F@32.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="Larger is better, as the benchmark's figures have it; van Rijsbergen's E is one minus "
    "this. Precision divides by 32 also where fewer were retrieved.",
    per_query=e_measure,
    expected=partial(expected_f_measure, k=32),
    reads=32,
    bounds="monotone",
    also_called=("E-measure", "E@32"),
)

MEASURES = (E,)
