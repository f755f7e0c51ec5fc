"""How far annotators agree: Krippendorff's alpha and its relatives, one file each."""

from fire_toolkit.agreement.annotators import annotator_matrix, leave_one_out
from fire_toolkit.agreement.intervals import AlphaInterval, alpha_interval
from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import Coefficient, agreement, krippendorff_alpha

__all__ = [
    "STATISTICS",
    "AlphaInterval",
    "Coefficient",
    "agreement",
    "alpha_interval",
    "annotator_matrix",
    "annotator_profiles",
    "krippendorff_alpha",
    "leave_one_out",
]
