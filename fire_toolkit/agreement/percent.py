"""Percent agreement: the share of agreeing annotator pairs."""

from __future__ import annotations

from fire_toolkit.agreement.statistic import Statistic, Sums, agreeing_share, no_pair
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.arrays import Ints


def sum_agreeing(counts: Ints, votes: Votes, level: str) -> Sums:
    """Return the share of agreeing pairs of votes on a pair, averaged over the pairable pairs.

    This is Fleiss' P̄ (1971, eq. 2), with as many votes on a pair as it has. It takes no account of
    grades: two labels agree when they are the same label. Undefined without a pairable pair.
    """
    return agreeing_share(counts)


PERCENT_AGREEMENT = Statistic(no_pair, sum_agreeing, is_share=True, title="Agreement")
