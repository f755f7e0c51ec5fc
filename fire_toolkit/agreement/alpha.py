"""Krippendorff's alpha, whose plain value the package `krippendorff` computes.

Alpha depends on the pairs only through the sum of their coincidence matrices, and a pair's matrix only on
its counts of votes. So resampling pairs is drawing how often each pattern of counts occurs.
"""

from typing import cast

import numpy as np

from fire_toolkit.agreement.statistic import NO_PAIR, Statistic, Sums
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.resolution.votes import Level, Votes

# The package holds pairs × values × values numbers, several times; above this many (grades from a slider,
# say) alpha is computed from the sum of the coincidence matrices, which is the same number.
CELLS_FOR_THE_PACKAGE = 20_000_000


def sum_coincidences(counts: Ints, votes: Votes) -> Sums:
    """Return alpha from coincidence matrices: one minus observed over expected disagreement.

    A pair's matrix has c_i (c_k − [i = k]) / (n − 1) for its n votes, none for one vote (Krippendorff,
    Computing Krippendorff's Alpha-Reliability, 2011, step 2). The package `krippendorff` takes whole
    counts of one table at a time, so it can neither weigh pairs nor resample them in little time. It
    computes the plain value (`compute_by_package`); weights, intervals and leaving annotators out are made
    of these sums. Tests hold the two equal.
    """
    graded, domain = grade_counts(counts, votes)
    matrices = graded[:, :, None] * (graded[:, None, :] - np.eye(len(domain), dtype=np.int64))
    each = matrices / (np.maximum(graded.sum(axis=1), 2) - 1)[:, None, None]
    shape = (-1, len(domain), len(domain))
    return Sums(
        each.reshape(len(counts), -1), lambda totals: alphas(totals.reshape(shape), domain, votes.level)
    )


def alphas(matrices: Floats, values: Floats, level: str) -> Floats:
    """Return the alpha of each coincidence matrix; nan where all of it is one value.

    Args:
        matrices: any number × values × values.
        values: grades, ascending.
        level: nominal, ordinal, interval or ratio: squared distances 1, (ranks' middles apart)², (v − w)²
            and ((v − w) / (v + w))²; ordinal ones depend on how often the values occur.

    Equal to the package `krippendorff` up to rounding.
    """
    totals = matrices.sum(axis=2)
    n = totals.sum(axis=1)
    apart = values[:, None] - values
    if level == "nominal":
        apart = 1 - np.eye(len(values))
    elif level == "ordinal":
        middle = np.cumsum(totals, axis=1) - totals / 2
        apart = middle[:, :, None] - middle[:, None, :]
    elif level == "ratio":
        total = values[:, None] + values
        apart = np.divide(apart, total, out=np.zeros_like(apart), where=total > 0)
    distance = apart**2
    observed = (matrices * distance).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
    defined = (expected > 0) & (n > 1)
    return np.where(defined, 1 - observed * (n - 1) / np.where(defined, expected, 1), np.nan)


def grade_counts(counts: Ints, votes: Votes) -> tuple[Ints, Floats]:
    """Return counts of pairs × the values of the level, and the values ascending.

    Labels of equal grade are one value, except at the nominal level, where each is a category of its own.
    """
    if votes.level == "nominal":
        return counts, np.arange(len(votes.labels), dtype=np.float64)
    domain, place = np.unique(votes.grades, return_inverse=True)
    return counts @ (place[:, None] == np.arange(len(domain))).astype(np.int64), domain


def compute_by_package(votes: Votes) -> float:
    """Return alpha by the package: it gets int64 counts of pairable pairs in ascending order of grades."""
    counts, domain = grade_counts(votes.counts, votes)
    if counts.size * len(domain) > CELLS_FOR_THE_PACKAGE:
        shared = counts / (counts.sum(axis=1, keepdims=True) - 1)
        matrix = shared.T @ counts - np.diag(shared.sum(axis=0))  # in little memory
        return float(alphas(matrix[None], domain, votes.level)[0])
    import krippendorff

    level = cast(Level, votes.level)
    measured = krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level)
    return float(measured)


def explain_undefined(votes: Votes) -> str:
    """Return why alpha is undefined, or an empty text."""
    counts, domain = grade_counts(votes.counts, votes)
    used = np.flatnonzero(counts.any(axis=0))
    if len(used) != 1:
        return "" if len(used) else NO_PAIR
    what = repr(votes.labels[used[0]]) if votes.level == "nominal" else f"grade {domain[used[0]]:g}"
    return f"every judgment on pairs with two judgments says {what}: there is nothing to disagree about"


ALPHA = Statistic(
    explain_undefined,
    sum_coincidences,
    has_levels=True,
    plain=compute_by_package,
    title="Krippendorff's alpha",
)
