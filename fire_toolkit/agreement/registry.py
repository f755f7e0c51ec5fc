"""The statistics of agreement by name: a new one is a file and a line here, or comes from a plug-in."""

from __future__ import annotations

from fire_toolkit.agreement.alpha import ALPHA
from fire_toolkit.agreement.cohen import COHEN_KAPPA
from fire_toolkit.agreement.fleiss import FLEISS_KAPPA
from fire_toolkit.agreement.gwet import GWET_AC1
from fire_toolkit.agreement.specific import NEGATIVE_AGREEMENT, POSITIVE_AGREEMENT, PREVALENCE, UNANIMOUS
from fire_toolkit.agreement.statistic import PERCENT_AGREEMENT, Statistic
from fire_toolkit.plugins import Registry

DEFAULTS = ("alpha", "percent_agreement", "positive_agreement", "prevalence")

STATISTICS: Registry[Statistic] = Registry("statistics", "statistic", Statistic)
for _name, _statistic in {
    "alpha": ALPHA,
    "percent_agreement": PERCENT_AGREEMENT,
    "positive_agreement": POSITIVE_AGREEMENT,
    "negative_agreement": NEGATIVE_AGREEMENT,
    "cohen_kappa": COHEN_KAPPA,
    "fleiss_kappa": FLEISS_KAPPA,
    "gwet_ac1": GWET_AC1,
    "prevalence": PREVALENCE,
    "unanimous": UNANIMOUS,
}.items():
    STATISTICS.add(_name, _statistic)
