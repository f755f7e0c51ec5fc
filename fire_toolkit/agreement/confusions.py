"""What every two annotators said of the pairs that both voted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.agreement.votes import Floats, Ints, Votes


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


def annotator_confusions(votes: Votes) -> Confusions:
    """Return the vote tables of every two annotators who share a pair, by annotator codes.

    Votes are sorted by pair; votes k places apart on the same pair are compared for k = 1, 2, ..., so
    memory grows with the votes, not with their products.
    """
    rows = np.flatnonzero(votes.value >= 0)
    rows = rows[np.lexsort([votes.annotator[rows], votes.unit[rows]])]
    unit, annotator, value = votes.unit[rows], votes.annotator[rows], votes.value[rows]
    n_values, n_annotators = len(votes.labels), int(annotator.max(initial=-1)) + 1
    found: list[Ints] = [np.empty((2, 0), dtype=np.int64)]
    for step in range(1, len(rows)):
        first = np.flatnonzero(unit[step:] == unit[:-step])
        if not len(first):
            break
        two = annotator[first] * n_annotators + annotator[first + step]
        cell = (two * n_values + value[first]) * n_values + value[first + step]
        found.append(np.stack(np.unique(cell, return_counts=True)))
    cells, n = np.concatenate(found, axis=1)
    pairs, place = np.unique(cells // max(n_values**2, 1), return_inverse=True)
    tables = np.zeros((len(pairs), n_values * n_values), dtype=np.int64)
    np.add.at(tables, (place, cells % max(n_values**2, 1)), n)
    a, b = np.divmod(pairs, max(n_annotators, 1))
    return Confusions(a, b, tables.reshape(len(pairs), n_values, n_values))
