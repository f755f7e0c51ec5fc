"""mAP@R: average precision down to the rank that equals the number of positives."""

from __future__ import annotations

from fire_toolkit.arrays import Floats, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import TiedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.expected import expected_precisions
from fire_toolkit.measures.filling import Ends, Filling


def average_precision_at_r(ranking: JudgedRanking) -> Floats:
    """Return the sum of the precisions at the positives of the top |G|, over |G|."""
    found = ranking.found
    is_in = found.rank <= ranking.n_positives[found.query]
    precisions = (found.place / found.rank)[is_in]
    return share(sum_by_query(found.query[is_in], precisions, ranking.n_queries), ranking.n_positives)


def expected_average_precision_at_r(tied: TiedRanking) -> Floats:
    """Return its mean over all orders of tied docs."""
    n_positives = tied.ranking.n_positives
    return share(expected_precisions(tied, k=n_positives), n_positives)


def filled_average_precision_at_r(filling: Filling) -> Ends:
    """Return its values as unjudged docs become positives."""
    return filling.shares(filling.precision_sums_to(filling.n_positives))


MAP_AT_R = Definition(
    name="mAP@R",
    summary="The precision at the rank of each positive in the top |G|, summed, over |G|.",
    source="Musgrave et al., ECCV 2020; ECCV Caption (Chun et al., ECCV 2022), eccv_map_at_r.",
    convention="R is the number of positives |G| of the query, and no number is typed for it. A positive "
    "below rank |G| adds nothing; 0 for a query without a positive.",
    per_query=average_precision_at_r,
    expected=expected_average_precision_at_r,
    bounds="ends",
    filled=filled_average_precision_at_r,
    also_called=("AP@R",),
)

MEASURES = (MAP_AT_R,)
