"""The statistics of agreement by name: a new one is a file and a line here, or comes from a plug-in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fire_toolkit.agreement.alpha import alpha
from fire_toolkit.agreement.brennan_prediger import brennan_prediger
from fire_toolkit.agreement.cohen import cohen_kappa, cohen_kappas
from fire_toolkit.agreement.fleiss import fleiss_kappa
from fire_toolkit.agreement.gwet import gwet_ac1, gwet_ac2
from fire_toolkit.agreement.pairwise import TablesValue
from fire_toolkit.agreement.percent import percent_agreement
from fire_toolkit.agreement.prevalence import prevalence, prevalence_pairable, resolved, unanimous
from fire_toolkit.agreement.scott import scott_pi, scott_pis
from fire_toolkit.agreement.specific import negative_agreement, positive_agreement
from fire_toolkit.agreement.sums import (
    Sums,
    ac1_sums,
    ac2_sums,
    alpha_sums,
    brennan_prediger_sums,
    fleiss_sums,
    negative_sums,
    percent_sums,
    positive_sums,
    prevalence_pairable_sums,
    prevalence_sums,
    resolved_sums,
    unanimous_sums,
)
from fire_toolkit.agreement.votes import Ints, Votes
from fire_toolkit.plugins import Registry


@dataclass(frozen=True)
class Statistic:
    """How a statistic is computed: votes and a level to a value and a note (when it is nan, the reason).

    has_levels: whether the level of measurement changes it; otherwise it is nominal. For weights and
    intervals the same number, either (sums) from sums over pairs, or (of_two) as the mean over every two
    annotators of what their table of votes gives; one of the two
    is needed. of_all: whether pairs with a single vote enter.
    """

    compute: Callable[[Votes, str], tuple[float, str]]
    sums: Callable[[Ints, Votes, str], Sums] | None = None
    of_two: TablesValue | None = None
    has_levels: bool = False
    of_all: bool = False

    def __post_init__(self) -> None:
        if self.sums is None and self.of_two is None:
            raise TypeError("a Statistic needs sums or of_two, which weights and intervals are made of")


STATISTICS: Registry[Statistic] = Registry(
    "statistics", "statistic", Statistic, returns={"compute": tuple, "sums": Sums}
)
for _name, _statistic in {
    "alpha": Statistic(alpha, alpha_sums, has_levels=True),
    "percent_agreement": Statistic(percent_agreement, percent_sums),
    "positive_agreement": Statistic(positive_agreement, positive_sums),
    "negative_agreement": Statistic(negative_agreement, negative_sums),
    "cohen_kappa": Statistic(cohen_kappa, of_two=cohen_kappas),
    "scott_pi": Statistic(scott_pi, of_two=scott_pis),
    "fleiss_kappa": Statistic(fleiss_kappa, fleiss_sums, of_all=True),
    "gwet_ac1": Statistic(gwet_ac1, ac1_sums, of_all=True),
    "gwet_ac2": Statistic(gwet_ac2, ac2_sums, has_levels=True, of_all=True),
    "brennan_prediger": Statistic(brennan_prediger, brennan_prediger_sums),
    "prevalence": Statistic(prevalence, prevalence_sums, of_all=True),
    "prevalence_pairable": Statistic(prevalence_pairable, prevalence_pairable_sums),
    "unanimous": Statistic(unanimous, unanimous_sums),
    "resolved": Statistic(resolved, resolved_sums, of_all=True),
}.items():
    STATISTICS.add(_name, _statistic)
