"""The statistics of agreement by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fire_toolkit.agreement.alpha import alpha
from fire_toolkit.agreement.brennan_prediger import brennan_prediger
from fire_toolkit.agreement.cohen import cohen_kappa
from fire_toolkit.agreement.fleiss import fleiss_kappa
from fire_toolkit.agreement.gwet import gwet_ac1, gwet_ac2
from fire_toolkit.agreement.percent import percent_agreement
from fire_toolkit.agreement.prevalence import prevalence, prevalence_pairable, resolved, unanimous
from fire_toolkit.agreement.scott import scott_pi
from fire_toolkit.agreement.specific import negative_agreement, positive_agreement
from fire_toolkit.agreement.votes import Votes


@dataclass(frozen=True)
class Statistic:
    """How a statistic is computed: votes and a level to a value and a note (when it is nan, the reason).

    has_levels: whether the level of measurement changes it; otherwise it is nominal.
    """

    compute: Callable[[Votes, str], tuple[float, str]]
    has_levels: bool = False


STATISTICS: dict[str, Statistic] = {
    "alpha": Statistic(alpha, has_levels=True),
    "percent_agreement": Statistic(percent_agreement),
    "positive_agreement": Statistic(positive_agreement),
    "negative_agreement": Statistic(negative_agreement),
    "cohen_kappa": Statistic(cohen_kappa),
    "scott_pi": Statistic(scott_pi),
    "fleiss_kappa": Statistic(fleiss_kappa),
    "gwet_ac1": Statistic(gwet_ac1),
    "gwet_ac2": Statistic(gwet_ac2, has_levels=True),
    "brennan_prediger": Statistic(brennan_prediger),
    "prevalence": Statistic(prevalence),
    "prevalence_pairable": Statistic(prevalence_pairable),
    "unanimous": Statistic(unanimous),
    "resolved": Statistic(resolved),
}
