"""AP_fire@k: average precision divided by the positives found, as FIRE's figures were made."""

from __future__ import annotations

from fire_toolkit.arrays import Floats, count_by_query, share
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.average_precision import precision_sum
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.filling import Ends, Filling


def average_precision_fire(ranking: JudgedRanking, *, k: int) -> Floats:
    """Return the mean precision at the positives of the top k for each query; 0 where it has none."""
    n_found = count_by_query(ranking.found.to(k).query, ranking.n_queries)
    return share(precision_sum(ranking, k=k), n_found)


def filled_average_precision_fire(filling: Filling, *, k: int) -> Ends:
    """Return its values as unjudged docs become positives."""
    ranking = filling.ranking
    n_found = count_by_query(ranking.found.to(k).query, ranking.n_queries)[:, None]
    return filling.over(filling.precision_sums(k), lambda n_added: n_found + n_added)


AP_FIRE = Definition(
    name="AP_fire",
    summary="The precision at the rank of each positive in the top k, averaged over those positives.",
    source="Rodriguez et al. 2022 (FIRE), its public code: top 20; top 10 for the augmented labels of MSVD.",
    convention="Divided by the positives found, not by |G|: a query with one positive at rank 1 scores 1 "
    "however many it misses. Only for reproducing figures.",
    per_query=average_precision_fire,
    cutoff="required",
    bounds="ends",
    filled=filled_average_precision_fire,
)

MEASURES = (AP_FIRE,)
