"""What every two annotators said of the pairs that both voted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Floats, Ints


@dataclass(frozen=True)
class Confusions:
    """For each two annotators with a common pair: their codes a < b, and votes of a × votes of b."""

    a: Ints
    b: Ints
    tables: Ints

    @property
    def n_shared(self) -> Ints:
        """How many pairs both voted on."""
        return np.asarray(self.tables.sum(axis=(1, 2)))

    @property
    def agreeing(self) -> Floats:
        """Share of the shared pairs on which both gave the same label."""
        return np.asarray(np.trace(self.tables, axis1=1, axis2=2) / self.n_shared)


@dataclass(frozen=True)
class SharedVotes:
    """Each two votes on the same pair: the pair's unit code, and a cell of the tables of two annotators.

    cell: (place of the two annotators × labels + label of one) × labels + label of the other; a, b: the
    codes a < b of the two annotators at each place.
    """

    unit: Ints
    cell: Ints
    a: Ints
    b: Ints
    n_labels: int


def shared_votes(votes: Votes) -> SharedVotes:
    """Return every two votes on the same pair, by annotator codes.

    Votes are sorted by pair; votes k places apart on the same pair are compared for k = 1, 2, ..., so
    memory grows with the votes, not with their products.
    """
    rows = np.flatnonzero(votes.value >= 0)
    rows = rows[np.lexsort([votes.annotator[rows], votes.unit[rows]])]
    unit, annotator, value = votes.unit[rows], votes.annotator[rows], votes.value[rows]
    n_labels, n_annotators = len(votes.labels), int(annotator.max(initial=-1)) + 1
    nothing = np.empty(0, dtype=np.int64)
    units, cells = [nothing], [nothing]
    for step in range(1, len(rows)):
        first = np.flatnonzero(unit[step:] == unit[:-step])
        if not len(first):
            break
        two = annotator[first] * n_annotators + annotator[first + step]
        units.append(unit[first])
        cells.append((two * n_labels + value[first]) * n_labels + value[first + step])
    cell = np.concatenate(cells)
    n_cells = max(n_labels**2, 1)
    pairs, place = np.unique(cell // n_cells, return_inverse=True)
    a, b = np.divmod(pairs, max(n_annotators, 1))
    return SharedVotes(np.concatenate(units), place * n_cells + cell % n_cells, a, b, n_labels)


def annotator_confusions(votes: Votes) -> Confusions:
    """Return the vote tables of every two annotators who share a pair, by annotator codes."""
    shared = shared_votes(votes)
    shape = (len(shared.a), shared.n_labels, shared.n_labels)
    n = np.bincount(shared.cell, minlength=int(np.prod(shape)))
    return Confusions(shared.a, shared.b, np.asarray(n, dtype=np.int64).reshape(shape))
