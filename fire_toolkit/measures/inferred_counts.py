"""iP@k, inum_rel and inum_rel_ret: precision and counts, estimated from a pool that was judged in part."""

from __future__ import annotations

from functools import partial

from fire_toolkit.arrays import Floats
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.retrieved_set import whatever_the_order
from fire_toolkit.measures.sampled_pool import estimated_positives, expected_positives

LONGEST = 1000  # docs of a query that NIST's program reads
_SOURCE = "Yilmaz, Kanoulas and Aslam, SIGIR 2008 (ε = 1e-5); NIST's sample_eval.pl"
_NO_BOUNDS = "is an estimate from a sample, which allows for unjudged docs already"


def inferred_precision(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the number of positives that the top k is expected to hold, over k."""
    return expected_positives(ranking, k=k) / k


IP = Definition(
    name="iP",
    summary="The number of positives in the top k, estimated from a pool in strata, divided by k.",
    source=f"{_SOURCE}, iP10 and others.",
    convention="Of a stratum's d pooled docs in the top k, n of them judged and r positive, d (r + ε) / "
    "(n + 3ε) are taken as positives. Divided by k, also where fewer docs were retrieved.",
    per_query=inferred_precision,
    of_top=True,
    cutoff="required",
    no_bounds=_NO_BOUNDS,
    also_called=("infP",),
)
INUM_REL = Definition(
    name="inum_rel",
    summary="The number of positives in the pool, estimated from its judged part.",
    source=f"{_SOURCE}, inum_rel.",
    convention="Of a stratum's N pooled docs, n of them judged and r positive, r N / n are taken as "
    "positives. Summed over the queries of the qrels; the run does not matter.",
    per_query=estimated_positives,
    of_top=True,
    expected=whatever_the_order(estimated_positives),
    unit="count",
    aggregate="sum",
    no_bounds=_NO_BOUNDS,
)
INUM_REL_RET = Definition(
    name="inum_rel_ret",
    summary="The number of positives among the first 1,000 docs, estimated from the judged part of the pool.",
    source=f"{_SOURCE}, inum_rel_ret.",
    convention="Estimated as for iP@1000. Summed over queries.",
    per_query=partial(expected_positives, k=LONGEST),
    of_top=True,
    reads=LONGEST,
    unit="count",
    aggregate="sum",
    no_bounds=_NO_BOUNDS,
)

MEASURES = (IP, INUM_REL, INUM_REL_RET)
