"""The Brennan–Prediger coefficient."""

from __future__ import annotations

import math

from fire_toolkit.agreement.chance import ONE_LABEL, no_pair, nominal_coefficient
from fire_toolkit.agreement.votes import Votes


def brennan_prediger(votes: Votes, level: str) -> tuple[float, str]:
    """Return percent agreement corrected for chance 1/q, q being the number of labels that are votes.

    q counts the guideline's labels when grades were given, else the labels found (Brennan and Prediger
    1981).
    """
    reason = no_pair(votes) or (ONE_LABEL if len(votes.labels) < 2 else "")
    if reason:
        return math.nan, reason
    return nominal_coefficient(votes, 1 / len(votes.labels))
