"""Fleiss' kappa."""

from __future__ import annotations

import math

from fire_toolkit.agreement.chance import label_shares, no_pair, nominal_coefficient
from fire_toolkit.agreement.votes import Votes


def fleiss_kappa(votes: Votes, level: str) -> tuple[float, str]:
    """Return Fleiss' kappa, with as many votes on a pair as it has.

    Percent agreement is taken over pairable pairs, the label shares behind chance agreement over all
    pairs with a vote (Fleiss 1971; Gwet, Handbook of Inter-Rater Reliability, 2014, for missing votes).
    """
    reason = no_pair(votes)
    if reason:
        return math.nan, reason
    return nominal_coefficient(votes, float((label_shares(votes) ** 2).sum()))
