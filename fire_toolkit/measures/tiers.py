"""Rprec, FT and ST: recall in as many docs as the query has positives, and in twice as many."""

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import measure


@measure("Rprec", "linear, over positives", also_called=("R-precision", "RP"))
def r_precision(ranking: JudgedRanking) -> Floats:
    """The share of positives in the top R, where R is the number of positives of the query.

    Source: trec_eval Rprec.
    Convention: Divided by R, also where fewer docs were retrieved; 0 for a query without a positive.
    """
    return share(ranking.found.count(ranking.n_positives), ranking.n_positives)


@measure("FT", "linear, over positives", also_called=("first_tier",))
def first_tier(ranking: JudgedRanking) -> Floats:
    """The first tier: the share of the query's positives that stand in the top |G|.

    Source: Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.
    Convention: |G| is the size of the query's class without the query (|C| − 1), which must not stand in its
    own ranking; equals Rprec. 0 for a query without a positive.
    """
    return r_precision.per_query(ranking)


@measure("ST", "linear, over positives", also_called=("second_tier",))
def second_tier(ranking: JudgedRanking) -> Floats:
    """The second tier: the share of the query's positives that stand in the top 2|G|.

    Source: Shilane et al., SMI 2004 (Princeton Shape Benchmark); SHREC.
    Convention: |G| is the size of the query's class without the query, as for FT. 0 for a query without a
    positive.
    """
    return share(ranking.found.count(2 * ranking.n_positives), ranking.n_positives)
