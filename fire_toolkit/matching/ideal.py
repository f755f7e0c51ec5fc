"""The ideal ranking of each query: its positives, the highest grade first. It depends on the qrels alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Ints, count_by_query, rows_of_lists, starts_of_lists, sum_by_query

Discount = Callable[[npt.NDArray[Any]], Floats]


@dataclass(frozen=True, eq=False)
class IdealRanking:
    """The positives of the qrels, retrieved or not, by query, then grade descending.

    query, grade: of each positive; n_queries: how many queries there are, those without a positive too.
    """

    query: Ints
    grade: Ints
    n_queries: int
    _gains: dict[tuple[Discount, int | None], Floats] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def n_positives(self) -> Ints:
        """Return |G| of each query."""
        return count_by_query(self.query, self.n_queries)

    @cached_property
    def place(self) -> Ints:
        """Return 1, 2, ... for each query's positives."""
        return 1 + rows_of_lists(0, self.n_positives)

    def gain(self, discount: Discount, k: int | None) -> Floats:
        """Return Σ grade / discount(place) over each query's first k positives (all of them, without k)."""
        if (discount, k) not in self._gains:
            is_in = self.place <= (np.inf if k is None else k)
            discounted = self.grade[is_in] / at_ranks(self.place[is_in], discount)
            self._gains[discount, k] = sum_by_query(self.query[is_in], discounted, self.n_queries)
        return self._gains[discount, k]

    def of(self, queries: Ints) -> IdealRanking:
        """Return the ideal rankings of some queries, which become 0, 1, ..."""
        lengths = self.n_positives[queries]
        kept = rows_of_lists(starts_of_lists(self.n_positives)[queries], lengths)
        return IdealRanking(np.repeat(np.arange(queries.size), lengths), self.grade[kept], queries.size)

    def at_level(self, level: int) -> IdealRanking:
        """Return the ideal rankings of the positives of grade `level` or more."""
        kept = self.grade >= level
        return IdealRanking(self.query[kept], self.grade[kept], self.n_queries)


def at_ranks(rank: npt.NDArray[Any], discount: Discount) -> Floats:
    """Return the discount of each rank, computed once for each where ranks are whole and repeat."""
    deepest = int(rank.max(initial=0))
    codes = rank.astype(np.int64)
    if 4 * deepest > rank.size or (codes != rank).any():
        return discount(rank)
    return discount(np.arange(deepest + 1))[codes]
