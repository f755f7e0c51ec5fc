"""A number of positives, estimated from a draw of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fire_toolkit.arrays import Floats
from fire_toolkit.inference.limits import UNSEEN, Count, Estimate, freedom_of_weight, score_limits, weight_of


@dataclass(frozen=True, eq=False)
class Total:
    """The estimated number of positives among some pairs.

    values: (n_queries,) whose sum it is, and whose spread over queries holds the error of the draw too.
    residuals: of each pair, whose squares sum to the variance over draws, these queries given; those of two
    totals multiply to their covariance. found: what each pair drawn adds to it, in size. weight: for how many
    pairs that were not drawn one that was stands, on the mean. known: how much of it needed no draw; most:
    how much the rest can be; seen, largest: between which it lies whatever the pairs not drawn are. open:
    what pairs that were drawn one by one and have no label would add, were all of them positive.
    """

    values: Floats
    residuals: Floats
    found: Floats
    weight: float
    known: float
    most: float
    seen: float
    largest: float
    open: float = 0.0

    @property
    def value(self) -> float:
        """The total itself."""
        return float(self.values.sum())

    @cached_property
    def estimate(self) -> Estimate:
        """The total, with limits for these queries, which have a width also where no positive was drawn."""
        variance = float(self.residuals @ self.residuals)
        options = {"weight": self.weight, "most": self.most, "freedom": self.count.freedom}
        low, high = score_limits(self.value - self.known, variance, **options)
        limits = max(self.known + low, self.seen), min(self.known + high, self.largest)
        return Estimate(self.value, *limits, variance**0.5, n_differing=self.n_found)

    @cached_property
    def count(self) -> Count:
        """The total, for limits of a difference or a share."""
        drawn, squares = min(max(self.value - self.known, 0.0), self.most), self.residuals**2
        weight = weight_of(drawn, float(squares.sum()), self.weight, self.most)
        freedom = freedom_of_weight(squares, self.found, UNSEEN * self.weight**2)
        return Count(self.known, drawn, weight, self.most, freedom)

    @property
    def count_if_open(self) -> Count:
        """The same, were all pairs without a label positive."""
        return self.count._replace(known=self.known + self.open)

    @property
    def n_found(self) -> int:
        """How many positives the draw brought, in effect: (Σ found)² / Σ found² (Kish 1965)."""
        squares = float(self.found @ self.found)
        return int(float(self.found.sum()) ** 2 / squares) if squares > 0 else 0
