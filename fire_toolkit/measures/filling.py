"""What whole-list measures become while unjudged docs turn into positives one by one, from either end.

With these sums the bounds of a measure need no evaluation for each number of added positives; see
`inference/bounds.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Bools, Floats, Ints, count_by_query, running_count, sum_by_query
from fire_toolkit.kernels import compiled
from fire_toolkit.matching.ideal import Discount
from fire_toolkit.matching.judged_ranking import FoundPositives, JudgedRanking

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

    @property
    def n_positives(self) -> tuple[Ints, Ints]:
        """Return |G| of each query with the positives added."""
        first, last = (self.ranking.n_positives[:, None] + each for each in self.n_added)
        return first, last

    def precision_sums(self, k: int | None) -> Ends:
        """Return the sum of the precisions at the positives down to rank k (all, without k)."""
        found = self.ranking.found.to(k)
        inverse = 1 / np.arange(1.0, self.is_open.shape[1] + 1)
        return self.sums_of_places(found, (1 / found.rank, 1 / found.rank), (inverse, inverse))

    def sums_of_places(
        self, found: FoundPositives, of_found: tuple[Floats, Floats], of_rank: tuple[Floats, Floats]
    ) -> Ends:
        """Return the sum over the positives of own + each × (the number of positives above it).

        of_found: own and each of the positives found; of_rank: own and each of an added one at each rank.
        """
        (found_own, found_each), (own, each) = of_found, of_rank
        n_queries, depth = self.is_open.shape
        is_positive = np.zeros(self.is_open.shape, dtype=bool)
        shown = found.rank <= depth
        is_positive[found.query[shown], found.rank[shown].astype(np.int64) - 1] = True
        whole = sum_by_query(found.query, found_each, n_queries)[:, None]
        start = sum_by_query(found.query, found_own + found_each * (found.place - 1), n_queries)[:, None]
        if compiled(self.is_open.size) is not None:
            from fire_toolkit.kernels import comparison_loops

            first, last = np.empty((2, n_queries, depth))
            comparison_loops.fill_sums(self.is_open, is_positive, (own, each), (start, whole), first, last)
            return first, last
        n_above = np.cumsum(is_positive, axis=1, dtype=np.float64)
        below = whole - np.cumsum(is_positive * each, axis=1)  # what one more above each of them adds
        from_first = own + (n_above + self.n_added[0] - 1) * each + below
        added_below = _from_both(self.is_open * each)[1] - each
        from_last = own + n_above * each + below + added_below
        return (
            start + np.cumsum(self.is_open * from_first, axis=1),
            start + _from_both(self.is_open * from_last)[1],
        )

    def counts_to(self, limit: tuple[Ints, Ints]) -> Ends:
        """Return how many positives stand down to a rank of each query and number of added positives."""
        positives = self._steps(np.ones_like(self.ranking.found.rank), max(int(each.max()) for each in limit))
        is_open = _with_zero(np.cumsum(self.is_open, axis=1, dtype=np.float64))
        first, last = (_at(positives, each) for each in limit)
        open_first, open_last = (_at(is_open, each) for each in limit)
        n_left = is_open[:, -1:] - self.n_added[1]
        first += np.minimum(self.n_added[0], open_first)
        return first, last + np.maximum(0, open_last - n_left)

    def precision_sums_to(self, limit: tuple[Ints, Ints]) -> Ends:
        """Return the sum of the precisions at the positives down to such a rank."""
        found = self.ranking.found
        deepest = max(self.is_open.shape[1], *(int(each.max()) for each in limit))
        n_positive, sums, inverses = (
            self._steps(each, deepest)
            for each in (np.ones_like(found.rank), found.place / found.rank, 1 / found.rank)
        )
        n_more = n_positive.shape[1] - 1 - self.is_open.shape[1]
        is_open = np.pad(self.is_open, ((0, 0), (0, n_more)))
        n_open = _with_zero(np.cumsum(is_open, axis=1, dtype=np.float64))
        inverse = 1 / np.arange(1.0, is_open.shape[1] + 1)
        is_either = is_open | (np.diff(n_positive, axis=1) > 0)
        all_inverses = _with_zero(np.cumsum(is_either * inverse, axis=1))
        all_sums = _with_zero(np.cumsum(is_either * inverse * (n_positive + n_open)[:, 1:], axis=1))
        rank = np.arange(1, self.is_open.shape[1] + 1)
        below = np.maximum(limit[0], rank)
        first = (
            _at(all_sums, np.minimum(limit[0], rank))
            + (_at(sums, below) - sums[:, rank])
            + self.n_added[0] * (_at(inverses, below) - inverses[:, rank])
        )
        below = np.maximum(limit[1], rank - 1)
        last = (
            _at(sums, np.minimum(limit[1], rank - 1))
            + (_at(all_sums, below) - all_sums[:, rank - 1])
            - n_open[:, rank - 1] * (_at(all_inverses, below) - all_inverses[:, rank - 1])
        )
        return first, last

    def turns(self, side: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield ranks (n_queries, depth or 1) and how many positives stand down to them, for one of the ends.

        Of the ranks of a query between two judged docs, these hold that of the greatest precision.
        """
        ranking, n_added = self.ranking, self.n_added[side]
        n_open = np.pad(np.cumsum(self.is_open, axis=1), ((0, 0), (1, 0)))
        turn = np.flatnonzero(ranking.is_judged)
        query, is_positive = ranking.query[turn], ranking.is_positive[turn]
        rank = np.maximum(ranking.rank[turn] - ~is_positive, 1).astype(np.int64)
        n_positive = running_count(query, is_positive)
        place = running_count(query) - 1
        end = np.maximum(ranking.n_retrieved, 1)
        n_at_end = count_by_query(ranking.found.query[ranking.is_in_top[ranking.is_positive]], end.size)
        n_turns = int(place.max(initial=-1)) + 1
        ranks, counts = (
            np.repeat(each[:, None], n_turns + 1, axis=1).astype(np.int64) for each in (end, n_at_end)
        )
        ranks[query, place], counts[query, place] = rank, n_positive
        opens = np.take_along_axis(n_open, np.minimum(ranks, n_open.shape[1] - 1), axis=1)
        for column in range(n_turns + 1):
            at, above, before = (each[:, [column]] for each in (ranks, opens, counts))
            n_left = 0 if side == 0 else n_open[:, -1:] - n_added
            found = np.minimum(n_added, above) if side == 0 else np.maximum(above - n_left, 0)
            yield at.astype(np.float64), (before + found).astype(np.float64)
        if side == 0:
            depth = self.is_open.shape[1]
            n_above: Floats = self._steps(np.ones(ranking.found.rank.size), depth)[:, 1:]
            yield np.arange(1, depth + 1).astype(np.float64)[None, :], n_above + n_added

    def _steps(self, values: Floats, deepest: int) -> Floats:
        """Return the sum of values of the found positives down to rank 0, 1, ..., `deepest`."""
        found = self.ranking.found
        grid = np.zeros((self.is_open.shape[0], deepest + 1))
        shown = found.rank <= deepest
        grid[found.query[shown], found.rank[shown].astype(np.int64)] = values[shown]
        return np.cumsum(grid, axis=1)

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

    def shares(self, sums: Ends) -> Ends:
        """Return sums over |G|."""
        return self.over(sums, lambda n_added: self.ranking.n_positives[:, None] + n_added)

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


def _with_zero(sums: Floats) -> Floats:
    """Return sums down to rank 1, 2, ... as those down to rank 0, 1, 2, ..."""
    return np.pad(sums, ((0, 0), (1, 0)))


def _at(sums: Floats, rank: Ints) -> Floats:
    """Return each row's sums down to the ranks, which may lie below the last."""
    return np.take_along_axis(sums, np.minimum(rank, sums.shape[1] - 1), axis=1)
