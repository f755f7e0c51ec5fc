"""Agreement beyond chance: what kappa and its relatives have in common."""

from __future__ import annotations

import math

import numpy as np

from fire_toolkit.agreement.alpha import NO_PAIR
from fire_toolkit.agreement.percent import percent_agreement
from fire_toolkit.agreement.votes import Floats, Votes

ONE_LABEL = "there is only one label, so any agreement is by chance"


def beyond_chance(observed: float, chance: float, reason: str) -> tuple[float, str]:
    """Return (observed − chance) / (1 − chance); nan with `reason` when chance explains everything."""
    if chance >= 1:
        return math.nan, reason
    return (observed - chance) / (1 - chance), ""


def label_shares(votes: Votes) -> Floats:
    """Return each label's share of the votes, averaged over all pairs with a vote, single ones included."""
    counts = votes.all_counts
    return np.asarray((counts / counts.sum(axis=1, keepdims=True)).mean(axis=0))


def nominal_coefficient(votes: Votes, chance: float) -> tuple[float, str]:
    """Return percent agreement corrected for `chance`."""
    observed, reason = percent_agreement(votes, "nominal")
    if reason:
        return math.nan, reason
    return beyond_chance(observed, chance, one_label_reason(votes))


def one_label_reason(votes: Votes) -> str:
    """Return why chance agreement is 1: the label that all judgments hold."""
    used = np.flatnonzero(votes.all_counts.any(axis=0))
    return f"every judgment says {votes.labels[used[0]]!r}: there is nothing to disagree about"


def no_pair(votes: Votes) -> str:
    """Return why no coefficient can be had of `votes`, or an empty text."""
    if not len(votes.counts):
        return NO_PAIR
    return ""
