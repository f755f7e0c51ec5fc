"""MedR: the median over queries of the rank of the first positive."""

from __future__ import annotations

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.mean_rank import first_rank

MEDR = Definition(
    name="MedR",
    summary="The median over queries of the rank of the first positive.",
    source="Median rank of text-video retrieval papers (HGR, MMT, CLIP4Clip).",
    convention="Where no positive was retrieved, or the query is missing from the run: one past the run's "
    "deepest rank, which is a lower bound. For an even number of queries the mean of the middle two.",
    per_query=first_rank,
    unit="rank",
    larger_is_better=False,
    aggregate="median",
    bounds="monotone",
    by_first_positive=True,
    also_called=("median_rank", "MdR", "MedianR"),
)

MEASURES = (MEDR,)
