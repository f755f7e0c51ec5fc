"""Cohen's kappa; and, for any coefficient of two annotators, its mean over every two and how that varies."""

import math
from collections.abc import Callable

import numpy as np

from fire_toolkit.agreement.statistic import Statistic, divide, no_pair
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


def mean_of_two(votes: Votes, coefficients: Callable[[Floats], Floats]) -> tuple[float, str, Floats]:
    """Return the mean of each two annotators' coefficient, and how it varies.

    The mean is weighted by the pairs that two share, and nan where the note, which comes next, says why.
    Its influences are its derivative by the weight of each pair with two votes (or cluster of them), of
    which the sum of squares is the linearised variance.

    Only the tables in which a pair stands change with its weight, so the work grows with the votes: each of
    these is valued once more with a little less of the pair's votes.

    Args:
        votes: with a pairable pair.
        coefficients: tables (annotator pairs × labels × labels) to values, nan where undefined.
    """
    rows = votes.voting[np.lexsort([votes.annotator[votes.voting], votes.pair[votes.voting]])]
    pair, annotator, label = votes.pair[rows], votes.annotator[rows], votes.label[rows]
    n_annotators, found = int(annotator.max(initial=-1)) + 1, []
    for step in range(1, len(rows)):  # votes so many places apart, so that memory grows with the votes alone
        first = np.flatnonzero(pair[step:] == pair[:-step])
        if not len(first):
            break
        of_two = annotator[first] * n_annotators + annotator[first + step]
        found.append((pair[first], of_two, label[first] * len(votes.labels) + label[first + step]))
    pair, two, cell = (np.concatenate(each) for each in zip(*found, strict=True))
    table = np.unique(two, return_inverse=True)[1]
    unit = np.unique(pair if votes.cluster is None else votes.cluster[pair], return_inverse=True)[1]
    n_tables, n_cells = int(table.max()) + 1, len(votes.labels) ** 2
    keys, place = np.unique(unit * n_tables + table, return_inverse=True)
    changed_by, changed = np.divmod(keys, n_tables)

    def counted(rows: Ints) -> Floats:
        n = np.bincount(rows * n_cells + cell, votes.weights[pair], minlength=(rows.max() + 1) * n_cells)
        return n.astype(np.float64).reshape(-1, len(votes.labels), len(votes.labels))

    def valued(tables: Floats) -> tuple[Floats, Floats]:
        values = coefficients(tables)
        is_known = ~np.isnan(values)
        sizes = np.where(is_known, tables.sum(axis=(1, 2)), 0.0)
        return np.where(is_known, values, 0.0) * sizes, sizes

    tables = counted(table)
    sums, sizes = valued(tables)
    n_undefined = int((sizes == 0).sum())
    if n_undefined == n_tables:
        none = "every two annotators gave one and the same label on all pairs they share"
        return math.nan, none, np.empty(0)
    less, sizes_less = valued(tables[changed] - _STEP * counted(place))
    over = sums.sum() + np.bincount(changed_by, less - sums[changed])
    under = sizes.sum() + np.bincount(changed_by, sizes_less - sizes[changed])
    value = float(sums.sum() / sizes.sum())
    of_all = f"of {n_tables} annotator pairs"
    n_few = int((np.bincount(table) < FEW).sum())
    few = f"{n_few} {of_all} share fewer than {FEW} pairs; values on so few tend to be too low"
    notes = [f"{n_undefined} {of_all} undefined and left out"] * bool(n_undefined) + [few] * bool(n_few)
    return value, "; ".join(notes), np.asarray((value - over / under) / _STEP)
