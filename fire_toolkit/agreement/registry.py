"""The statistics of agreement by name: a new one is a file and a line here, or comes from a plug-in."""

from fire_toolkit.agreement.alpha import ALPHA
from fire_toolkit.agreement.chance import FLEISS_KAPPA, GWET_AC1
from fire_toolkit.agreement.cohen import COHEN_KAPPA
from fire_toolkit.agreement.specific import NEGATIVE_AGREEMENT, POSITIVE_AGREEMENT, PREVALENCE, UNANIMOUS
from fire_toolkit.agreement.statistic import PERCENT_AGREEMENT, Statistic
from fire_toolkit.plugins import Registry

DEFAULTS = ("alpha", "percent_agreement", "positive_agreement", "prevalence")

STATISTICS: Registry[Statistic] = Registry("statistics", "statistic", Statistic)
STATISTICS.add("alpha", ALPHA)
STATISTICS.add("percent_agreement", PERCENT_AGREEMENT)
STATISTICS.add("positive_agreement", POSITIVE_AGREEMENT)
STATISTICS.add("negative_agreement", NEGATIVE_AGREEMENT)
STATISTICS.add("cohen_kappa", COHEN_KAPPA)
STATISTICS.add("fleiss_kappa", FLEISS_KAPPA)
STATISTICS.add("gwet_ac1", GWET_AC1)
STATISTICS.add("prevalence", PREVALENCE)
STATISTICS.add("unanimous", UNANIMOUS)
