"""A pilot: a few hundred pairs drawn at random by bands of ranks, and what votes on them say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints, are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists
from fire_toolkit.tables import Judgments, Pool, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows

_ENDS = np.array([0, 1, 3, 5, 10, 20, 50, 100, 1000])  # of bands of ranks


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
    drawable = np.flatnonzero((lists.best_rank <= min(depth, lists.depth)) & ~lists.is_original)
    band = np.searchsorted(_ENDS, lists.best_rank[drawable])
    bands, sizes = np.unique(band, return_counts=True)
    if not len(bands) <= n_pairs <= sizes.sum():
        raise UsageError(f"a pilot of {n_pairs:,} pairs; expected from {len(bands)} to {sizes.sum():,} here")
    shares = np.zeros(len(bands), dtype=np.int64)
    while (left := n_pairs - int(shares.sum())) > 0:
        is_open = shares < sizes
        each, extra = divmod(left, int(is_open.sum()))
        shares += np.minimum(is_open * (each + (is_open.cumsum() <= extra)), sizes - shares)
    rng = np.random.default_rng(seed)
    drawn = np.sort(
        np.concatenate(
            [
                rng.choice(drawable[band == own], size=n, replace=False)
                for own, n in zip(bands, shares, strict=True)
            ]
        )
    )
    own = np.searchsorted(_ENDS, lists.best_rank[drawn])
    table = lists.pairs.iloc[drawn].assign(
        best_rank=lists.best_rank[drawn],
        n_runs=lists.n_runs[drawn],
        is_original=False,
        stratum=[f"{_ENDS[place - 1] + 1}-{_ENDS[place]}" for place in own],
        inclusion_probability=(shares / sizes)[np.searchsorted(bands, own)] / lists.scale,
    )
    return check_pool(table.reset_index(drop=True))


def pilot_votes(lists: Lists, judgments: Judgments, relevance: pd.Series) -> PilotVotes:
    """Return the votes on each judged pair that the lists hold.

    Args:
        judgments: one row for each annotator and pair.
        relevance: of each row's label, positive from 1; missing where the label has no grade, which is no
            vote.
    """
    votes = judgments[PAIR].assign(positive=relevance >= 1)[relevance.notna()]
    pairs = votes.groupby(PAIR, sort=True)["positive"].agg(["sum", "size"]).reset_index()
    rows = pair_rows(pairs, lists.pairs)
    positive, total = pairs.loc[rows >= 0, ["sum", "size"]].to_numpy(dtype=np.int64).T
    return PilotVotes(rows[rows >= 0], positive, total, int((rows < 0).sum()))


def queries_judged_deep(lists: Lists, votes: PilotVotes) -> int:
    """Return in how many queries a pilot judged every pair of the lists."""
    is_open = ~are_among(votes.pair, len(lists.query)) & ~lists.is_original
    return lists.n_queries - len(np.unique(lists.query[is_open]))
