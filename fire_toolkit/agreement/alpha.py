"""Krippendorff's alpha, computed by the package `krippendorff`."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from fire_toolkit.agreement.coincidence import alphas, total_coincidences
from fire_toolkit.agreement.votes import Floats, Ints, Level, Votes

NO_PAIR = "no pair has two judgments"

# The package holds pairs × values × values numbers, several times; above this many (grades from a slider,
# say) alpha is computed from the sum of the coincidence matrices, which is the same number.
CELLS_FOR_THE_PACKAGE = 20_000_000


def alpha(votes: Votes, level: str) -> tuple[float, str]:
    """Return alpha and, when it is undefined (nan), why.

    The package gets int64 counts of the pairable pairs in ascending order of grades; labels of equal
    grade are one value, except at the nominal level, where each label is a category of its own.
    """
    counts, domain = graded_counts(votes, level)
    reason = undefined_alpha(counts, votes, level)
    if reason:
        return math.nan, reason
    if counts.size * len(domain) > CELLS_FOR_THE_PACKAGE:
        return float(alphas(total_coincidences(counts)[None], domain, level)[0]), ""
    import krippendorff

    measured = krippendorff.alpha(
        value_counts=counts, value_domain=domain, level_of_measurement=cast(Level, level)
    )
    return float(measured), ""


def graded_counts(votes: Votes, level: str, *, pairable: bool = True) -> tuple[Ints, Floats]:
    """Return the counts of pairs (pairable ones, or all with a vote) × values, and the values ascending."""
    counts = votes.counts if pairable else votes.all_counts
    place, domain = graded_labels(votes, level)
    if level == "nominal":
        return counts, domain
    return counts @ (place[:, None] == np.arange(len(domain))).astype(np.int64), domain


def graded_labels(votes: Votes, level: str) -> tuple[Ints, Floats]:
    """Return the place of each label among the values of `level`, and the values ascending."""
    if level == "nominal":
        n_labels = len(votes.labels)
        return np.arange(n_labels), np.arange(n_labels, dtype=np.float64)
    domain, place = np.unique(votes.grades, return_inverse=True)
    return np.asarray(place, dtype=np.int64), domain


def undefined_alpha(counts: Ints, votes: Votes, level: str) -> str:
    """Return why alpha is undefined for these counts, or an empty text."""
    if not len(counts):
        return NO_PAIR
    used = np.flatnonzero(counts.any(axis=0))
    if len(used) > 1:
        return ""
    if level == "nominal":
        what = repr(votes.labels[used[0]])
    else:
        what = f"grade {np.unique(votes.grades)[used[0]]:g}"
    return f"every judgment on pairs with two judgments says {what}: there is nothing to disagree about"
