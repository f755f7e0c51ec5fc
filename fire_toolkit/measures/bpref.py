"""bpref: how rarely judged non-relevant docs stand above positives."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, count_by_query, running_count, share, sum_by_query
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Definition
from fire_toolkit.measures.filling import Ends, Filling


def bpref(ranking: JudgedRanking) -> Floats:
    """Return 1/R Σ over the positives found of 1 − min(n, R) / min(N, R), n of N non-relevant above it."""
    ranking = ranking.top
    n_above = running_count(ranking.query, ranking.relevance == 0)[ranking.is_positive]
    query = ranking.found.query
    n_positives, n_nonrelevant = ranking.n_positives[query], ranking.n_nonrelevant[query]
    lost = share(np.minimum(n_above, n_positives), np.minimum(n_nonrelevant, n_positives))
    return share(sum_by_query(query, 1 - lost, ranking.n_queries), ranking.n_positives)


def filled_bpref(filling: Filling) -> Ends:
    """Return its values as unjudged docs become positives, and the other docs of the top are not."""
    ranking = filling.ranking.top
    n_found = count_by_query(ranking.found.query, ranking.n_queries)[:, None]
    n_open = filling.is_open.sum(axis=1)[:, None]

    def values(side: int) -> Floats:
        n_added, n_positives = filling.n_added[side], filling.n_positives[side]
        n_nonrelevant = ranking.n_nonrelevant[:, None] + n_open - n_added
        above = np.take_along_axis(_sums_above(ranking, filling.is_open, side), n_added, axis=1)
        lost = share(above, np.minimum(n_nonrelevant, n_positives))
        return share(n_found + n_added - lost, n_positives)

    return values(0), values(1)


def _sums_above(ranking: JudgedRanking, is_open: Bools, side: int) -> Floats:
    """Return the sum of min(n, R) over the positives when m = 0, 1, ... unjudged docs are positives.

    Above a positive stand n docs judged not relevant: the a that are so already and, of the o unjudged ones
    above it, those that are not made positives. That is a + max(0, o - m) when the first m of the query's u
    unjudged docs are positives, and a + min(o, u - m) when the last m are; R is r + m. A positive counts from
    `start` on, min(n, R) is n from `turn` on, and n takes its other branch from `bend` on. So each positive
    gives a line in m between these three places, and the sum needs three steps for each.
    """
    n_above = np.cumsum(_grid(ranking, ranking.relevance == 0, is_open.shape), axis=1)
    query, rank = np.nonzero(_grid(ranking, ranking.is_positive, is_open.shape) | is_open)
    a, is_added = n_above[query, rank], is_open[query, rank]
    o: Ints = np.cumsum(is_open, axis=1)[query, rank] - is_added
    u: Ints = is_open.sum(axis=1)[query]
    r = ranking.n_positives[query]
    if side == 0:
        start, bend = (o + 1) * is_added, o
        turn = np.where(a - r <= o, (a + o - r + 1) // 2, a - r)
        steps, slopes = (r, a + o - r, -o), (1, -2, 1)
    else:
        start, bend = (u - o) * is_added, u - o
        turn = np.where(a + o - r <= u - o, a + o - r, (a + u - r + 1) // 2)
        steps, slopes = (r, a + o - r, u - o), (1, -1, -1)
    turn = np.maximum(turn, start)
    bend = np.maximum(turn, bend)
    width = is_open.shape[1] + 2
    places = np.concatenate([query * width + np.minimum(m, width - 1) for m in (start, turn, bend)])
    level, slope = (
        np.bincount(places, np.concatenate(each), minlength=len(is_open) * width).reshape(-1, width)
        for each in (steps, [np.full(query.size, each) for each in slopes])
    )
    return np.asarray(np.cumsum(level, axis=1) + np.cumsum(slope, axis=1) * np.arange(width))


def _grid(ranking: JudgedRanking, is_chosen: Bools, shape: tuple[int, ...]) -> Bools:
    """Return (n_queries, depth): where the chosen entries of the top stand."""
    grid = np.zeros(shape, dtype=bool)
    grid[ranking.query[is_chosen], ranking.rank[is_chosen].astype(np.int64) - 1] = True
    return grid


BPREF = Definition(
    name="bpref",
    summary="For each positive found, the share of the first R judged non-relevant docs that stand below "
    "it, summed, over R positives.",
    source="Buckley and Voorhees, SIGIR 2004, in the form of trec_eval bpref.",
    convention="Unjudged docs are passed over. 1 − min(n, R) / min(N, R) for a positive with n of the "
    "query's N non-relevant docs above it; positives that are not retrieved, or stand below the run's top, "
    "add 0.",
    per_query=bpref,
    of_top=True,
    bounds="ends",
    over_positives=True,
    filled=filled_bpref,
    skips_unjudged=True,
)

MEASURES = (BPREF,)
