"""What a statistic of agreement is: sums over pairs, and what is made of their totals.

What a statistic needs of a pair depends only on the pair's counts of votes. So its value is a function of
the total of the sums, a weighted value one of a weighted total, and a resampled one of how often each
pattern of counts was drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.resolution.votes import Votes

NO_PAIR = "no pair has two judgments"


@dataclass(frozen=True)
class Sums:
    """What is summed over pairs, and what is made of the totals.

    columns: patterns of counts × columns; value: totals (any number × columns) to values, nan where
    undefined.
    """

    columns: Floats
    value: Callable[[Floats], Floats]


@dataclass(frozen=True)
class Statistic:
    """A statistic of agreement, from which its value, weighted value and intervals are made.

    reason: votes → why it is undefined, or an empty text. Its definition is one of two: sums, of counts
    (patterns × labels) and votes; or of_two, the value of two annotators' table of votes (... × labels ×
    labels), of which the mean over every two is taken. has_levels: whether the level of measurement changes
    it; otherwise it is nominal. of_all: whether pairs with a single vote enter, too. Where second judgments
    were drawn unevenly they do not, since who has a second vote then depends on what the first one said:
    pairable pairs stand for all, by their weights.
    is_share: whether its sums are two columns, and it grows with the share that the first is of the second,
    the first never being larger: its interval is that of the share.
    title: what a paper's table calls it. plain: what computes the value instead of the sums where pairs
    have no weights.
    """

    reason: Callable[[Votes], str]
    sums: Callable[[Ints, Votes], Sums] | None = None
    of_two: Callable[[Floats], Floats] | None = None
    has_levels: bool = False
    of_all: bool = False
    is_share: bool = False
    title: str = ""
    plain: Callable[[Votes], float] | None = None

    def __post_init__(self) -> None:
        if (self.sums is None) == (self.of_two is None):
            raise TypeError("a Statistic needs either sums or of_two, which its value is made of")


def no_pair(votes: Votes) -> str:
    """Return why no coefficient can be had of `votes`, or an empty text."""
    return "" if len(votes.counts) else NO_PAIR


def ratio(over: npt.NDArray[Any], under: npt.NDArray[Any]) -> Sums:
    """Return the sum of `over` divided by that of `under`, one number each for a pattern."""
    columns = np.stack([over, under], axis=1).astype(np.float64)
    return Sums(columns, lambda totals: divide(totals[:, 0], totals[:, 1]))


def divide(over: Any, under: Any) -> Floats:
    """Return `over` / `under`, nan where `under` is 0 up to rounding."""
    defined = np.abs(under) > 1e-12
    return np.where(defined, over / np.where(defined, under, 1), np.nan)


def agreeing_share(counts: Ints, votes: Votes) -> Sums:
    """Return the share of agreeing pairs of votes on a pair, averaged over the pairable pairs.

    This is Fleiss' P̄ (1971, eq. 2), with as many votes on a pair as it has. It takes no account of
    grades: two labels agree when they are the same label. Undefined without a pairable pair.
    """
    n = counts.sum(axis=1)
    share = (counts * (counts - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    return ratio(np.where(n >= 2, share, 0.0), n >= 2)


PERCENT_AGREEMENT = Statistic(no_pair, agreeing_share, is_share=True, title="Agreement")
