"""The statistics of agreement by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fire_toolkit.agreement.alpha import alpha
from fire_toolkit.agreement.percent import percent_agreement
from fire_toolkit.agreement.votes import Votes


@dataclass(frozen=True)
class Statistic:
    """How a statistic is computed: votes and a level to a value and, when it is nan, the reason.

    has_levels: whether the level of measurement changes it; otherwise it is nominal.
    """

    compute: Callable[[Votes, str], tuple[float, str]]
    has_levels: bool = False


STATISTICS: dict[str, Statistic] = {
    "alpha": Statistic(alpha, has_levels=True),
    "percent_agreement": Statistic(percent_agreement),
}
