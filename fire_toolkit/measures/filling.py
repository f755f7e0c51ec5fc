"""What whole-list measures become while unjudged docs turn into positives one by one, from either end.

With these sums the bounds of a measure need no evaluation for each number of added positives; see
`certainty/bounds.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Bools, Floats, Ints, sum_by_query
from fire_toolkit.matching.ideal import Discount
from fire_toolkit.matching.judged_ranking import JudgedRanking

_Number = TypeVar("_Number", np.int64, np.float64)
Ends = tuple[Floats, Floats]  # as the unjudged docs down to a rank are positives, and from a rank downwards


@dataclass(frozen=True, eq=False)
class Filling:
    """The unjudged docs of some rankings, about to become positives of grade `level`.

    ranking: with an entry of relevance 0, or none, for each unjudged doc; is_open: (n_queries, depth) where
    the unjudged docs stand.
    """

    ranking: JudgedRanking
    is_open: Bools
    level: int

    @cached_property
    def n_added(self) -> tuple[Ints, Ints]:
        """Return how many unjudged docs stand down to each rank, and how many from it downwards."""
        return _from_both(self.is_open.astype(np.int64))

    def precision_sums(self, k: int | None) -> Ends:
        """Return the sum of the precisions at the positives down to rank k (all, without k)."""
        found = self.ranking.found.to(k)
        n_queries, depth = self.is_open.shape
        inverse = 1 / np.arange(1.0, depth + 1)
        is_positive = np.zeros(self.is_open.shape)
        shown = found.rank <= depth
        is_positive[found.query[shown], found.rank[shown].astype(np.int64) - 1] = 1
        n_above = np.cumsum(is_positive, axis=1)
        whole = sum_by_query(found.query, 1 / found.rank, n_queries)[:, None]
        below = whole - np.cumsum(is_positive * inverse, axis=1)  # what one more above each of them adds
        start = sum_by_query(found.query, found.place / found.rank, n_queries)[:, None]
        from_first = (n_above + self.n_added[0]) * inverse + below
        added_below = _from_both(self.is_open * inverse)[1] - inverse
        from_last = (n_above + 1) * inverse + below + added_below
        return (
            start + np.cumsum(self.is_open * from_first, axis=1),
            start + _from_both(self.is_open * from_last)[1],
        )

    def gains(self, start: Floats, discount: Discount) -> Ends:
        """Return the cumulated gain, which was `start` (n_queries,) without the added positives."""
        ranks = np.arange(1, self.is_open.shape[1] + 1)
        first, last = _from_both(self.is_open * (self.level / discount(ranks)))
        return start[:, None] + first, start[:, None] + last

    def ideal_gains(self, discount: Discount, k: int | None) -> Ends:
        """Return the cumulated gain of the ideal ranking, whose lowest grade is `level`."""
        ideal = self.ranking.ideal
        n_before = ideal.n_positives[:, None]
        most = int(n_before.max(initial=0)) + self.is_open.shape[1]
        gain = np.where(np.arange(1, most + 1) <= (most if k is None else k), self.level, 0)
        whole = np.append(0, np.cumsum(gain / discount(np.arange(1, most + 1))))
        start = ideal.gain(discount, k)[:, None] - whole[n_before]
        first, last = self.n_added
        return start + whole[n_before + first], start + whole[n_before + last]

    def over(self, sums: Ends, divisor: Callable[[Ints], Ints]) -> Ends:
        """Return sums over what `divisor` makes of the number of added positives."""
        first, last = (
            each / np.maximum(divisor(number), 1) for each, number in zip(sums, self.n_added, strict=True)
        )
        return first, last


def _from_both(values: npt.NDArray[_Number]) -> tuple[npt.NDArray[_Number], npt.NDArray[_Number]]:
    """Return the sums of each row's values down to each place, and from it downwards."""
    down, up = (np.cumsum(each, axis=1, dtype=values.dtype) for each in (values, values[:, ::-1]))
    return down, up[:, ::-1]
