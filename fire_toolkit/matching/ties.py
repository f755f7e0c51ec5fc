"""Rules for docs of equal score, by name, where a run's own order (doc id descending) is not wanted.

`index` puts tied docs in the collection's order, as a stable sort of a score matrix does. The others
move the docs of the qrels within their group of tied docs, whose first and last rank are f and l:
`optimistic` puts positives first (higher grades before lower), docs judged not relevant last and what
was not judged between them; `pessimistic` is its mirror; `average` gives the i-th of a group's p
positives its expected rank f − 1 + i (l − f + 2) / (p + 1), which for one positive is the mean rank.
`expected` moves nothing: a score is then its mean over all orders of the tied docs, which a rank between
the places of a group does not give (C@1 of a positive at rank 1.5 is 0).
"""

import numpy as np

from fire_toolkit.arrays import Floats, number_groups, running_count
from fire_toolkit.matching.judged_ranking import JudgedRanking

TIE_RULES = ("doc-desc", "index", "average", "optimistic", "pessimistic", "expected")
SETTLING_RULES = TIE_RULES[2:5]  # `expected` takes the mean over all orders; the first two, that of the run


def settled(ranking: JudgedRanking, rule: str) -> JudgedRanking:
    """Return a ranking with its ties settled by one of `SETTLING_RULES`.

    Docs without an entry stand as unjudged ones do.
    """
    relevance = ranking.relevance
    first_ranks, last_ranks = ranking.tied_ranks
    group = number_groups(ranking.query, first_ranks)
    if rule == "average":
        rank: Floats = np.empty(group.size)
        for is_of_kind in (relevance >= 1, relevance == 0, relevance < 0):
            kept = np.flatnonzero(is_of_kind)
            own, first, last = group[kept], first_ranks[kept], last_ranks[kept]
            rank[kept] = first - 1 + running_count(own) * (last - first + 2) / (np.bincount(own)[own] + 1)
        order = np.lexsort((rank, ranking.query))
        return ranking.in_order.take(order, rank=rank[order])
    is_optimistic = rule == "optimistic"
    merit = np.where(relevance < 0, 0.5, relevance)
    order = np.lexsort((-merit if is_optimistic else merit, group))
    place = running_count(group)
    is_late = (relevance[order] == 0) == is_optimistic
    rank = np.where(is_late, last_ranks - np.bincount(group)[group] + place, first_ranks - 1 + place)
    return ranking.in_order.take(order, rank=rank.astype(np.float64))
