"""A pilot: a few hundred pairs drawn at random by bands of ranks, and what votes on them say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists
from fire_toolkit.tables import Judgments, Pool, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows

_LAST_OF_BAND = (1, 3, 5, 10, 20, 50, 100, 1000)


class PilotVotes(NamedTuple):
    """pair: places in the lists; n_positive, n_votes of each; n_unknown: pairs that the lists do not hold."""

    pair: Ints
    n_positive: Ints
    n_votes: Ints
    n_unknown: int


def draw_pilot(lists: Lists, n_pairs: int, *, depth: int, seed: int) -> Pool:
    """Return a pool of `n_pairs` pairs, drawn as evenly from bands of best ranks as these are large.

    Originals are left out, since they are known. The bands end at the ranks 1, 3, 5, 10, 20, 50, …, and at
    `depth`; later ones hold most of the pairs and few positives, so each band gets as many as any other.

    Returns:
        The pool with columns stratum (the band) and inclusion_probability, of all queries of the qrels; all
        pairs of a small band.

    Raises:
        UsageError: fewer pairs than bands, or more than there are.
    """
    is_drawable = (lists.best_rank <= min(depth, lists.depth)) & ~lists.is_original
    band = np.searchsorted(_LAST_OF_BAND, lists.best_rank)
    bands, sizes = np.unique(band[is_drawable], return_counts=True)
    if not len(bands) <= n_pairs <= sizes.sum():
        raise UsageError(f"a pilot of {n_pairs:,} pairs; expected from {len(bands)} to {sizes.sum():,} here")
    rng = np.random.default_rng(seed)
    chosen, chance = [], np.zeros(len(band))
    for name, n in zip(bands, _even_shares(sizes, n_pairs), strict=True):
        members = np.flatnonzero(is_drawable & (band == name))
        chosen.append(rng.choice(members, size=n, replace=False))
        chance[members] = n / len(members) / lists.scale
    drawn = np.sort(np.concatenate(chosen))
    edges = (0, *_LAST_OF_BAND)
    names = np.array([f"{edges[place] + 1}-{edges[place + 1]}" for place in range(len(_LAST_OF_BAND))])
    table = lists.pairs.iloc[drawn].assign(
        best_rank=lists.best_rank[drawn],
        n_runs=lists.n_runs[drawn],
        is_original=False,
        stratum=names[band[drawn]],
        inclusion_probability=chance[drawn],
    )
    return check_pool(table.reset_index(drop=True))


def _even_shares(sizes: Ints, total: int) -> Ints:
    """Return shares of a total, as even as sizes allow, the first ones larger by what is left over."""
    shares = np.zeros(len(sizes), dtype=np.int64)
    while (left := total - int(shares.sum())) > 0:
        open_ones = np.flatnonzero(shares < sizes)
        each, extra = divmod(left, len(open_ones))
        more = np.full(len(open_ones), each) + (np.arange(len(open_ones)) < extra)
        shares[open_ones] = np.minimum(shares[open_ones] + more, sizes[open_ones])
    return shares


def pilot_votes(lists: Lists, judgments: Judgments, relevance: pd.Series) -> PilotVotes:
    """Return the votes on each judged pair that the lists hold.

    Args:
        judgments: one row for each annotator and pair.
        relevance: of each row's label, positive from 1; missing where the label has no grade, which is no
            vote.
    """
    is_vote = relevance.notna().to_numpy()
    votes = judgments.loc[is_vote, PAIR].assign(positive=(relevance[is_vote] >= 1).to_numpy())
    pairs = votes.groupby(PAIR, sort=True)["positive"].agg(["sum", "size"]).reset_index()
    rows = pair_rows(pairs, lists.pairs)
    known = rows >= 0
    positive, total = (pairs.loc[known, name].to_numpy(dtype=np.int64) for name in ("sum", "size"))
    return PilotVotes(rows[known], positive, total, int((~known).sum()))


def queries_judged_deep(lists: Lists, votes: PilotVotes) -> int:
    """Return in how many queries a pilot judged every pair of the lists."""
    judged = np.zeros(len(lists.query), dtype=bool)
    judged[votes.pair] = True
    n_open = np.bincount(lists.query[~judged & ~lists.is_original], minlength=lists.n_queries)
    return int((n_open == 0).sum())
