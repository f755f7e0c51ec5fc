"""Cohen's kappa; and, for any coefficient of two annotators, its mean over every two and how that varies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, TablesValue, divide, no_pair
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.resolution.votes import Votes

FEW = 30
_STEP = 1e-4


def cohen_kappas(tables: Floats) -> Floats:
    """Return the kappa of each table (... × labels × labels); nan where both gave one label throughout.

    (observed − chance) / (1 − chance), chance agreement being that of the two annotators' own label shares
    on the shared pairs (Cohen 1960; for more than two annotators the mean over annotator pairs, as Light
    1971, but weighted by the pairs that they share).
    """
    n = np.maximum(tables.sum(axis=(-2, -1)), 1e-300)
    observed = np.trace(tables, axis1=-2, axis2=-1) / n
    one, other = (tables.sum(axis=axis) / n[..., None] for axis in (-1, -2))
    chance = (one * other).sum(axis=-1)
    return divide(observed - chance, 1 - chance)


COHEN_KAPPA = Statistic(no_pair, of_two=cohen_kappas, title="Cohen's kappa")


@dataclass(frozen=True)
class Tables:
    """Every two votes on one pair, and what two annotators made of the pairs that they share.

    Of each two votes: unit (their pair, or its cluster), table (that of the two annotators), cell (label of
    one × labels + label of the other) and weight. votes: tables × labels × labels; values, sizes: of each
    table the coefficient, 0 where undefined, and its weight in the mean, then 0.
    """

    unit: Ints
    table: Ints
    cell: Ints
    weight: Floats
    votes: Floats
    values: Floats
    sizes: Floats
    n_undefined: int

    @classmethod
    def of(cls, votes: Votes, coefficients: TablesValue) -> Tables:
        """Return the tables of votes with a pairable pair, weighted if the votes are."""
        found = list(_every_two(votes))
        pair, two, cell = (np.concatenate(each) for each in zip(*found, strict=True))
        table = np.unique(two, return_inverse=True)[1]
        unit = pair if votes.clusters is None else votes.clusters[pair]
        weight, n_labels = votes.weights[pair], len(votes.labels)
        tables = _counted(table, cell, weight, n_labels)
        units = np.unique(unit, return_inverse=True)[1]
        return cls(units, table, cell, weight, tables, *_valued(tables, coefficients))


def mean_of_two(votes: Votes, coefficients: TablesValue) -> tuple[float, str]:
    """Return the mean of each two annotators' coefficient, weighted by the pairs they share, and a note.

    votes: with a pairable pair; coefficients: tables (annotator pairs × labels × labels) to values, nan
    where undefined.
    """
    tables = Tables.of(votes, coefficients)
    n = len(tables.votes)
    if tables.n_undefined == n:
        return math.nan, "every two annotators gave one and the same label on all pairs they share"
    left_out = f"{tables.n_undefined} of {n} annotator pairs undefined and left out"
    n_few = int((np.bincount(tables.table) < FEW).sum())
    few = f"{n_few} of {n} annotator pairs share fewer than {FEW} pairs; values on so few tend to be too low"
    notes = [*([left_out] if tables.n_undefined else []), *([few] if n_few else [])]
    return float(np.average(tables.values, weights=tables.sizes)), "; ".join(notes)


def influences(votes: Votes, coefficients: TablesValue) -> Floats:
    """Return the derivative of the mean by the weight of each unit with two votes (or cluster of them).

    The sum of their squares is the linearised variance. Only the tables in which a unit stands change, so the
    work grows with the votes: each of these is valued once more with a little less of the unit's votes.
    """
    all_of = Tables.of(votes, coefficients)
    n_tables = len(all_of.votes)
    keys, place = np.unique(all_of.unit * n_tables + all_of.table, return_inverse=True)
    unit, table = np.divmod(keys, n_tables)
    own = _counted(place, all_of.cell, all_of.weight, all_of.votes.shape[1])
    values, sizes, _ = _valued(all_of.votes[table] - _STEP * own, coefficients)
    sums = all_of.values * all_of.sizes
    over = sums.sum() + np.bincount(unit, values * sizes - sums[table])
    under = all_of.sizes.sum() + np.bincount(unit, sizes - all_of.sizes[table])
    return np.asarray((sums.sum() / all_of.sizes.sum() - over / under) / _STEP)


def _every_two(votes: Votes) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield pair, code of two annotators and cell of every two votes on a pair.

    Votes are sorted by pair; votes k places apart on the same pair are compared for k = 1, 2, ..., so
    memory grows with the votes, not with their products.
    """
    rows = votes.voting[np.lexsort([votes.annotator[votes.voting], votes.pair[votes.voting]])]
    pair, annotator, label = votes.pair[rows], votes.annotator[rows], votes.label[rows]
    n_annotators = int(annotator.max(initial=-1)) + 1
    for step in range(1, len(rows)):
        first = np.flatnonzero(pair[step:] == pair[:-step])
        if not len(first):
            return
        two = annotator[first] * n_annotators + annotator[first + step]
        yield pair[first], two, label[first] * len(votes.labels) + label[first + step]


def _counted(table: Ints, cell: Ints, weight: Floats, n_labels: int) -> Floats:
    n_cells = (int(table.max()) + 1) * n_labels**2
    n = np.bincount(table * n_labels**2 + cell, weight, minlength=n_cells)
    return n.astype(np.float64).reshape(-1, n_labels, n_labels)


def _valued(tables: Floats, coefficients: TablesValue) -> tuple[Floats, Floats, int]:
    """Return each table's value and its size, both 0 where the value is undefined, and how many are so."""
    values = coefficients(tables)
    undefined = np.isnan(values)
    sizes = np.where(undefined, 0.0, tables.sum(axis=(1, 2)))
    return np.where(undefined, 0.0, values), sizes, int(undefined.sum())
