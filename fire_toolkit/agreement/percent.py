"""Percent agreement: the share of agreeing annotator pairs."""

from __future__ import annotations

import math

from fire_toolkit.agreement.alpha import NO_PAIR
from fire_toolkit.agreement.votes import Votes


def percent_agreement(votes: Votes, level: str) -> tuple[float, str]:
    """Return the share of agreeing pairs of votes on a pair, averaged over the pairable pairs.

    This is Fleiss' P̄ (1971, eq. 2), with as many votes on a pair as it has. It takes no account of
    grades: two labels agree when they are the same label. Undefined (nan) without a pairable pair.
    """
    counts = votes.counts
    if not len(counts):
        return math.nan, NO_PAIR
    n_votes = counts.sum(axis=1)
    return float(((counts * (counts - 1)).sum(axis=1) / (n_votes * (n_votes - 1))).mean()), ""
