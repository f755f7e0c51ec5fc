"""Krippendorff's alpha, whose plain value the package `krippendorff` computes."""

from __future__ import annotations

from typing import cast

import numpy as np

from fire_toolkit.agreement.coincidence import alphas, coincidences, total_coincidences
from fire_toolkit.agreement.statistic import NO_PAIR, Statistic, Sums, grade_counts
from fire_toolkit.agreement.votes import Level, Votes
from fire_toolkit.arrays import Ints

# The package holds pairs × values × values numbers, several times; above this many (grades from a slider,
# say) alpha is computed from the sum of the coincidence matrices, which is the same number.
CELLS_FOR_THE_PACKAGE = 20_000_000


def sum_coincidences(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return alpha from coincidence matrices: one minus observed over expected disagreement.

    Krippendorff, Computing Krippendorff's Alpha-Reliability (2011). The package `krippendorff` takes whole
    counts of one table at a time, so it can neither weigh pairs nor resample them in little time. It
    computes the plain value (`compute_by_package`); weights, intervals and leaving annotators out are made
    of these sums. Tests hold the two equal.
    """
    graded, domain = grade_counts(counts, votes, level)
    matrices, shape = coincidences(graded), (-1, len(domain), len(domain))
    return Sums(
        matrices.reshape(len(counts), -1), lambda totals: alphas(totals.reshape(shape), domain, level)
    )


def compute_by_package(votes: Votes, level: str) -> float:
    """Return alpha by the package: it gets int64 counts of pairable pairs in ascending order of grades."""
    counts, domain = grade_counts(votes.counts, votes, level)
    if counts.size * len(domain) > CELLS_FOR_THE_PACKAGE:
        return float(alphas(total_coincidences(counts)[None], domain, level)[0])
    import krippendorff

    measured = krippendorff.alpha(
        value_counts=counts, value_domain=domain, level_of_measurement=cast(Level, level)
    )
    return float(measured)


def explain_undefined(votes: Votes, level: str) -> str:
    """Return why alpha is undefined, or an empty text."""
    counts, domain = grade_counts(votes.counts, votes, level)
    used = np.flatnonzero(counts.any(axis=0))
    if not len(used):
        return NO_PAIR
    if len(used) > 1:
        return ""
    what = repr(votes.labels[used[0]]) if level == "nominal" else f"grade {domain[used[0]]:g}"
    return f"every judgment on pairs with two judgments says {what}: there is nothing to disagree about"


ALPHA = Statistic(
    explain_undefined,
    sum_coincidences,
    has_levels=True,
    plain=compute_by_package,
    title="Krippendorff's alpha",
)
