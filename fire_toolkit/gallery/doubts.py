"""The most convincing false negatives, and labels that are worth another look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.gallery.pairs import IRRELEVANT, NEW, REJECTED, Shown
from fire_toolkit.gallery.votes import Votes

MOST = 500
LOW_SUPPORT = 0.9


class Finding(NamedTuple):
    """Pairs worth a look, the most first: why, their places among those shown, and how many there are."""

    why: str
    pairs: Ints
    n: int


def false_negatives(shown: Shown, votes: Votes, *, most: int = MOST) -> Finding:
    """Return new positives, the most convincing first.

    That is by votes against, votes for, the number of runs that list the doc, its best rank, query and doc.
    """
    order = (shown.best_rank, -shown.n_runs, -votes.n_for, votes.n_against)
    return _ordered("judged relevant, but not a positive of the benchmark", shown.state == NEW, order, most)


def doubtful_labels(shown: Shown, votes: Votes, *, most: int = MOST) -> list[Finding]:
    """Return labels to look at again by reason, each pair under the first that holds.

    Original positives that were rejected, the fewest votes against first; not relevant by one vote though
    every run lists the doc; decided by one vote of several; relevant by one vote, a doc that one run lists or
    none; less sure by a model of annotators than `LOW_SUPPORT`.
    """
    taken = np.zeros(len(shown.state), dtype=bool)
    found = []
    for why, is_so, order in _reasons(shown, votes):
        finding = _ordered(why, is_so & ~taken, order, most)
        taken |= is_so
        if finding.n:
            found.append(finding)
    return found


def _reasons(shown: Shown, votes: Votes) -> Iterator[tuple[str, Bools, tuple[Any, ...]]]:
    n_votes = votes.n_for + votes.n_against
    is_labelled = np.isin(shown.state, [IRRELEVANT, NEW, REJECTED])
    is_everywhere = (shown.n_runs == len(shown.runs)) & (len(shown.runs) > 1)
    yield (
        "a positive of the benchmark that was judged not relevant",
        shown.state == REJECTED,
        (-shown.n_runs, -votes.n_for, votes.n_against),
    )
    yield (
        "not relevant by one vote alone, though every run lists it",
        (shown.state == IRRELEVANT) & (n_votes == 1) & is_everywhere,
        (shown.best_rank,),
    )
    yield (
        "decided by one vote of several",
        is_labelled & (n_votes > 2) & (abs(votes.n_for - votes.n_against) == 1),
        (-shown.n_runs, n_votes),
    )
    yield (
        "relevant by one vote alone, and no second run lists it",
        (shown.state == NEW) & (n_votes == 1) & (shown.n_runs < 2) & (len(shown.runs) > 1),
        (-shown.best_rank, shown.n_runs),
    )
    support = np.nan_to_num(shown.support, nan=1.0)
    yield (f"less than {LOW_SUPPORT:.0%} sure by the model of annotators", support < LOW_SUPPORT, (support,))


def _ordered(why: str, is_so: Bools, order: tuple[Any, ...], most: int) -> Finding:
    pairs = np.flatnonzero(is_so)
    places = np.lexsort([pairs, *(key[pairs] for key in order)])
    return Finding(why, pairs[places][:most], len(pairs))
