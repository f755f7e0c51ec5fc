"""How far annotators agree: Krippendorff's alpha and its relatives, one file each."""

from fire_toolkit.agreement.annotators import annotator_matrix, leave_one_out
from fire_toolkit.agreement.captions import caption_disagreement
from fire_toolkit.agreement.consistency import self_consistency
from fire_toolkit.agreement.groups import join_columns
from fire_toolkit.agreement.intervals import Interval, alpha_interval
from fire_toolkit.agreement.pages import page_effects
from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.agreement.questions import agreement_by_question
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.summary import AgreementSummary, agreement_summary
from fire_toolkit.agreement.table import Coefficient, agreement, agreement_intervals, krippendorff_alpha
from fire_toolkit.agreement.times import add_times
from fire_toolkit.tables import first_round

__all__ = [
    "STATISTICS",
    "AgreementSummary",
    "Coefficient",
    "Interval",
    "add_times",
    "agreement",
    "agreement_by_question",
    "agreement_intervals",
    "agreement_summary",
    "alpha_interval",
    "annotator_matrix",
    "annotator_profiles",
    "caption_disagreement",
    "first_round",
    "join_columns",
    "krippendorff_alpha",
    "leave_one_out",
    "page_effects",
    "self_consistency",
]
