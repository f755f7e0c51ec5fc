"""How far annotators agree: Krippendorff's alpha and its relatives, one file each."""

from fire_toolkit.agreement.annotators import annotator_matrix, leave_one_out
from fire_toolkit.agreement.groups import join_columns
from fire_toolkit.agreement.intervals import Interval, alpha_interval
from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import Coefficient, agreement, agreement_intervals, krippendorff_alpha
from fire_toolkit.tables import first_round

__all__ = [
    "STATISTICS",
    "Coefficient",
    "Interval",
    "agreement",
    "agreement_intervals",
    "alpha_interval",
    "annotator_matrix",
    "annotator_profiles",
    "first_round",
    "join_columns",
    "krippendorff_alpha",
    "leave_one_out",
]
