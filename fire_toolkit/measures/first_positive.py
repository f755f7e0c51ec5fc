"""Measures that the rank of the first positive decides: C@k and NN, RR, MedR and MnR."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.reading import has_found, rank_of_first, reciprocal_of_first

C = Definition(
    name="C",
    summary="1 if a positive stands in the top k, else 0.",
    source="Rodriguez et al. 2022 (FIRE) §2.1; trec_eval success_k.",
    convention="0 for a query without a positive, or missing from the run. Papers on video and image "
    "retrieval call it R@K, which it equals where each query has one positive.",
    per_query=has_found,
    cutoff="required",
    is_linear=True,
    bounds="monotone",
    is_binary=True,
    by_first_positive=True,
    also_called=("Correct",),
)
HIT = replace(C, name="hit", summary="C@k under another name.", also_called=("hits", "HR"))
SUCCESS = replace(C, name="Success", summary="C@k as trec_eval names it.", also_called=())
NN = Definition(
    name="NN",
    summary="1 if the first doc is a positive, else 0: C@1 under the name of shape retrieval.",
    source="Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.",
    convention="The query itself must not stand in its own ranking.",
    per_query=partial(has_found, k=1),
    is_linear=True,
    reads=1,
    bounds="monotone",
    is_binary=True,
    by_first_positive=True,
    also_called=("nearest_neighbor",),
)
RR = Definition(
    name="RR",
    summary="One divided by the rank of the first positive; its mean is known as MRR.",
    source="trec_eval recip_rank.",
    convention="0 where no positive was retrieved, or none in the top k.",
    per_query=reciprocal_of_first,
    is_linear=True,
    cutoff="optional",
    bounds="monotone",
    by_first_positive=True,
    also_called=("MRR", "recip_rank"),
)
MEDR = Definition(
    name="MedR",
    summary="The median over queries of the rank of the first positive.",
    source="Median rank of text-video retrieval papers (HGR, MMT, CLIP4Clip).",
    convention="Where no positive was retrieved, or the query is missing from the run: one past the run's "
    "deepest rank, which is a lower bound. For an even number of queries the mean of the middle two.",
    per_query=rank_of_first,
    unit="rank",
    larger_is_better=False,
    aggregate="median",
    bounds="monotone",
    by_first_positive=True,
    also_called=("median_rank", "MdR", "MedianR"),
)
MNR = Definition(
    name="MnR",
    summary="The rank of the first positive, averaged over queries.",
    source="Mean rank of text-video retrieval papers (MMT, CLIP4Clip).",
    convention="Where no positive was retrieved, or the query is missing from the run: one past the run's "
    "deepest rank, which is a lower bound; exact for runs that rank the whole collection.",
    per_query=rank_of_first,
    is_linear=True,
    unit="rank",
    larger_is_better=False,
    bounds="monotone",
    by_first_positive=True,
    also_called=("mean_rank", "MeanR"),
)

MEASURES = (C, HIT, SUCCESS, NN, RR, MEDR, MNR)
