"""The most convincing false negatives, and labels that are worth another look."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.gallery.pairs import IRRELEVANT, NEW, REJECTED, TOP, Shown
from fire_toolkit.gallery.votes import Votes

MOST = 500
LOW_SUPPORT = 0.9


class Finding(NamedTuple):
    """Pairs worth a look, the most first: why, their places among those shown, and how many there are."""

    why: str
    pairs: Ints
    n: int


def findings(shown: Shown, votes: Votes, *, most: int = MOST) -> list[Finding]:
    """Return false negatives, then labels to look at again by reason; reasons without a pair are left out.

    False negatives are new positives, the most convincing first: by votes against, whether several are for
    it, the number of runs that have the doc in their top 3, votes for, its best rank, query and doc.

    Labels to look at again stand under the first reason that holds: original positives that were rejected,
    the fewest votes against first; not relevant by one vote though every run lists the doc; decided by one
    vote of several; relevant by one vote, a doc that one run lists or none; less sure by a model of
    annotators than `LOW_SUPPORT`.
    """
    state, n_runs, n_all, best = shown.state, shown.n_runs(), len(shown.runs), shown.best_rank
    n_votes, support = votes.n_for + votes.n_against, np.nan_to_num(shown.support, nan=1.0)
    is_labelled, is_single = np.isin(state, [IRRELEVANT, NEW, REJECTED]), (n_votes == 1) & (n_all > 1)
    is_close = (n_votes > 2) & (abs(votes.n_for - votes.n_against) == 1)
    # Each reason with what it holds of, and what its pairs are ordered by, the last first.
    reasons: list[tuple[str, Bools, tuple[Any, ...]]] = [
        (
            "judged relevant, but not a positive of the benchmark",
            state == NEW,
            (best, -votes.n_for, -shown.n_runs(TOP), votes.n_for < 2, votes.n_against),
        ),
        (
            "a positive of the benchmark that was judged not relevant",
            state == REJECTED,
            (-n_runs, -votes.n_for, votes.n_against),
        ),
        (
            "not relevant by one vote alone, though every run lists it",
            (state == IRRELEVANT) & is_single & (n_runs == n_all),
            (best,),
        ),
        ("decided by one vote of several", is_labelled & is_close, (-n_runs, n_votes)),
        (
            "relevant by one vote alone, and no second run lists it",
            (state == NEW) & is_single & (n_runs < 2),
            (-best, n_runs),
        ),
        (f"less than {LOW_SUPPORT:.0%} sure by the model of annotators", support < LOW_SUPPORT, (support,)),
    ]
    found: list[Finding] = []
    is_taken = np.zeros(len(state), dtype=bool)
    for why, is_so, order in reasons:
        pairs = np.flatnonzero(is_so & ~is_taken)
        is_taken |= is_so & bool(found)  # a false negative may be looked at again
        places = np.lexsort([pairs, *(key[pairs] for key in order)])
        found.append(Finding(why, pairs[places][:most], len(pairs)))
    return [found[0], *(each for each in found[1:] if each.n)]
