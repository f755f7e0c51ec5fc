"""Statistics of every two annotators: their mean, its weighted value, and leaving pairs out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fire_toolkit.agreement.statistic import TablesValue
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Floats, Ints

FEW = 30
_STEP = 1e-4


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


def pairwise_mean(votes: Votes, coefficients: TablesValue) -> tuple[float, str]:
    """Return the mean of each two annotators' coefficient, weighted by the pairs they share, and a note.

    votes: with a pairable pair; coefficients: tables (annotator pairs × labels × labels) to values, nan
    where undefined.
    """
    tables = _Tables(votes)
    values = coefficients(tables.votes)
    n_left = int(np.isnan(values).sum())
    if n_left == len(values):
        return math.nan, "every two annotators gave one and the same label on all pairs they share"
    notes = [f"{n_left} of {len(values)} annotator pairs undefined and left out"] if n_left else []
    n_few = int((tables.n_shared < FEW).sum())
    if n_few:
        notes.append(
            f"{n_few} of {len(values)} annotator pairs share fewer than {FEW} pairs; values on so few "
            "tend to be too low"
        )
    weights = np.where(np.isnan(values), 0.0, tables.votes.sum(axis=(1, 2)))
    return float(np.average(np.nan_to_num(values), weights=weights)), "; ".join(notes)


def influences(votes: Votes, coefficients: TablesValue) -> Floats:
    """Return the derivative of the mean by the weight of each unit with two votes (or cluster of them).

    The sum of their squares is the linearised variance. Only the tables in which a unit stands change, so the
    work grows with the votes.
    """
    tables = _Tables(votes)
    values = coefficients(tables.votes)
    weights = np.where(np.isnan(values), 0.0, tables.votes.sum(axis=(1, 2)))
    sums = weights * np.nan_to_num(values)
    left_tables, unit, table = tables.with_less_of_each_unit(_STEP)
    left_values = coefficients(left_tables)
    left_weights = np.where(np.isnan(left_values), 0.0, left_tables.sum(axis=(1, 2)))
    left_sums = left_weights * np.nan_to_num(left_values)
    over = sums.sum() + np.bincount(unit, left_sums - sums[table])
    under = weights.sum() + np.bincount(unit, left_weights - weights[table])
    return np.asarray((sums.sum() / weights.sum() - over / under) / _STEP)


class _Tables:
    """The tables of every two annotators who share a pair, weighted if the votes are."""

    def __init__(self, votes: Votes) -> None:
        shared = shared_votes(votes)
        places = np.searchsorted(votes.units, shared.unit)
        units = places if votes.clusters is None else votes.clusters[places]
        self._unit = np.asarray(np.unique(units, return_inverse=True)[1])
        self._cell, self._weight = shared.cell, votes.weights[places]
        self._shape = (-1, shared.n_labels, shared.n_labels)
        self._width = shared.n_labels**2
        self.n_shared: Ints = np.bincount(self._cell // self._width, minlength=len(shared.a))
        self.votes = self._counted(self._cell, len(shared.a))

    def _counted(self, cell: Ints, n_tables: int) -> Floats:
        n = np.bincount(cell, self._weight, minlength=n_tables * self._width)
        return n.astype(np.float64).reshape(self._shape)

    def with_less_of_each_unit(self, share: float) -> tuple[Floats, Ints, Ints]:
        """Return each table that holds a unit less a share of its votes, the unit, and the place."""
        n_tables = len(self.votes)
        keys, place = np.unique(self._unit * n_tables + self._cell // self._width, return_inverse=True)
        unit, table = np.divmod(keys, n_tables)
        own = self._counted(place * self._width + self._cell % self._width, len(keys))
        return self.votes[table] - share * own, unit, table
