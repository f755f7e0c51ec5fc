"""CG, DCG, DCG_J and their shares of the ideal: nCG, nDCG, nDCG_J."""

from __future__ import annotations

from functools import partial

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_gain, expected_normalised_gain
from fire_toolkit.measures.filling import Ends, Filling
from fire_toolkit.measures.gains import (
    cumulated_gain,
    filled_normalised_gain,
    ideal_gain,
    log_from_second,
    log_of_next,
    no_discount,
    normalised_filling,
    normalised_gain,
)


def gain_retrieved(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """Return the sum of the grades in the top k; without k of all that was ranked."""
    return cumulated_gain(ranking.top if k is None else ranking, discount=no_discount, k=k)


def normalised_gain_retrieved(ranking: JudgedRanking, *, k: int | None = None) -> Floats:
    """Return `gain_retrieved` over that of the ideal ranking; 0 for a query without a positive."""
    return share(gain_retrieved(ranking, k=k), ideal_gain(ranking, discount=no_discount, k=k))


def expected_gain_retrieved(tied: TiedRanking, *, k: int | None = None) -> Floats:
    """Return the mean of `gain_retrieved` over all orders of tied docs."""
    return expected_gain(tied, discount=no_discount, k=tied.ranking.n_retrieved if k is None else k)


def expected_normalised_gain_retrieved(tied: TiedRanking, *, k: int | None = None) -> Floats:
    """Return the mean of `normalised_gain_retrieved` over all orders of tied docs."""
    ideal = ideal_gain(tied.ranking, discount=no_discount, k=k)
    return share(expected_gain_retrieved(tied, k=k), ideal)


def filled_normalised_gain_retrieved(filling: Filling, *, k: int | None = None) -> Ends:
    """Return `normalised_gain_retrieved` as unjudged docs become positives."""
    return normalised_filling(filling, gain_retrieved(filling.ranking, k=k), no_discount, k)


CG = Definition(
    name="CG",
    summary="The sum of the grades in the top k, or of everything retrieved.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, eq. 1; SHREC.",
    convention="Negative relevances add nothing. Without a cutoff positives kept below the top do not count.",
    per_query=gain_retrieved,
    of_top=True,
    expected=expected_gain_retrieved,
    cutoff="optional",
    unit="gain",
    bounds="monotone",
    is_graded=True,
)
NCG = Definition(
    name="nCG",
    summary="CG divided by the CG of the ideal ranking.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002; SHREC.",
    convention="The ideal ranking holds all positives of the query, cut at k; 0 for a query without a "
    "positive.",
    per_query=normalised_gain_retrieved,
    of_top=True,
    expected=expected_normalised_gain_retrieved,
    cutoff="optional",
    bounds="ends",
    filled=filled_normalised_gain_retrieved,
    is_graded=True,
)
DCG = Definition(
    name="DCG",
    summary="The grades found, each divided by log2(rank + 1), summed.",
    source="The numerator of trec_eval ndcg, ndcg_cut_k.",
    convention="The gain is the grade; nDCG divides it by its ideal. SHREC's DCG is nDCG_J.",
    per_query=partial(cumulated_gain, discount=log_of_next),
    expected=partial(expected_gain, discount=log_of_next),
    cutoff="optional",
    unit="gain",
    bounds="monotone",
    is_graded=True,
)
NDCG = Definition(
    name="nDCG",
    summary="The grades found, each divided by log2(rank + 1), summed and divided by the largest such sum.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, with trec_eval's discount: trec_eval ndcg, ndcg_cut_k.",
    convention="The gain is the grade. The ideal ranking holds all positives of the query, cut at k; 0 for "
    "a query without a positive. nDCG_J has the discount of the paper.",
    per_query=partial(normalised_gain, discount=log_of_next),
    expected=partial(expected_normalised_gain, discount=log_of_next),
    cutoff="optional",
    bounds="ends",
    filled=partial(filled_normalised_gain, discount=log_of_next),
    is_graded=True,
)
DCG_J = Definition(
    name="DCG_J",
    summary="The grades found, those from rank 2 divided by log2(rank), summed.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002, eq. 2, with base 2.",
    convention="The gain is the grade; ranks 1 and 2 are not discounted.",
    per_query=partial(cumulated_gain, discount=log_from_second),
    expected=partial(expected_gain, discount=log_from_second),
    cutoff="optional",
    unit="gain",
    bounds="monotone",
    is_graded=True,
)
NDCG_J = Definition(
    name="nDCG_J",
    summary="DCG_J divided by the DCG_J of the ideal ranking.",
    source="Järvelin and Kekäläinen, ACM TOIS 2002; what SHREC and the Princeton Shape Benchmark print as "
    "DCG.",
    convention="The ideal ranking holds all positives of the query, cut at k; 0 for a query without a "
    "positive.",
    per_query=partial(normalised_gain, discount=log_from_second),
    expected=partial(expected_normalised_gain, discount=log_from_second),
    cutoff="optional",
    bounds="ends",
    filled=partial(filled_normalised_gain, discount=log_from_second),
    is_graded=True,
)

MEASURES = (CG, NCG, DCG, NDCG, DCG_J, NDCG_J)
